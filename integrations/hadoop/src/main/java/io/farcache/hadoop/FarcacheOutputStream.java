package io.farcache.hadoop;

import io.farcache.client.BlobWriter;
import io.farcache.client.FarcacheException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import org.apache.hadoop.fs.FSExceptionMessages;

/**
 * A file that is being written. Its reference is completed when it is closed, by way of the open
 * file: so a rename meanwhile does no harm.
 */
final class FarcacheOutputStream extends OutputStream {
    private final BlobWriter writer;
    private final FileChannel names;
    private final Reference reference;
    private long length;
    private boolean closed;

    FarcacheOutputStream(BlobWriter writer, FileChannel names, Reference reference) {
        this.writer = writer;
        this.names = names;
        this.reference = reference;
    }

    private void check() throws IOException {
        if (closed) {
            throw new IOException(FSExceptionMessages.STREAM_IS_CLOSED);
        }
    }

    @Override
    public synchronized void write(int single) throws IOException {
        write(new byte[] {(byte) single}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] array, int offset, int bytes) throws IOException {
        check();
        try {
            writer.write(array, offset, bytes);
        } catch (FarcacheException e) {
            throw new IOException(e.getMessage(), e);
        }
        length += bytes;
    }

    /** Nothing is seen of a file before it is closed, so there is nothing to do. */
    @Override
    public synchronized void flush() throws IOException {
        check();
    }

    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        try (FileChannel file = names) {
            writer.close();
            reference.written(length).write(file);
        } catch (FarcacheException e) {
            throw new IOException(e.getMessage(), e);
        }
    }
}
