package io.farcache.hadoop;

import io.farcache.client.FarcacheException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.HadoopIllegalArgumentException;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.permission.FsPermission;

/** Begins what is written: new files, what is appended to files, and files that are shortened. */
final class Writing {
    private final Servers servers;
    private final Names names;
    private final Heads heads;
    private final Cache cache;
    private final Pending pending;
    private final Persistence persistence;
    private final Persister persister;
    private final Below.Watch watch;
    private final Totals totals;

    /**
     * Into the files of a directory.
     *
     * @param pending records what is to be persisted
     */
    Writing(Servers servers, Names names, Heads heads, Cache cache, Pending pending,
            Persistence persistence, Persister persister, Below.Watch watch, Totals totals) {
        this.servers = servers;
        this.names = names;
        this.heads = heads;
        this.cache = cache;
        this.pending = pending;
        this.persistence = persistence;
        this.persister = persister;
        this.watch = watch;
        this.totals = totals;
    }

    /**
     * Makes the name, and the stream to what is going to be its blob.
     *
     * @param path by which errors tell of it
     * @param removal of the file that it overwrites; null where it must not be there
     */
    FarcacheOutputStream create(Object path, Path place, FsPermission permission, Removal removal)
            throws IOException {
        while (true) {
            if (Files.isDirectory(place)) {
                throw new FileAlreadyExistsException(path + ": a directory");
            }
            try {
                servers.check();
                return stream(names.create(place, permission), place);
            } catch (FarcacheException e) {
                throw new IOException(e.getMessage(), e);
            } catch (java.nio.file.FileAlreadyExistsException e) {
                if (removal == null) {
                    throw new FileAlreadyExistsException(path + ": a file");
                }
            }
            removal.removeAll(place);
        }
    }

    private FarcacheOutputStream stream(FileChannel channel, Path place) throws IOException {
        Below file = new Below(channel, watch);
        try {
            Reference reference = Reference.fresh();
            pending.add(reference.id, place);
            reference.write(file);
            return stream(file, reference);
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    private FarcacheOutputStream stream(Below file, Reference reference) {
        return new FarcacheOutputStream(servers.blobs, persistence, persister, pending, file,
                reference, servers.mode, new WriteStatistics(totals));
    }

    /** The file is persisted before. Others cannot append to it until this stream is closed. */
    FarcacheOutputStream append(Object path, Path place) throws IOException {
        awaitOrdinary(path, place);
        try {
            servers.check();
            Identity before = cache.identity(place);
            Appending begun = Appending.begin(place.toRealPath(), pending, heads, persister, watch);
            cache.forget(before);
            FarcacheOutputStream stream = stream(begun.file, begun.reference);
            stream.goOn(begun.head);
            return stream;
        } catch (IOException | FarcacheException e) {
            throw new IOException(path + ": " + e.getMessage(), e);
        }
    }

    /** Shortens a file at once; it is persisted before. */
    void truncate(Object path, Path place, long bytes) throws IOException {
        awaitOrdinary(path, place);
        Identity before = cache.identity(place);
        try (Below file = new Below(FileChannel.open(place, StandardOpenOption.READ,
                StandardOpenOption.WRITE), watch)) {
            if (bytes < 0 || bytes > file.channel().size()) {
                throw new HadoopIllegalArgumentException(path + ": cannot be truncated to " + bytes
                        + " bytes");
            }
            if (Reference.ordinaryHeadOf(file.channel()) == null) {
                throw new IOException(path + ": it is being written");
            }
            file.resize(bytes);
            file.force();
        }
        cache.forget(before);
    }

    private void awaitOrdinary(Object path, Path place) throws IOException {
        if (!Files.isRegularFile(place)) {
            throw new FileNotFoundException(path + ": there is no such file");
        }
        try {
            persister.awaitOrdinary(place);
        } catch (IOException e) {
            throw new IOException(path + ": " + e.getMessage(), e);
        }
    }
}
