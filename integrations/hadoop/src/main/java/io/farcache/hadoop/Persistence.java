package io.farcache.hadoop;

import io.farcache.client.BlobReader;
import io.farcache.client.FarcacheBlobs;
import io.farcache.client.FarcacheException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes an ordinary file of one that has its data in a blob. Every step may be done again: what
 * the next one needs is on the disks before anything is overwritten or removed, so it does not
 * matter where the one who does this is interrupted.
 */
final class Persistence {
    /** Read from the servers and written below at once. */
    private static final int COPY_BYTES = 4 << 20;
    /**
     * Written below, and not on the disks yet. Where files below are those of a FUSE mount, closing
     * one waits for all that was written to it, and so does the fork of a process that has it open:
     * Hadoop's tasks fork, and are not to wait for long.
     */
    private static final long UNFORCED_BYTES_MAX = 8L << 20;
    /** Of a file without a head: a blob is removed before the head that tells of it. */
    private static final int NO_PART = -1;
    private static final Logger LOG = LoggerFactory.getLogger(Persistence.class);
    private final FarcacheBlobs blobs;
    private final Heads heads;
    private final KeptTimes times;
    private final Cache cache;
    private final Pace pace;
    /** Direct buffers that nobody uses. */
    private final Queue<ByteBuffer> spare = new ConcurrentLinkedQueue<>();

    Persistence(FarcacheBlobs blobs, Heads heads, KeptTimes times, Cache cache, Pace pace) {
        this.blobs = blobs;
        this.heads = heads;
        this.times = times;
        this.cache = cache;
        this.pace = pace;
    }

    /**
     * Persists a blob that continues a file which is still being written.
     *
     * @param reference of the file until now
     * @param length of the file with the blob
     * @return the reference of the file from now on
     */
    Reference advance(Below file, Reference reference, long length) throws IOException {
        byte[] head = copy(file, reference, length);
        file.force();
        if (reference.start < Reference.BYTES) {
            heads.write(reference.id, new Heads.Head(reference.part, -1, head));
        }
        Reference advanced = reference.persisted(length);
        advanced.write(file);
        try {
            removeBlob(reference.id, reference.part);
        } catch (IOException e) {
            // It only takes room; it is removed again when the file is finished.
            LOG.warn("{}", e.getMessage());
        }
        return advanced;
    }

    /** As {@link #advance} of a file so short that all of it is its head. */
    Reference advance(Below file, Reference reference, byte[] head) throws IOException {
        heads.write(reference.id, new Heads.Head(reference.part, -1, head));
        Reference advanced = reference.persisted(head.length);
        advanced.write(file);
        return advanced;
    }

    /**
     * Finishes a file: one that was written whole, or whose writer is dead. Of the latter there are
     * the bytes that were persisted while it was written, and those that it has put into the
     * servers for all to see.
     */
    void finish(Below file, Pending pending, String id) throws IOException {
        if (pending.isDeleted(id)) {
            finishDeleted(file, pending, id);
            return;
        }
        Heads.Head head = heads.read(id);
        Reference reference = isComplete(head) ? null : Reference.read(file.channel());
        if (reference != null && !reference.id.equals(id)) {
            // Somebody else writes it: who has recorded it here died before it had begun.
            times.forget(pending.name(id), id);
            pending.remove(id);
            return;
        }
        long length = reference == null ? 0 : lengthOf(reference);
        if (reference != null) {
            times.keep(pending.name(id), id);
            byte[] bytes = copy(file, reference, length);
            file.resize(Math.max(length, Reference.BYTES));
            file.force();
            head = new Heads.Head(reference.part, length, bytes);
            heads.write(id, head);
        }
        FileTime modified = isComplete(head) ? seal(file, head, pending.name(id), id) : null;
        // What was synchronised before has left the servers already.
        boolean isWhole = reference != null && reference.start == 0 && cache.keeps(length);
        if (isWhole && cache.keep(reference.blob())) {
            leave(pending, reference, modified);
        } else {
            forget(pending, id, head == null ? NO_PART : head.part);
        }
    }

    /** Leaves the only blob of a file, which has an expiry by now, to readers. */
    private void leave(Pending pending, Reference reference, FileTime modified)
            throws IOException {
        cache.clock().awaitLater(modified.to(TimeUnit.NANOSECONDS));
        Identity written = Identity.of(pending.name(reference.id));
        heads.remove(reference.id);
        times.forget(pending.name(reference.id), reference.id);
        pending.remove(reference.id);
        if (!cache.publish(reference.blob(), written)) {
            removeBlob(reference.id, reference.part);
        }
    }

