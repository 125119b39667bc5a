package io.farcache.client;

/** Operations on a key without a value. */
final class Changes {
    private Changes() {
    }

    /** What they have in common. */
    private abstract static class Change<T> extends Operation<T> {
        private final int kind;
        private final byte[] key;
        private final int expirySeconds;
        private final long delta;
        private final Long initial;
        private final long cas;

        Change(int kind, String key, int expirySeconds, long delta, Long initial, long cas) {
            this.kind = kind;
            this.key = Keys.encode(key);
            this.expirySeconds = expirySeconds;
            this.delta = delta;
            this.initial = initial;
            this.cas = cas;
        }

        @Override
        Object carryOut(long client, Pending<?> pending, long[] outcome) {
            Native.change(client, pending, kind, key, delta, initial == null ? 0 : initial,
                    initial != null, expirySeconds, cas, outcome);
            return null;
        }
    }

    static Operation<Boolean> touch(String key, int expirySeconds) {
        return new Change<Boolean>(Native.TOUCH, key, expirySeconds, 0, null, 0) {
            @Override
            Boolean result(Ended ended) {
                return ended.isFound();
            }
        };
    }

    static Operation<Boolean> delete(String key) {
        return new Change<Boolean>(Native.DELETE, key, 0, 0, null, 0) {
            @Override
            Boolean result(Ended ended) {
                return ended.isFound();
            }
        };
    }

    static Operation<StoreOutcome> delete(String key, long cas) {
        return new Change<StoreOutcome>(Native.DELETE, key, 0, 0, null, cas) {
            @Override
            StoreOutcome result(Ended ended) {
                return ended.stored();
            }
        };
    }

    static Operation<Long> count(boolean down, String key, long delta, Long initial,
            int expirySeconds) {
        int kind = down ? Native.DECREMENT : Native.INCREMENT;
        return new Change<Long>(kind, key, expirySeconds, delta, initial, 0) {
            @Override
            Long result(Ended ended) {
                return ended.isFound() ? (Long) ended.extra : null;
            }
        };
    }
}
