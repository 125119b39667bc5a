package io.farcache.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** An operation that nobody waits for. The native side keeps it until it has told the end. */
final class Pending<T> {
    /** Keeps buffers that are lent. */
    private final Operation<T> operation;
    /** Keeps the client open, should the application have forgotten it. */
    private final FarcacheClient client;
    /** Null: what depends on the future runs in the thread that tells the end. */
    private final Executor executor;
    final Future<T> future = new Future<>(this);
    private volatile long number;

    Pending(Operation<T> operation, FarcacheClient client, Executor executor) {
        this.operation = operation;
        this.client = client;
        this.executor = executor;
    }

    /** Has it begun; where it cannot, its future ends at once. */
    void begin(NativeClient nativeClient) {
        long[] outcome = new long[4];
        long handle = nativeClient.enter();
        try {
            operation.carryOut(handle, this, outcome);
            if (outcome[0] == Status.OK.code()) {
                number = outcome[1];
            } else {
                ended((int) outcome[0], 0, 0, 0, null, null, Native.message());
            }
        } finally {
            nativeClient.leave();
        }
    }

    /** Called by the native side. */
    void ended(int status, long valueBytes, long cas, long extra, Object value, long[] items,
            String message) {
        Ended ended = new Ended(status, valueBytes, cas, extra, value, items, message);
        run(() -> {
            T result;
            try {
                result = operation.result(ended);
            } catch (Throwable e) {
                future.completeExceptionally(e);
                return;
            }
            future.complete(result);
        });
    }

    /** Called by the native side where there is no memory for the value. */
    void failed(Throwable thrown) {
        run(() -> future.completeExceptionally(thrown));
    }

    private void run(Runnable end) {
        if (executor != null) {
            try {
                executor.execute(end);
                return;
            } catch (RuntimeException e) {
                // It takes nothing any more; the future must end all the same.
            }
        }
        end.run();
    }

    /** A future that gives its operation up when it is cancelled. */
    static final class Future<T> extends CompletableFuture<T> {
        private final Pending<?> pending;

        Future(Pending<?> pending) {
            this.pending = pending;
        }

        @Override
        public boolean cancel(boolean mayInterruptIfRunning) {
            boolean cancelled = super.cancel(mayInterruptIfRunning);
            if (cancelled && pending.number != 0) {
                pending.client.giveUp(pending.number);
            }
            return cancelled;
        }
    }
}
