package io.farcache.hadoop;

import io.farcache.client.BlobWriter;
import io.farcache.client.FarcacheBlobs;
import io.farcache.client.FarcacheException;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Locale;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.apache.hadoop.fs.statistics.StoreStatisticNames;

/**
 * A file that is being written, to a blob. What is persisted of it, and its reference, are written
 * by way of the open file: so a rename meanwhile does no harm. A file that is no longer than a
 * reference never comes to a blob.
 */
final class FarcacheOutputStream extends OutputStream
        implements Syncable, StreamCapabilities, IOStatisticsSource {
    private final FarcacheBlobs blobs;
    private final Persistence persistence;
    private final Persister persister;
    private final Pending pending;
    private final Below file;
    private final Close mode;
    private final WriteStatistics statistics;
    private static final int BUFFER_BYTES = 64 << 10;
    /** The first bytes of the file. */
    private final byte[] head = new byte[Reference.BYTES];
    private Reference reference;
    /** Of what follows {@link Reference#start}; null while there is nothing but the head. */
    private BlobWriter writer;
    /** What is not handed to the writer yet: most writes of a job are of a few bytes. */
    private byte[] buffer;
    private int buffered;
    /** Of the file, with what is buffered. */
    private long length;
    private IOException failure;
    private boolean closed;

    /**
     * A stream to a file that has this reference.
     *
     * @param mode what closing waits for
     */
    FarcacheOutputStream(FarcacheBlobs blobs, Persistence persistence, Persister persister,
            Pending pending, Below file, Reference reference, Close mode,
            WriteStatistics statistics) {
        this.blobs = blobs;
        this.persistence = persistence;
        this.persister = persister;
        this.pending = pending;
        this.file = file;
        this.reference = reference;
        this.mode = mode;
        this.statistics = statistics;
    }

    /** Goes on behind what the file holds, of which this is the beginning. */
    void goOn(byte[] begins) {
        System.arraycopy(begins, 0, head, 0, begins.length);
        length = reference.start;
    }

    /** Where what is written next goes. */
    synchronized long position() {
        return length;
    }

    private void check() throws IOException {
        persister.check();
        if (closed) {
            throw new IOException(FSExceptionMessages.STREAM_IS_CLOSED);
        }
        if (failure != null) {
            throw new IOException(failure.getMessage(), failure);
        }
    }

    @Override
    public synchronized void write(int single) throws IOException {
        if (writer != null && buffered < BUFFER_BYTES) {
            check();
            buffer[buffered++] = (byte) single;
            length++;
            statistics.wrote(1);
            return;
        }
        write(new byte[] {(byte) single}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] array, int offset, int bytes) throws IOException {
        check();
        if (offset < 0 || bytes < 0 || bytes > array.length - offset) {
            throw new IndexOutOfBoundsException();
        }
        if (writer != null && bytes <= BUFFER_BYTES - buffered) {
            System.arraycopy(array, offset, buffer, buffered, bytes);
            buffered += bytes;
            length += bytes;
        } else {
            attempt(() -> append(array, offset, bytes));
        }
        statistics.wrote(bytes);
    }

    private void append(byte[] array, int offset, int bytes) throws IOException {
        int known = (int) Math.min(length, head.length);
        int first = Math.min(bytes, head.length - known);
        System.arraycopy(array, offset, head, known, first);
        if (Reference.isLike(head, known + first)) {
            throw new IOException("no file may begin with \"" + Reference.MAGIC + "\"");
        }
        if (writer == null && length + bytes > head.length) {
            writer = blobs.create(reference.blob());
            buffer = buffer == null ? new byte[BUFFER_BYTES] : buffer;
            writer.write(head, (int) Math.min(reference.start, known),
                    known - (int) Math.min(reference.start, known));
        }
        if (writer != null) {
            hand();
            if (bytes < BUFFER_BYTES) {
                System.arraycopy(array, offset, buffer, 0, bytes);
                buffered = bytes;
            } else {
                writer.write(array, offset, bytes);
            }
        }
        length += bytes;
    }

    /** Hands to the writer what is buffered. */
    private void hand() {
        if (buffered > 0) {
            int bytes = buffered;
            buffered = 0;
            writer.write(buffer, 0, bytes);
        }
    }

    /** Something that breaks the stream if it fails. */
    private interface Action {
        void run() throws IOException;
    }

    private void attempt(Action action) throws IOException {
        try {
            action.run();
        } catch (IOException e) {
            throw failed(e);
        } catch (FarcacheException e) {
            throw failed(new IOException(e.getMessage(), e));
        }
    }

    private IOException failed(IOException reason) {
        statistics.failed();
        failure = reason;
        return reason;
    }

    /** Sends nothing: see {@link #hflush}. */
    @Override
    public synchronized void flush() throws IOException {
        check();
    }

    /**
     * Returns once all that was written is on as many servers as it is to be on, where closing does
     * not wait for more, and else once it is persisted; readers who open the file see it then.
     */
    @Override
    public synchronized void hflush() throws IOException {
        boolean isPublished = mode == Close.REDUNDANT && writer != null;
        check();
        statistics.track(StoreStatisticNames.OP_HFLUSH, isPublished ? this::publish : this::sync);
    }

    private void publish() throws IOException {
        attempt(() -> {
            hand();
            writer.publish();
        });
    }

    /** Returns once all that was written is persisted; readers who open the file see it then. */
    @Override
    public synchronized void hsync() throws IOException {
        check();
        statistics.track(StoreStatisticNames.OP_HSYNC, this::sync);
    }

    private void sync() throws IOException {
        if (length > reference.start) {
            attempt(this::advance);
        }
    }

    private void advance() throws IOException {
        if (writer == null) {
            byte[] all = Arrays.copyOf(head, (int) length);
            reference = persister.insist(() -> persistence.advance(file, reference, all));
            return;
        }
        hand();
        writer.close();
        writer = null;
        reference = persister.insist(() -> persistence.advance(file, reference, length));
    }

    @Override
    public boolean hasCapability(String capability) {
        switch (capability.toLowerCase(Locale.ROOT)) {
            case "hflush":
            case "hsync":
            case StreamCapabilities.IOSTATISTICS:
            case StreamCapabilities.IOSTATISTICS_CONTEXT:
                return true;
            default:
                return false;
        }
    }

    @Override
    public IOStatistics getIOStatistics() {
        return statistics.statistics();
    }

    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        try {
            end();
        } finally {
            statistics.close();
        }
    }

    private void end() throws IOException {
        if (failure != null) {
            giveUp();
            throw new IOException(failure.getMessage(), failure);
        }
        try {
            attempt(this::complete);
        } catch (IOException e) {
            giveUp();
            throw e;
        }
        persister.finish(file, pending, reference.id);
        if (mode == Close.PERSISTED) {
            persister.await(reference.id);
        }
    }

    private void complete() throws IOException {
        persister.check();
        if (writer != null) {
            hand();
            writer.close();
        } else if (length <= head.length && reference.start == 0) {
            Persistence.seal(file, Arrays.copyOf(head, (int) length), length);
            return;
        } else if (length > reference.start) {
            advance();
        }
        reference = reference.written(length);
        reference.write(file);
    }

    /** What was persisted stays, and is what is found when this client is gone. */
    private void giveUp() throws IOException {
        if (writer != null) {
            writer.abort();
        }
        file.close();
    }
}
