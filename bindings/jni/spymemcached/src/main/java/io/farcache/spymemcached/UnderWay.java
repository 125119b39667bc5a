package io.farcache.spymemcached;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Counts operations that nobody may wait for but {@code waitForQueues} and {@code shutdown}. */
final class UnderWay {
    private long count;

    /** Counts an operation until it has ended. */
    <T> CompletableFuture<T> add(CompletableFuture<T> future) {
        synchronized (this) {
            count++;
        }
        future.whenComplete((value, thrown) -> {
            synchronized (this) {
                count--;
                notifyAll();
            }
        });
        return future;
    }

    /** Whether all have ended within a time; an interrupt ends the wait, and stays set. */
    synchronized boolean awaitNone(long time, TimeUnit unit) {
        long end = System.nanoTime() + unit.toNanos(time);
        try {
            while (count > 0) {
                long left = end - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                TimeUnit.NANOSECONDS.timedWait(this, left);
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
