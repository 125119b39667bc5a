package io.farcache.hadoop;

import io.farcache.client.BlobReader;
import io.farcache.client.FarcacheException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Where the bytes of a file that is read come from. */
interface Source extends Closeable {
    /** In bytes. */
    long length() throws IOException;

    /** Reads as many bytes as are wanted, or as there are; how many. */
    int read(long position, byte[] array, int offset, int bytes) throws IOException;

    /** A blob of Farcache's. */
    static Source of(BlobReader reader) {
        return new Source() {
            @Override
            public long length() {
                return reader.length();
            }

            @Override
            public int read(long position, byte[] array, int offset, int bytes)
                    throws IOException {
                try {
                    return reader.read(position, array, offset, bytes);
                } catch (FarcacheException e) {
                    throw new IOException(e.getMessage(), e);
                }
            }

            @Override
            public void close() {
                reader.close();
            }
        };
    }

    /** An ordinary file that somebody else has put into the directory of names. */
    static Source of(Path file) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
        return new Source() {
            @Override
            public long length() throws IOException {
                return channel.size();
            }

            @Override
            public int read(long position, byte[] array, int offset, int bytes)
                    throws IOException {
                ByteBuffer room = ByteBuffer.wrap(array, offset, bytes);
                int done = 0;
                while (room.hasRemaining()) {
                    int read = channel.read(room, position + done);
                    if (read < 0) {
                        break;
                    }
                    done += read;
                }
                return done;
            }

            @Override
            public void close() throws IOException {
                channel.close();
            }
        };
    }
}
