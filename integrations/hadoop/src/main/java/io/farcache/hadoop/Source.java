package io.farcache.hadoop;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** Where the bytes of a file that is read come from. */
interface Source extends Closeable {
    /** In bytes. */
    long length() throws IOException;

    /** Reads as many bytes as are wanted, or as there are; how many. */
    int read(long position, byte[] array, int offset, int bytes) throws IOException;

    /** An ordinary file. */
    static Source of(FileChannel channel) {
        return new Source() {
            @Override
            public long length() throws IOException {
                return channel.size();
            }

            @Override
            public int read(long position, byte[] array, int offset, int bytes)
                    throws IOException {
                return Source.read(channel, position, array, offset, bytes);
            }

            @Override
            public void close() throws IOException {
                channel.close();
            }
        };
    }

    /** Reads as many bytes of an open file as are wanted, or as there are; how many. */
    static int read(FileChannel channel, long position, byte[] array, int offset, int bytes)
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
}
