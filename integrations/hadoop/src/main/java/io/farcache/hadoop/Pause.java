package io.farcache.hadoop;

import java.io.IOException;
import java.io.InterruptedIOException;

/** Waiting a moment before looking again. */
final class Pause {
    private Pause() {
    }

    /**
     * Sleeps; the thread stays interrupted where it was.
     *
     * @throws InterruptedIOException if it is interrupted
     */
    static void of(long milliseconds) throws IOException {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException();
        }
    }
}
