package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A file system below that stands still, or fails, where a test wants it. */
final class Faults implements Below.Watch {
    private final AtomicInteger changes = new AtomicInteger();
    private final AtomicInteger failures = new AtomicInteger();
    private volatile CountDownLatch held = new CountDownLatch(0);
    private volatile boolean isBehind;
    private volatile int from = Integer.MAX_VALUE;
    private volatile int until = Integer.MAX_VALUE;

    /** What is done behind the writers' backs waits from now on. */
    void hold() {
        held = new CountDownLatch(1);
    }

    void release() {
        held.countDown();
    }

    /** So many changes from now on succeed, and none after them. */
    void failAfter(int more) {
        from = changes.get() + more;
    }

    /** The next so many changes fail. */
    void failFor(int next) {
        until = changes.get() + next;
        from = changes.get();
    }

    /** One change fails, before which so many more succeed. */
    void failAt(int more) {
        int number = changes.get() + more;
        until = number + 1;
        from = number;
    }

    /** The next so many changes fail that are made behind the writers' backs. */
    void failBehindFor(int next) {
        isBehind = true;
        failFor(next);
    }

    void mend() {
        from = Integer.MAX_VALUE;
    }

    /** How often it has failed. */
    int failures() {
        return failures.get();
    }

    @Override
    public void before(String change) throws IOException {
        boolean isPersister = Thread.currentThread().getName().equals(Persister.THREAD_NAME);
        if (isPersister) {
            try {
                // A test that fails meanwhile shall not hang.
                if (!held.await(TestServer.PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                    throw new IOException("held for too long");
                }
            } catch (InterruptedException e) {
                throw new InterruptedIOException();
            }
        }
        if (isBehind && !isPersister) {
            return;
        }
        int number = changes.getAndIncrement();
        if (number >= from && number < until) {
            failures.incrementAndGet();
            throw new IOException("No space left on device");
        }
    }
}
