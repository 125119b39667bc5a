package io.farcache.client;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;

/**
 * A handle of a native client. Its users are counted, so that it is freed after the last one has
 * left, whoever closes it meanwhile.
 */
final class NativeClient {
    private final long handle;
    /** Calls that are inside, and one until it is closed. 0: it has been freed. */
    private final AtomicLong users = new AtomicLong(1);
    private volatile boolean closed;
    /** Memory that the network knows, by its registration: kept, as the network may use it. */
    private final Map<Long, ByteBuffer> registrations = new HashMap<>();

    NativeClient(String servers, Map<String, String> options) {
        String[] texts = new String[2 * options.size()];
        int index = 0;
        for (Map.Entry<String, String> option : options.entrySet()) {
            texts[index++] = option.getKey();
            texts[index++] = option.getValue();
        }
        handle = checked(Native.open(servers, texts));
    }

    /** A handle or number, or the exception for a negated status. */
    static long checked(long handleOrStatus) {
        if (handleOrStatus < 0) {
            throw FarcacheException.of(Status.of(-handleOrStatus), Native.message(), 0);
        }
        return handleOrStatus;
    }

    /** The handle, to be used until {@link #leave}. */
    long enter() {
        while (true) {
            long before = users.get();
            if (closed || before == 0) {
                throw new FarcacheClosedException();
            }
            if (users.compareAndSet(before, before + 1)) {
                return handle;
            }
        }
    }

    void leave() {
        if (users.decrementAndGet() == 0) {
            Native.close(handle);
            // Nothing is under way any more, so nothing uses them.
            registrations.keySet().forEach(Native::unregister);
            registrations.clear();
        }
    }

    /** What an action brings that has the handle until it ends. */
    <T> T use(LongFunction<T> action) {
        long client = enter();
        try {
            return action.apply(client);
        } finally {
            leave();
        }
    }

    /** Lets nobody in any more. May be called again. */
    void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        leave();
    }

    /** Registers a direct buffer's memory; the registration. */
    long register(ByteBuffer memory) {
        return use(client -> {
            synchronized (registrations) {
                long registration = checked(Native.register(client, memory, memory.capacity()));
                registrations.put(registration, memory);
                return registration;
            }
        });
    }

    /**
     * Ends a registration; false while an operation uses it. A closed client has ended it already.
     */
    boolean unregister(long registration) {
        long before = users.get();
        while (before > 0 && !users.compareAndSet(before, before + 1)) {
            before = users.get();
        }
        if (before <= 0) {
            return true;
        }
        try {
            synchronized (registrations) {
                if (!registrations.containsKey(registration)) {
                    return true;
                }
                boolean ended = Native.unregister(registration);
                if (ended) {
                    registrations.remove(registration);
                }
                return ended;
            }
        } finally {
            leave();
        }
    }
}
