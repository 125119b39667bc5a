package io.farcache.hadoop;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Makes of an ordinary file one that is being written. Wherever that is interrupted, it is an
 * ordinary file again once its record is worked off: what the reference will cover is on the disks
 * before, with the length of the file.
 */
final class Appending {
    /** The first blob of what is appended. */
    private static final int PART = 0;
    final Below file;
    final Reference reference;
    /** What the reference covers of the file. */
    final byte[] head;
    private final FileLock lock;

    private Appending(Below file, FileLock lock, Reference reference, byte[] head) {
        this.file = file;
        this.lock = lock;
        this.reference = reference;
        this.head = head;
    }

    /**
     * Begins with a file that has this place; the open file is the caller's then.
     *
     * @param persister makes an ordinary file of it again where this fails halfway
     * @throws IOException that, or somebody else is writing it
     */
    static Appending begin(Path place, Pending pending, Heads heads, Persister persister,
            Below.Watch watch) throws IOException {
        String id = Reference.fresh().id;
        pending.add(id, place);
        // By the second name: so it is this very file, whatever is renamed meanwhile.
        Appending appending = open(pending.name(id), id, watch);
        if (appending == null) {
            pending.remove(id);
            throw new IOException("it is being written");
        }
        try {
            appending.begin(heads);
            return appending;
        } catch (IOException e) {
            persister.finish(appending.file, pending, id);
            throw e;
        }
    }

    /** Null where somebody else is writing it. */
    private static Appending open(Path name, String id, Below.Watch watch) throws IOException {
        FileChannel channel = FileChannel.open(name, StandardOpenOption.READ,
                StandardOpenOption.WRITE);
        byte[] head = null;
        FileLock lock = null;
        try {
            lock = lock(channel);
            head = lock == null ? null : Reference.ordinaryHeadOf(channel);
            return head == null ? null : new Appending(new Below(channel, watch), lock,
                    Reference.appending(id, channel.size()), head);
        } finally {
            if (head == null) {
                channel.close();
            }
        }
    }

    /** Keeps others from beginning at the same moment; null where somebody is just doing so. */
    private static FileLock lock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException e) {
            return null;
        }
    }

    private void begin(Heads heads) throws IOException {
        heads.write(reference.id, new Heads.Head(PART, reference.start, head));
        reference.write(file);
        heads.write(reference.id, new Heads.Head(PART, -1, head));
        // From now on the reference tells that it is being written.
        lock.release();
    }
}
