package io.farcache.hadoop;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** An open file of the file system below. It follows its file wherever that is renamed to. */
final class Below implements Closeable {
    /** Is told before anything is changed below, and may refuse it: tests fail there. */
    interface Watch {
        void before(String change) throws IOException;
    }

    private final FileChannel channel;
    private final Watch watch;

    Below(FileChannel channel, Watch watch) {
        this.channel = channel;
        this.watch = watch;
    }

    FileChannel channel() {
        return channel;
    }

    /** Writes all of the bytes. */
    void write(ByteBuffer bytes, long position) throws IOException {
        watch.before("write");
        long next = position;
        while (bytes.hasRemaining()) {
            next += channel.write(bytes, next);
        }
    }

    /** Makes the file as long as that, with zeros where it was shorter. */
    void resize(long bytes) throws IOException {
        watch.before("resize");
        channel.truncate(bytes);
        if (channel.size() < bytes) {
            channel.write(ByteBuffer.allocate(1), bytes - 1);
        }
    }

    /** Returns once all that was written is on the disks. */
    void force() throws IOException {
        watch.before("force");
        channel.force(true);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
