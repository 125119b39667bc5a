package io.farcache.hadoop;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.CanUnbuffer;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;

/**
 * A file that is being read. It works with Hadoop 3.3.4, too, which has no vectored reads: {@link
 * FileRange} stands here as a parameter of a type alone, which no class file needs.
 */
final class FarcacheInputStream extends FSInputStream
        implements StreamCapabilities, CanUnbuffer, IOStatisticsSource {
    private static final int BUFFER_BYTES = 64 << 10;
    private final Source source;
    private final long length;
    private final ReadStatistics statistics;
    private long position;
    private boolean closed;
    private final byte[] one = new byte[1];
    /** For reads of a few bytes that follow one another: what lies from a place on. */
    private byte[] buffer;
    private long bufferStart;
    private int buffered;

    FarcacheInputStream(Source source, ReadStatistics statistics) throws IOException {
        this.source = source;
        this.length = source.length();
        this.statistics = statistics;
    }

    private void check() throws IOException {
        if (closed) {
            throw new IOException(FSExceptionMessages.STREAM_IS_CLOSED);
        }
    }

    @Override
    public synchronized void seek(long target) throws IOException {
        check();
        if (target < 0) {
            throw new EOFException(FSExceptionMessages.NEGATIVE_SEEK);
        }
        if (target > length) {
            throw new EOFException(FSExceptionMessages.CANNOT_SEEK_PAST_EOF);
        }
        statistics.seek(position, target);
        position = target;
    }

    @Override
    public synchronized long getPos() {
        return position;
    }

    @Override
    public boolean seekToNewSource(long target) {
        return false;
    }

    @Override
    public synchronized int available() throws IOException {
        check();
        return (int) Math.min(length - position, Integer.MAX_VALUE);
    }

    @Override
    public synchronized int read() throws IOException {
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public synchronized int read(byte[] array, int offset, int bytes) throws IOException {
        check();
        validatePositionedReadArgs(position, array, offset, bytes);
        if (bytes == 0) {
            return 0;
        }
        statistics.begin();
        int read = bytes < BUFFER_BYTES ? readBuffered(array, offset, bytes)
                : readSource(position, array, offset, bytes);
        position += read;
        return told(read);
    }

    /** Some of the bytes at the position, at least one where there is any. */
    private int readBuffered(byte[] array, int offset, int bytes) throws IOException {
        long within = position - bufferStart;
        if (within < 0 || within >= buffered) {
            buffer = buffer == null ? new byte[BUFFER_BYTES] : buffer;
            buffered = 0;
            buffered = readSource(position, buffer, 0, BUFFER_BYTES);
            bufferStart = position;
            within = 0;
        }
        int read = (int) Math.min(bytes, buffered - within);
        System.arraycopy(buffer, (int) within, array, offset, read);
        return read;
    }

    private int readSource(long from, byte[] array, int offset, int bytes) throws IOException {
        try {
            return source.read(from, array, offset, bytes);
        } catch (IOException e) {
            statistics.failed();
            throw e;
        }
    }

    private int told(int read) {
        if (read == 0) {
            return -1;
        }
        statistics.read(read);
        return read;
    }

    @Override
    public synchronized int read(long from, byte[] array, int offset, int bytes)
            throws IOException {
        check();
        validatePositionedReadArgs(from, array, offset, bytes);
        if (bytes == 0) {
            return 0;
        }
        statistics.begin();
        return told(readSource(from, array, offset, bytes));
    }

    /** Reads ranges behind the caller's back; those that lie side by side are read together. */
    @Override
    public void readVectored(List<? extends FileRange> ranges, IntFunction<ByteBuffer> allocate)
            throws IOException {
        readVectored(ranges, allocate, buffer -> {
        });
    }

    @Override
    public void readVectored(List<? extends FileRange> ranges, IntFunction<ByteBuffer> allocate,
            Consumer<ByteBuffer> release) throws IOException {
        Objects.requireNonNull(release);
        synchronized (this) {
            check();
            statistics.readVectored(ranges.size());
        }
        VectoredRead.begin(this::readParts, length, ranges, allocate, release);
    }

    private synchronized void readParts(List<Part> parts) throws IOException {
        check();
        try {
            source.read(parts);
        } catch (IOException e) {
            statistics.failed();
            throw e;
        }
        parts.forEach(part -> statistics.read(part.room.remaining()));
    }

    /** Of a stream that is closed there is nothing to give up. */
    @Override
    public synchronized void unbuffer() {
        if (!closed) {
            buffer = null;
            buffered = 0;
            source.unbuffer();
            statistics.unbuffered();
        }
    }

    @Override
    public IOStatistics getIOStatistics() {
        return statistics.statistics();
    }

    @Override
    public boolean hasCapability(String capability) {
        switch (capability.toLowerCase(Locale.ROOT)) {
            case StreamCapabilities.VECTOREDIO:
            case StreamCapabilities.UNBUFFER:
            case StreamCapabilities.IOSTATISTICS:
            case StreamCapabilities.IOSTATISTICS_CONTEXT:
                return true;
            default:
                return false;
        }
    }

    @Override
    public synchronized void close() throws IOException {
        if (!closed) {
            closed = true;
            statistics.close();
            source.close();
        }
    }
}
