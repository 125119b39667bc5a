package io.farcache.hadoop;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FsStatus;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The directory of names: a directory of an ordinary file system, which gives names their meaning.
 * What it does at once (making a name, renaming, removing an empty directory) is done at once here.
 */
final class Names {
    /** What is remembered of files; nobody sees it. */
    private static final String HIDDEN = ".farcache";
    private final Path root;
    private final Path removed;

    Names(Path root) throws IOException {
        if (!Files.isDirectory(root)) {
            throw new FileNotFoundException(root + ", the directory of names, is no directory");
        }
        this.root = root.toRealPath();
        removed = this.root.resolve(HIDDEN).resolve("removed");
        Files.createDirectories(removed);
    }

    /**
     * The place of a path of the file system.
     *
     * @throws IOException it leads out of the directory of names, or into what is hidden
     */
    Path of(String path) throws IOException {
        Path place = root;
        for (String name : path.split("/")) {
            if (name.isEmpty()) {
                continue;
            }
            if (name.equals("..") || name.equals(".") || place == root && name.equals(HIDDEN)) {
                throw new IOException(path + ": there can be no such file");
            }
            place = place.resolve(name);
        }
        return place;
    }

    /** A hidden directory, for what is remembered of files. */
    Path hidden(String name) {
        return root.resolve(HIDDEN).resolve(name);
    }

    /** What tells this directory from all others, for as long as it is there. */
    String id() throws IOException {
        Path file = hidden("id");
        if (!Files.exists(file)) {
            Path fresh = hidden("id." + UUID.randomUUID());
            Files.write(fresh, UUID.randomUUID().toString().getBytes(StandardCharsets.US_ASCII));
            try {
                Files.createLink(file, fresh);
            } catch (java.nio.file.FileAlreadyExistsException e) {
                // Somebody else was faster.
            }
            Files.delete(fresh);
        }
        return new String(Files.readAllBytes(file), StandardCharsets.US_ASCII);
    }

    /** The device that its files are on, once there is an {@link #id}. */
    long device() throws IOException {
        return (Long) Files.getAttribute(hidden("id"), "unix:dev");
    }

    /** Space of the file system that it is on. */
    FsStatus space() throws IOException {
        FileStore store = Files.getFileStore(root);
        long used = store.getTotalSpace() - store.getUnallocatedSpace();
        return new FsStatus(store.getTotalSpace(), used, store.getUsableSpace());
    }

    boolean isRoot(Path place) {
        return place.equals(root);
    }

    /** What is in a directory, in order. */
    List<Path> list(Path directory) throws IOException {
        List<Path> places = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
            for (Path place : stream) {
                if (!isRoot(directory) || !place.endsWith(HIDDEN)) {
                    places.add(place);
                }
            }
        }
        Collections.sort(places);
        return places;
    }

    /**
     * Nothing above a place may be a file.
     *
     * @param path by which the error tells of it
     */
    void requireNoFileAbove(Path place, Object path) throws IOException {
        Path above = place;
        while (!isRoot(above)) {
            above = above.getParent();
            if (Files.exists(above)) {
                if (!Files.isDirectory(above)) {
                    throw new ParentNotDirectoryException(path + ": under a file");
                }
                return;
            }
        }
    }

    /** Makes a directory and those above it, where they are not there. */
    void makeDirectories(Path directory, FsPermission permission) throws IOException {
        if (Files.isDirectory(directory)) {
            return;
        }
        if (Files.exists(directory)) {
            throw new FileAlreadyExistsException(directory + ": a file");
        }
        Path above = directory.getParent();
        if (Files.exists(above) && !Files.isDirectory(above)) {
            throw new ParentNotDirectoryException(above + ": a file");
        }
        makeDirectories(above, permission);
        try {
            Files.createDirectory(directory);
            permit(directory, permission);
        } catch (java.nio.file.FileAlreadyExistsException e) {
            // Somebody else was faster.
            if (!Files.isDirectory(directory)) {
                throw new FileAlreadyExistsException(directory + ": a file");
            }
        }
    }

    /** Makes a file, which must not be there. */
    FileChannel create(Path file, FsPermission permission) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW,
                StandardOpenOption.READ, StandardOpenOption.WRITE);
        try {
            permit(file, permission);
            return channel;
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    /** Returns once the names in a directory are on the disks. */
    static void force(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    void permit(Path place, FsPermission permission) throws IOException {
        String letters = permission.getUserAction().SYMBOL + permission.getGroupAction().SYMBOL
                + permission.getOtherAction().SYMBOL;
        Files.setPosixFilePermissions(place, PosixFilePermissions.fromString(letters));
    }

    /** Renames at once; what is to be there already must have been looked at. */
    void rename(Path from, Path to) throws IOException {
        try {
            Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
        } catch (AtomicMoveNotSupportedException e) {
            throw new IOException(from + " and " + to + " are on different file systems", e);
        }
    }

    /**
     * Removes a name at once, with all that is below it.
     *
     * @return where it is kept until {@link #forget}; null where it is gone already
     */
    Path remove(Path place) throws IOException {
        Path kept = removed.resolve(UUID.randomUUID().toString());
        try {
            rename(place, kept);
            return kept;
        } catch (NoSuchFileException e) {
            if (!Files.isDirectory(removed)) {
                // The name may be there: nothing is known but that it cannot be removed.
                throw e;
            }
            return null;
        }
    }

    /** Removes a directory, if there is nothing in it. */
    void removeEmpty(Path directory) throws IOException {
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException e) {
            throw new PathIsNotEmptyDirectoryException(directory.toString());
        }
    }

    /** What is done with each file that was removed. */
    interface Farewell {
        /** Called before it is forgotten. */
        void to(Path file) throws IOException;
    }

    /** Forgets what was removed. What a farewell fails for stays, for somebody to look at. */
    void forget(Path kept, Farewell farewell) throws IOException {
        Files.walkFileTree(kept, new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                    throws IOException {
                farewell.to(file);
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, IOException failure)
                    throws IOException {
                if (failure != null) {
                    throw failure;
                }
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
