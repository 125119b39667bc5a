package io.farcache.client;

import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/** Something native that is freed once, while nobody uses it. */
final class NativeHandle {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final long handle;
    private final LongConsumer free;
    private boolean closed;

    NativeHandle(long handle, LongConsumer free) {
        this.handle = handle;
        this.free = free;
    }

    /** Any number of threads at the same time. */
    <T> T use(LongFunction<T> action) {
        lock.readLock().lock();
        try {
            return used(action);
        } finally {
            lock.readLock().unlock();
        }
    }

    /** One thread at a time. */
    <T> T useAlone(LongFunction<T> action) {
        lock.writeLock().lock();
        try {
            return used(action);
        } finally {
            lock.writeLock().unlock();
        }
    }

    private <T> T used(LongFunction<T> action) {
        if (closed) {
            throw new FarcacheClosedException();
        }
        return action.apply(handle);
    }

    /** Frees it, once, after a last action. */
    void close(LongConsumer last) {
        lock.writeLock().lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            try {
                last.accept(handle);
            } finally {
                free.accept(handle);
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    void close() {
        close(handle -> {
        });
    }
}
