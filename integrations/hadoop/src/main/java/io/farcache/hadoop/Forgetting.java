package io.farcache.hadoop;

import java.io.Closeable;
import java.io.InterruptedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Removes what the cache has of files that are gone, behind the backs of those who delete them:
 * that is five answers of servers, one after the other, which nothing depends on. Who deletes
 * faster than that does it himself.
 */
final class Forgetting implements Closeable {
    private static final int THREADS = 2;
    /** Files that wait for it, so that closing does not take long. */
    private static final int WAITING_MAX = 256;
    private final Cache cache;
    private final ThreadPoolExecutor threads = new ThreadPoolExecutor(THREADS, THREADS, 1,
            TimeUnit.SECONDS, new ArrayBlockingQueue<>(WAITING_MAX), action -> {
                Thread thread = new Thread(action, "farcache-forgetter");
                thread.setDaemon(true);
                return thread;
            }, new ThreadPoolExecutor.CallerRunsPolicy());

    Forgetting(Cache cache) {
        this.cache = cache;
        threads.allowCoreThreadTimeOut(true);
    }

    /**
     * A file has been removed.
     *
     * @param identity what it was; null where nothing is known of it, or it is not cached
     */
    void forget(Identity identity) {
        if (identity != null) {
            threads.execute(() -> cache.forget(identity));
        }
    }

    /** Returns once all that was removed is forgotten. */
    @Override
    public void close() throws InterruptedIOException {
        threads.shutdown();
        try {
            threads.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            threads.shutdownNow();
            Thread.currentThread().interrupt();
            throw new InterruptedIOException();
        }
    }
}
