package io.farcache.spymemcached;

import java.util.Collections;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import net.spy.memcached.internal.BulkFuture;
import net.spy.memcached.internal.BulkGetCompletionListener;
import net.spy.memcached.internal.BulkGetFuture;
import net.spy.memcached.ops.OperationStatus;
import net.spy.memcached.ops.StatusCode;

/** A future of several values. */
final class Bulk<T> implements BulkFuture<Map<String, T>> {
    private final CompletableFuture<Map<String, T>> future;
    private volatile boolean timedOut;

    Bulk(CompletableFuture<Map<String, T>> future) {
        this.future = future;
    }

    @Override
    public boolean isTimeout() {
        return timedOut;
    }

    /** All of them or, where they have not come in time, none: they come together. */
    @Override
    public Map<String, T> getSome(long time, TimeUnit unit)
            throws InterruptedException, ExecutionException {
        try {
            return get(time, unit);
        } catch (TimeoutException e) {
            return Collections.emptyMap();
        }
    }

    @Override
    public OperationStatus getStatus() {
        try {
            future.get();
            return new OperationStatus(true, "OK", StatusCode.SUCCESS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new OperationStatus(false, "interrupted", StatusCode.INTERRUPTED);
        } catch (ExecutionException | RuntimeException e) {
            return new OperationStatus(false, e.toString(), StatusCode.ERR_INTERNAL);
        }
    }

    /** spymemcached's listeners are given its own class, which this is none of. */
    @Override
    public Future<Map<String, T>> addListener(BulkGetCompletionListener listener) {
        throw new UnsupportedOperationException("listeners are given a " + BulkGetFuture.class);
    }

    @Override
    public Future<Map<String, T>> removeListener(BulkGetCompletionListener listener) {
        return this;
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        return future.cancel(mayInterruptIfRunning);
    }

    @Override
    public boolean isCancelled() {
        return future.isCancelled();
    }

    @Override
    public boolean isDone() {
        return future.isDone();
    }

    @Override
    public Map<String, T> get() throws InterruptedException, ExecutionException {
        return future.get();
    }

    @Override
    public Map<String, T> get(long time, TimeUnit unit)
            throws InterruptedException, ExecutionException, TimeoutException {
        try {
            return future.get(time, unit);
        } catch (TimeoutException e) {
            timedOut = true;
            throw e;
        }
    }
}
