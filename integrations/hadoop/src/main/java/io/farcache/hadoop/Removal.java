package io.farcache.hadoop;

import io.farcache.client.FarcacheBlobs;
import io.farcache.client.FarcacheException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;

/**
 * Deletes files and directories: the name at once, then what the servers have of them. Copies for
 * readers, which nothing depends on, go behind the caller's back.
 */
final class Removal implements Closeable {
    private final Names names;
    private final FarcacheBlobs blobs;
    private final Cache cache;
    private final Forgetting forgetting;

    /** Of the files of a directory. */
    Removal(Names names, FarcacheBlobs blobs, Cache cache) {
        this.names = names;
        this.blobs = blobs;
        this.cache = cache;
        this.forgetting = new Forgetting(cache);
    }

    /**
     * Removes a name with all that is below it. The root itself stays.
     *
     * @param recursive whether a directory goes that is not empty
     * @return false where there is nothing
     */
    boolean remove(Path place, boolean recursive) throws IOException {
        if (names.isRoot(place)) {
            return removeBelowRoot(place, recursive);
        }
        if (!Files.exists(place)) {
            return false;
        }
        if (Files.isDirectory(place) && !recursive) {
            names.removeEmpty(place);
            return true;
        }
        return removeAll(place);
    }

    private boolean removeBelowRoot(Path root, boolean recursive) throws IOException {
        List<Path> below = names.list(root);
        if (!recursive && !below.isEmpty()) {
            throw new PathIsNotEmptyDirectoryException("/");
        }
        for (Path place : below) {
            removeAll(place);
        }
        return recursive || below.isEmpty();
    }

    /** Whatever it is; false where it is gone already. */
    boolean removeAll(Path place) throws IOException {
        Path kept = names.remove(place);
        if (kept == null) {
            return false;
        }
        names.forget(kept, this::removeBlob);
        return true;
    }

    /** Returns once the servers have nothing of what was deleted, as far as they answer. */
    @Override
    public void close() throws IOException {
        forgetting.close();
    }

    private void removeBlob(Path file) throws IOException {
        Reference reference = Files.isSymbolicLink(file) ? null : Reference.of(file);
        if (reference != null) {
            try {
                blobs.remove(reference.blob());
            } catch (FarcacheException e) {
                throw new IOException("blob " + reference.blob() + ": " + e.getMessage(), e);
            }
        } else if (!Files.isSymbolicLink(file)) {
            forgetting.forget(cache.identity(file));
        }
    }
}
