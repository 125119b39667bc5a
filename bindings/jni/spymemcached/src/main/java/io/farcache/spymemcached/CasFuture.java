package io.farcache.spymemcached;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import net.spy.memcached.CASResponse;
import net.spy.memcached.internal.OperationFuture;

/** A future of ours as the class of spymemcached's that one of its methods returns. */
final class CasFuture extends OperationFuture<CASResponse> {
    private final CompletableFuture<CASResponse> future;

    /** Listeners run in {@code service}. */
    CasFuture(String key, CompletableFuture<CASResponse> future, ExecutorService service) {
        super(key, new CountDownLatch(1), 0, service);
        this.future = future;
        future.whenComplete((response, thrown) -> signalComplete());
    }

    @Override
    @Deprecated
    public boolean cancel(boolean ignored) {
        return future.cancel(ignored);
    }

    @Override
    public boolean cancel() {
        return future.cancel(true);
    }

    @Override
    public CASResponse get() throws InterruptedException, ExecutionException {
        return future.get();
    }

    @Override
    public CASResponse get(long duration, TimeUnit units)
            throws InterruptedException, TimeoutException, ExecutionException {
        return future.get(duration, units);
    }

    @Override
    public boolean isCancelled() {
        return future.isCancelled();
    }

    @Override
    public boolean isDone() {
        return future.isDone();
    }
}
