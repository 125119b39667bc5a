package io.farcache.spymemcached;

import io.farcache.client.FarcacheAsync;
import io.farcache.client.FarcacheClient;
import java.util.concurrent.Future;

/** Counting numbers up, or down. */
final class Counter {
    /** What spymemcached says where there is no such key. */
    private static final long ABSENT = -1;

    private final boolean down;
    private final FarcacheClient client;
    private final Calls calls;

    Counter(boolean down, FarcacheClient client, Calls calls) {
        this.down = down;
        this.client = client;
        this.calls = calls;
    }

    private static long orAbsent(Long number) {
        return number == null ? ABSENT : number;
    }

    /** The number after that. */
    long count(String key, long by) {
        return orAbsent(Calls.waited(
                () -> down ? client.decrement(key, by) : client.increment(key, by)));
    }

    /** The number after that, or the initial one where the key is absent. */
    long count(String key, long by, long initial, int expiry) {
        return Calls.waited(() -> down ? client.decrement(key, by, initial, expiry)
                : client.increment(key, by, initial, expiry));
    }

    /** The same without waiting. */
    Future<Long> begin(String key, long by) {
        FarcacheAsync async = client.async();
        return calls.told(down ? async.decrement(key, by) : async.increment(key, by),
                Counter::orAbsent);
    }

    /** The same without waiting. */
    Future<Long> begin(String key, long by, long initial, int expiry) {
        FarcacheAsync async = client.async();
        return calls.told(down ? async.decrement(key, by, initial, expiry)
                : async.increment(key, by, initial, expiry), Counter::orAbsent);
    }
}
