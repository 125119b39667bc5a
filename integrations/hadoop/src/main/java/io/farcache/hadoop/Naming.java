package io.farcache.hadoop;

import io.farcache.client.Item;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Changes of names and permissions, as HDFS has them. The copies that the servers have of a file
 * are not lost by them.
 */
final class Naming {
    private final Names names;
    private final Cache cache;

    /** Of the files of a directory. */
    Naming(Names names, Cache cache) {
        this.names = names;
        this.cache = cache;
    }

    /**
     * Renames a file or a directory; into the destination where that is a directory.
     *
     * @return false where that cannot be: the source is not there, the destination is, or its
     *     parent is not
     */
    boolean rename(Path source, Path destination) throws IOException {
        if (names.isRoot(source) || !Files.exists(source)) {
            return false;
        }
        if (source.equals(destination)) {
            return !Files.isDirectory(source);
        }
        Path place = Files.isDirectory(destination)
                ? destination.resolve(source.getFileName().toString()) : destination;
        if (place.startsWith(source) || Files.exists(place)
                || !Files.isDirectory(place.getParent())) {
            return false;
        }
        try {
            Identity before = cache.identity(source);
            CompletableFuture<Item> asked = cache.ask(before);
            names.rename(source, place);
            cache.follow(before, asked, place);
            return true;
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    void permit(Path place, FsPermission permission) throws IOException {
        Identity before = cache.identity(place);
        CompletableFuture<Item> asked = cache.ask(before);
        names.permit(place, permission);
        cache.follow(before, asked, place);
    }
}
