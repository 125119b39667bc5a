package io.farcache.hadoop;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The record of what one client has still to persist: a folder with a second name for each of its
 * files, which finds the file wherever it was renamed to. The client locks its folder as long as it
 * lives; whoever gets the lock has the dead one's work to finish.
 */
final class Pending implements Closeable {
    private static final String LOCK = "lock";
    /**
     * The folders that this process has locked. It must not so much as open their locks: closing
     * any channel of a file gives up all of the process's locks on it.
     */
    private static final Set<Path> OWN = ConcurrentHashMap.newKeySet();

    private final Path folder;
    private final FileChannel lock;
    private final Below.Watch watch;

    private Pending(Path folder, FileChannel lock, Below.Watch watch) {
        this.folder = folder;
        this.lock = lock;
        this.watch = watch;
    }

    /** A new client's. */
    static Pending create(Path all, Below.Watch watch) throws IOException {
        Path folder = Files.createDirectories(all).resolve(UUID.randomUUID().toString());
        OWN.add(folder);
        Files.createDirectory(folder);
        Pending pending = lock(folder, watch);
        if (pending == null) {
            throw new IOException(folder + ": cannot be locked");
        }
        return pending;
    }

    /** The folders of all clients. */
    static List<Path> folders(Path all) throws IOException {
        List<Path> folders = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(all)) {
            stream.forEach(folders::add);
        }
        return folders;
    }

    /** What a dead client has left; null where it lives, or somebody else sees to it. */
    static Pending ofDead(Path folder, Below.Watch watch) throws IOException {
        if (!OWN.add(folder)) {
            return null;
        }
        Pending pending = null;
        try {
            pending = lock(folder, watch);
        } finally {
            if (pending == null) {
                OWN.remove(folder);
            }
        }
        return pending;
    }

    /** Null where its client lives, or the folder is gone. */
    private static Pending lock(Path folder, Below.Watch watch) throws IOException {
        FileChannel channel;
        try {
            channel = FileChannel.open(folder.resolve(LOCK), StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE);
        } catch (NoSuchFileException e) {
            return null;
        }
        FileLock lock = null;
        try {
            lock = channel.tryLock();
        } finally {
            if (lock == null) {
                channel.close();
            }
        }
        return lock == null ? null : new Pending(folder, channel, watch);
    }

    /** The second name of a file. */
    Path name(String id) {
        return folder.resolve(id);
    }

    /** Records a file that is going to be written. */
    void add(String id, Path file) throws IOException {
        watch.before("record");
        Files.createLink(name(id), file);
        Names.force(folder);
        // Without its own name it would be taken for a deleted one.
        Names.force(file.getParent());
    }

    /** Whether somebody has deleted the file: this name is its last. */
    boolean isDeleted(String id) throws IOException {
        return ((Integer) Files.getAttribute(name(id), "unix:nlink")) == 1;
    }

    void remove(String id) throws IOException {
        watch.before("no record");
        Files.deleteIfExists(name(id));
    }

    /** Which files are recorded. */
    List<String> ids() throws IOException {
        List<String> ids = new ArrayList<>();
        try (DirectoryStream<Path> names = Files.newDirectoryStream(folder)) {
            for (Path name : names) {
                if (!name.endsWith(LOCK)) {
                    ids.add(name.getFileName().toString());
                }
            }
        }
        return ids;
    }

    /** Gives up the lock; the folder goes where nothing is left to do. */
    @Override
    public void close() throws IOException {
        try {
            if (ids().isEmpty()) {
                Files.deleteIfExists(folder.resolve(LOCK));
                Files.deleteIfExists(folder);
            }
        } finally {
            lock.close();
            OWN.remove(folder);
        }
    }
}
