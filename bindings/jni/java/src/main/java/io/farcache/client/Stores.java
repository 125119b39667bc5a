package io.farcache.client;

import java.nio.ByteBuffer;
import java.util.function.Function;

/** Storing a value: from an array, or from a buffer. */
final class Stores {
    private Stores() {
    }

    static Operation<StoreOutcome> store(StoreMode mode, String key, byte[] value,
            StoreOptions options) {
        return new Store<StoreOutcome>(mode, key, value, null, 0, value.length, options,
                Ended::stored);
    }

    static Operation<StoreOutcome> store(StoreMode mode, String key, ByteBuffer value,
            StoreOptions options) {
        return store(mode, key, value, options, Ended::stored);
    }

    static Operation<Void> set(String key, byte[] value, int expirySeconds) {
        StoreOptions options = StoreOptions.expiry(expirySeconds);
        return new Store<Void>(StoreMode.SET, key, value, null, 0, value.length, options,
                Ended::done);
    }

    static Operation<Void> set(String key, ByteBuffer value, int expirySeconds) {
        return store(StoreMode.SET, key, value, StoreOptions.expiry(expirySeconds),
                Ended::done);
    }

    static Operation<Boolean> storeIf(StoreMode mode, String key, byte[] value, int expirySeconds) {
        StoreOptions options = StoreOptions.expiry(expirySeconds);
        return new Store<Boolean>(mode, key, value, null, 0, value.length, options,
                ended -> ended.stored() == StoreOutcome.STORED);
    }

    private static <T> Operation<T> store(StoreMode mode, String key, ByteBuffer value,
            StoreOptions options,
            Function<Ended, T> result) {
        int bytes = value.remaining();
        if (value.isDirect()) {
            return new Store<T>(mode, key, null, value, value.position(), bytes, options, result);
        }
        if (value.hasArray()) {
            int offset = value.arrayOffset() + value.position();
            return new Store<T>(mode, key, value.array(), null, offset, bytes, options, result);
        }
        // An array that may not be written to, and so is not shown.
        byte[] copy = new byte[bytes];
        value.duplicate().get(copy);
        return new Store<T>(mode, key, copy, null, 0, bytes, options, result);
    }

    private static final class Store<T> extends Operation<T> {
        private final StoreMode mode;
        private final byte[] key;
        private final byte[] array;
        private final ByteBuffer direct;
        private final int offset;
        private final int bytes;
        private final StoreOptions options;
        private final Function<Ended, T> result;

        Store(StoreMode mode, String key, byte[] array, ByteBuffer direct, int offset, int bytes,
                StoreOptions options, Function<Ended, T> result) {
            this.mode = mode;
            this.key = Keys.encode(key);
            this.array = array;
            this.direct = direct;
            this.offset = offset;
            this.bytes = bytes;
            this.options = options;
            this.result = result;
        }

        @Override
        Object carryOut(long client, Pending<?> pending, long[] outcome) {
            Native.store(client, pending, mode.ordinal(), key, array, direct, offset, bytes,
                    options.expirySeconds, options.flags, options.cas, outcome);
            return null;
        }

        @Override
        T result(Ended ended) {
            return result.apply(ended);
        }
    }
}
