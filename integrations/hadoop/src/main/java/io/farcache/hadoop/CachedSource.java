package io.farcache.hadoop;

import io.farcache.client.BlobReader;
import io.farcache.client.FarcacheBlobs;
import io.farcache.client.FarcacheException;
import io.farcache.client.Status;
import java.io.IOException;
import java.nio.channels.FileChannel;

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
    private boolean persisted;

    private CachedSource(FileChannel channel, Reference reference, byte[] head,
            BlobReader reader) {
        this.channel = channel;
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
        return new CachedSource(channel, reference, head, reader);
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
        return now != null && now.part == reference.part
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
        if (persisted) {
            return Source.read(channel, position, array, offset, bytes);
        }
        if (position >= reference.start) {
            return readBlob(position, array, offset, bytes);
        }
        int before = (int) Math.min(bytes, reference.start - position);
        if (position >= Reference.BYTES) {
            return Source.read(channel, position, array, offset, before);
        }
        int covered = (int) Math.min(before, head.length - position);
        System.arraycopy(head, (int) position, array, offset, covered);
        return covered;
    }

    private int readBlob(long position, byte[] array, int offset, int bytes) throws IOException {
        try {
            return reader.read(position - reference.start, array, offset, bytes);
        } catch (FarcacheException e) {
            boolean gone = e.status() == Status.MISSING_CHUNK || e.status() == Status.REPLACED;
            if (!gone || isAsBefore(channel, reference)) {
                throw new IOException(e.getMessage(), e);
            }
            persisted = true;
            return Source.read(channel, position, array, offset, bytes);
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
