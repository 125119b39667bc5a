package io.farcache.hadoop;

import io.farcache.client.BlobReader;
import io.farcache.client.FarcacheBlobs;
import io.farcache.client.FarcacheException;
import io.farcache.client.Status;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.List;

/**
 * A file that was not persisted yet, or not all of it, when it was opened. Once its blob is gone
 * because the file has been persisted meanwhile, it is read below, wherever it was renamed to.
 */
final class CachedSource implements Source {
    private final FileChannel channel;
    private final Reference reference;
    /** The bytes that the reference covers, as far as they are persisted. */
    private final byte[] head;
    /** Of what follows {@link Reference#start}; null where there is nothing. */
    private final BlobReader reader;
    private final Heads heads;
    /** The first bytes of the file once it has been persisted; null before. */
    private byte[] persisted;

    private CachedSource(FileChannel channel, Heads heads, Reference reference, byte[] head,
            BlobReader reader) {
        this.channel = channel;
        this.heads = heads;
        this.reference = reference;
        this.head = head;
        this.reader = reader;
    }

    /**
     * A source that takes over the channel.
     *
     * @return null where the file has changed since its reference was read: it is to be read again
     */
    static CachedSource open(FileChannel channel, Reference reference, FarcacheBlobs blobs,
            Heads heads) throws IOException {
        byte[] head = new byte[0];
        if (reference.start > 0) {
            Heads.Head known = heads.read(reference.id);
            if (known == null) {
                return changed(channel, reference, "its first bytes");
            }
            head = known.bytes;
        }
        BlobReader reader = null;
        if (!reference.isWritten()) {
            reader = blobs.open(reference.blob());
            if (reader == null && reference.start == 0) {
                if (isAsBefore(channel, reference)) {
                    throw new IOException("it is being written, or its writer has died");
                }
                return null;
            }
        } else if (reference.length() > reference.start) {
            reader = blobs.open(reference.blob());
            if (reader == null) {
                return changed(channel, reference, "blob " + reference.blob());
            }
            if (reader.length() != reference.length() - reference.start) {
                reader.close();
                throw new IOException("blob " + reference.blob() + " has another length");
            }
        }
        return new CachedSource(channel, heads, reference, head, reader);
    }

    private static CachedSource changed(FileChannel channel, Reference reference, String lost)
            throws IOException {
        if (isAsBefore(channel, reference)) {
            throw new IOException("the servers have lost it: " + lost);
        }
        return null;
    }

    private static boolean isAsBefore(FileChannel channel, Reference reference)
            throws IOException {
        Reference now = Reference.read(channel);
        return now != null && now.id.equals(reference.id) && now.part == reference.part
                && now.isWritten() == reference.isWritten();
    }

    /** Of a file that is being written with what was flushed to the servers. */
    @Override
    public long length() {
        return reference.start + (reader == null ? 0 : reader.length());
    }

    @Override
    public int read(long position, byte[] array, int offset, int bytes) throws IOException {
        int wanted = (int) Math.max(0, Math.min(bytes, length() - position));
        int done = 0;
        while (done < wanted) {
            int read = readPiece(position + done, array, offset + done, wanted - done);
            if (read == 0) {
                throw new IOException("the file is shorter than it was");
            }
            done += read;
        }
        return done;
    }

    /** Some of the bytes, from the one place where they are. */
    private int readPiece(long position, byte[] array, int offset, int bytes) throws IOException {
        if (persisted != null) {
            return readBelow(position, array, offset, bytes);
        }
        if (position >= reference.start) {
            return readBlob(position, array, offset, bytes);
        }
        int before = (int) Math.min(bytes, reference.start - position);
        if (position >= Reference.BYTES) {
            return readBelow(position, array, offset, before);
        }
        int covered = (int) Math.min(before, head.length - position);
        System.arraycopy(head, (int) position, array, offset, covered);
        return covered;
    }

    private int readBelow(long position, byte[] array, int offset, int bytes)
            throws IOException {
        return OrdinaryFile.read(channel, persisted == null ? head : persisted, position,
                ByteBuffer.wrap(array, offset, bytes));
    }

    private int readBlob(long position, byte[] array, int offset, int bytes) throws IOException {
        try {
            return reader.read(position - reference.start, array, offset, bytes);
        } catch (FarcacheException e) {
            leaveBlob(e);
            return readBelow(position, array, offset, bytes);
        }
    }

    /** All parts at once where the blob has them. */
    @Override
    public void read(List<Part> parts) throws IOException {
        boolean inBlob = reader != null && persisted == null
                && parts.stream().allMatch(part -> part.position >= reference.start);
        if (inBlob) {
            try {
                Part.read(reader, reference.start, parts);
                return;
            } catch (FarcacheException e) {
                leaveBlob(e);
            }
        }
        Source.super.read(parts);
    }

    @Override
    public void unbuffer() {
        if (reader != null) {
            reader.unbuffer();
        }
    }

    /** What stands before {@link Reference#start} is below. */
    @Override
    public void addBytesOnServers(long position, long bytes, long[] bytesOnServers) {
        long begin = Math.max(position, reference.start);
        if (reader != null && position + bytes > begin) {
            Part.addBytesOnServers(reader, begin - reference.start, position + bytes - begin,
                    bytesOnServers);
        }
    }

    /** The blob has been removed: that is fine if the file has been persisted. */
    private void leaveBlob(FarcacheException failure) throws IOException {
        boolean gone = failure.status() == Status.MISSING_CHUNK
                || failure.status() == Status.REPLACED;
        if (!gone || isAsBefore(channel, reference)) {
            throw new IOException(failure.getMessage(), failure);
        }
        persisted = headOf(channel, heads);
    }

    /** What a reference covers of the file now, wherever it is. */
    private static byte[] headOf(FileChannel channel, Heads heads) throws IOException {
        while (true) {
            byte[] head = Reference.ordinaryHeadOf(channel);
            if (head != null) {
                return head;
            }
            // Somebody appends already.
            Reference reference = Reference.read(channel);
            Heads.Head known = reference == null ? null : heads.read(reference.id);
            if (known != null) {
                return known.bytes;
            }
        }
    }

    @Override
    public void close() throws IOException {
        if (reader != null) {
            reader.close();
        }
        channel.close();
    }
}
