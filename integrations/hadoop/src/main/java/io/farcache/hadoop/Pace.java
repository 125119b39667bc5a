package io.farcache.hadoop;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** How fast all threads together may go. */
final class Pace {
    private final long bytesPerSecond;
    /** When those are through who have begun. */
    private long free = System.nanoTime();

    /** No limit where it is 0. */
    Pace(long bytesPerSecond) {
        this.bytesPerSecond = bytesPerSecond;
    }

    /** Waits until so many bytes may go: those before it have had their time. */
    void await(long bytes) throws IOException {
        if (bytesPerSecond > 0) {
            Pause.of(TimeUnit.NANOSECONDS.toMillis(turn(bytes, System.nanoTime())));
        }
    }

    /** Nanoseconds from now until it is the turn of these bytes. */
    synchronized long turn(long bytes, long now) {
        long begin = Math.max(now, free);
        free = begin + (long) (bytes * 1e9 / bytesPerSecond);
        return begin - now;
    }
}