    /**
     * Of a file with this reference; while it is written, of what has been put into the servers for
     * all to see.
     */
    long lengthOf(Reference reference) throws IOException {
        if (reference.isWritten()) {
            return reference.length();
        }
        try (BlobReader published = blobs.open(reference.blob())) {
            return reference.start + (published == null ? 0 : published.length());
        } catch (FarcacheException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    /** Whether nothing but the head is missing, so the line may be half overwritten with it. */
    private static boolean isComplete(Heads.Head head) {
        return head != null && head.length >= 0;
    }

    /** As {@link #seal(Below, byte[], long)}; its time of modification stays, which is told. */
    private FileTime seal(Below file, Heads.Head head, Path name, String id) throws IOException {
        times.keep(name, id);
        seal(file, head.bytes, head.length);
        return times.giveBack(name);
    }

    /** Puts the head into its place: from now on the file is an ordinary one. */
    static void seal(Below file, byte[] head, long length) throws IOException {
        if (length < Reference.BYTES) {
            file.resize(0);
        }
        if (head.length > 0) {
            file.write(ByteBuffer.wrap(head), 0);
        }
        file.force();
    }

    private void finishDeleted(Below file, Pending pending, String id) throws IOException {
        Heads.Head head = heads.read(id);
        Reference reference = isComplete(head) ? null : Reference.read(file.channel());
        int last = head == null ? NO_PART : head.part;
        forget(pending, id, reference == null ? last : reference.part);
    }

    /** The record goes last: while it is there, all of this is done again. */
    private void forget(Pending pending, String id, int part) throws IOException {
        for (int left = Math.max(part - 1, 0); left <= part; left++) {
            removeBlob(id, left);
        }
        heads.remove(id);
        times.forget(pending.name(id), id);
        pending.remove(id);
    }

    private void removeBlob(String id, int part) throws IOException {
        try {
            blobs.remove(Reference.blob(id, part));
        } catch (FarcacheException e) {
            throw new IOException("blob " + Reference.blob(id, part) + ": " + e.getMessage(), e);
        }
    }

    /**
     * Writes the bytes of the blob to their places.
     *
     * @return the first bytes of the file, as many as the reference covers
     */
    private byte[] copy(Below file, Reference reference, long length) throws IOException {
        byte[] head = new byte[(int) Math.min(length, Reference.BYTES)];
        int known = (int) Math.min(reference.start, head.length);
        if (known > 0) {
            System.arraycopy(knownHead(reference, known), 0, head, 0, known);
        }
        if (length == reference.start) {
            return head;
        }
        ByteBuffer room = spare.poll();
        try (BlobReader reader = open(reference, length)) {
            room = room == null ? ByteBuffer.allocateDirect(COPY_BYTES) : room;
            copy(reader, file, reference.start, length, room, head);
        } catch (FarcacheException e) {
            throw new IOException(e.getMessage(), e);
        } finally {
            if (room != null) {
                spare.add(room);
            }
        }
        return head;
    }

    private void copy(BlobReader reader, Below file, long start, long length, ByteBuffer room,
            byte[] head) throws IOException {
        long position = start;
        long unforced = 0;
        while (position < length) {
            int wanted = (int) Math.min(COPY_BYTES, length - position);
            if (unforced + wanted > UNFORCED_BYTES_MAX) {
                file.force();
                unforced = 0;
            }
            pace.await(wanted);
            room.clear().limit(wanted);
            int read = reader.read(position - start, room);
            room.limit(read);
            place(file, head, position, room);
            position += read;
            unforced += read;
        }
    }

    private byte[] knownHead(Reference reference, int bytes) throws IOException {
        Heads.Head head = heads.read(reference.id);
        if (head == null || head.bytes.length < bytes) {
            throw new IOException("the first bytes of file " + reference.id + " are gone");
        }
        return Arrays.copyOf(head.bytes, bytes);
    }

    private BlobReader open(Reference reference, long length) throws IOException {
        BlobReader reader = blobs.open(reference.blob());
        if (reader == null) {
            throw new IOException("the servers have lost blob " + reference.blob());
        }
        if (reader.length() != length - reference.start) {
            reader.close();
            throw new IOException("blob " + reference.blob() + " has another length");
        }
        return reader;
    }

    private static void place(Below file, byte[] head, long position, ByteBuffer bytes)
            throws IOException {
        long next = position;
        if (position < Reference.BYTES) {
            int covered = (int) Math.min(Reference.BYTES - position, bytes.remaining());
            bytes.get(head, (int) position, covered);
            next += covered;
        }
        if (bytes.hasRemaining()) {
            file.write(bytes, next);
        }
    }
}
