package io.farcache.hadoop;

import java.io.EOFException;
import java.io.IOException;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileSystem;

/** A file that is being read. */
final class FarcacheInputStream extends FSInputStream {
    private final Source source;
    private final long length;
    private final FileSystem.Statistics statistics;
    private long position;
    private boolean closed;

    FarcacheInputStream(Source source, FileSystem.Statistics statistics) throws IOException {
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
        position = target;
    }

    @Override
    public synchronized long getPos() throws IOException {
        check();
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
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public synchronized int read(byte[] array, int offset, int bytes) throws IOException {
        int read = read(position, array, offset, bytes);
        position += Math.max(read, 0);
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
        int read = source.read(from, array, offset, bytes);
        if (read == 0) {
            return -1;
        }
        statistics.incrementBytesRead(read);
        return read;
    }

    @Override
    public synchronized void close() throws IOException {
        if (!closed) {
            closed = true;
            source.close();
        }
    }
}
