package io.farcache.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;

/** The clock by which the file system below gives files their times. */
final class FileClock {
    /** How long a tick is waited for; that of a local file system is one of 1 to 10 ms. */
    private static final int TICK_MILLISECONDS_MAX = 20;
    private final Path file;

    FileClock(Path file) {
        this.file = file;
    }

    /** A time not later than now, in nanoseconds since 1970. */
    long now() throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE,
                StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[] {'\n'}), 0);
        }
        return Files.getLastModifiedTime(file).to(TimeUnit.NANOSECONDS);
    }

    /** Waits a moment for it to be later than that. Where it ticks by the second, it is not. */
    void awaitLater(long time) throws IOException {
        for (int look = 0; look < TICK_MILLISECONDS_MAX && now() <= time; look++) {
            Pause.of(1);
        }
    }
}
