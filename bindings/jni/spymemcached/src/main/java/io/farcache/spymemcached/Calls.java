package io.farcache.spymemcached;

import io.farcache.client.FarcacheTimeoutException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import net.spy.memcached.OperationTimeoutException;

/** Calls as spymemcached makes them: waited for, or told by a future. */
final class Calls {
    private final UnderWay underWay = new UnderWay();

    /** Waits as spymemcached does. */
    static <T> T waited(Supplier<T> call) {
        try {
            return call.get();
        } catch (FarcacheTimeoutException e) {
            throw new OperationTimeoutException("Timeout waiting for value: " + e.getMessage(), e);
        }
    }

    /** A future of what is made of an operation's result. */
    <T, R> CompletableFuture<R> told(CompletableFuture<T> begun, Function<T, R> result) {
        CompletableFuture<R> told = underWay.add(begun).thenApply(result);
        // Giving up what depends on an operation gives up the operation.
        told.whenComplete((value, thrown) -> {
            if (told.isCancelled()) {
                begun.cancel(true);
            }
        });
        return told;
    }

    /** Whether all that is told by futures has ended within a time. */
    boolean awaitNone(long time, TimeUnit unit) {
        return underWay.awaitNone(time, unit);
    }
}
