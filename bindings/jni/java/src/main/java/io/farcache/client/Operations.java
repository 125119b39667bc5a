package io.farcache.client;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** All operations there are, to be waited for or not. */
final class Operations {
    private static final long KEEPS_EXPIRY = -1;
    private static final int NUMBERS_PER_ITEM = 3;

    private Operations() {
    }

    /** Gets into an array of its own. */
    private abstract static class Get<T> extends Operation<T> {
        private final byte[] key;
        private final long touch;

        Get(String key, long touch) {
            this.key = Keys.encode(key);
            this.touch = touch;
        }

        @Override
        Object carryOut(long client, Pending<?> pending, long timeoutMicros, long[] outcome) {
            return Native.get(client, pending, key, touch, null, 0, 0, timeoutMicros, outcome);
        }
    }

    static Operation<byte[]> get(String key) {
        return bytes(key, KEEPS_EXPIRY);
    }

    static Operation<byte[]> getAndTouch(String key, int expirySeconds) {
        return bytes(key, Integer.toUnsignedLong(expirySeconds));
    }

    private static Operation<byte[]> bytes(String key, long touch) {
        return new Get<byte[]>(key, touch) {
            @Override
            byte[] result(Ended ended) {
                return ended.isFound() ? (byte[]) ended.value : null;
            }
        };
    }

    static Operation<Item> getItem(String key) {
        return item(key, KEEPS_EXPIRY);
    }

    static Operation<Item> getItemAndTouch(String key, int expirySeconds) {
        return item(key, Integer.toUnsignedLong(expirySeconds));
    }

    private static Operation<Item> item(String key, long touch) {
        return new Get<Item>(key, touch) {
            @Override
            Item result(Ended ended) {
                return ended.isFound() ? new Item((byte[]) ended.value, (int) ended.extra,
                        ended.cas) : null;
            }
        };
    }

    /** Gets into a buffer: straight, if that is a direct one. */
    static Operation<Integer> get(String key, ByteBuffer room) {
        if (room.isReadOnly()) {
            throw new ReadOnlyBufferException();
        }
        return room.isDirect() ? getDirect(key, room) : getCopied(key, room);
    }

    private static Operation<Integer> getDirect(String key, ByteBuffer room) {
        byte[] encoded = Keys.encode(key);
        int position = room.position();
        int bytes = room.remaining();
        return new Operation<Integer>() {
            @Override
            Object carryOut(long client, Pending<?> pending, long timeoutMicros, long[] outcome) {
                return Native.get(client, pending, encoded, KEEPS_EXPIRY, room, position, bytes,
                        timeoutMicros,
                        outcome);
            }

            @Override
            Integer result(Ended ended) {
                return ended.isFound() ? (int) ended.valueBytes : -1;
            }
        };
    }

    private static Operation<Integer> getCopied(String key, ByteBuffer room) {
        ByteBuffer place = room.duplicate();
        return new Get<Integer>(key, KEEPS_EXPIRY) {
            @Override
            Integer result(Ended ended) {
                if (!ended.isFound()) {
                    return -1;
                }
                byte[] value = (byte[]) ended.value;
                if (value.length > place.remaining()) {
                    throw FarcacheException.of(Status.BUFFER_TOO_SMALL, "the buffer is too small",
                            value.length);
                }
                place.put(value);
                return value.length;
            }
        };
    }

    static Operation<Map<String, byte[]>> getAll(Collection<String> keys) {
        return new GetMany<byte[]>(keys) {
            @Override
            byte[] item(byte[] value, int flags, long cas) {
                return value;
            }
        };
    }

    static Operation<Map<String, Item>> getItems(Collection<String> keys) {
        return new GetMany<Item>(keys) {
            @Override
            Item item(byte[] value, int flags, long cas) {
                return new Item(value, flags, cas);
            }
        };
    }

    private abstract static class GetMany<T> extends Operation<Map<String, T>> {
        private final List<String> keys;
        private final byte[][] encoded;
        private final long[] items;

        GetMany(Collection<String> keys) {
            this.keys = new ArrayList<>(keys);
            this.encoded = Keys.encode(this.keys);
            this.items = new long[NUMBERS_PER_ITEM * encoded.length];
        }

        abstract T item(byte[] value, int flags, long cas);

        @Override
        long[] items() {
            return items;
        }

        @Override
        Object carryOut(long client, Pending<?> pending, long timeoutMicros, long[] outcome) {
            return Native.getMany(client, pending, encoded, timeoutMicros, outcome, items);
        }

        @Override
        Map<String, T> result(Ended ended) {
            ended.isDone();
            byte[][] values = (byte[][]) ended.value;
            Map<String, T> found = new LinkedHashMap<>(2 * values.length);
            for (int index = 0; index < values.length; index++) {
                int place = NUMBERS_PER_ITEM * index;
                Status status = Status.of(ended.items[place + 2]);
                if (status == Status.OK) {
                    found.put(keys.get(index), item(values[index], (int) ended.items[place + 1],
                            ended.items[place]));
                } else if (status != Status.NOT_FOUND) {
                    throw FarcacheException.of(status, Native.statusText(status.code()) + ": "
                            + keys.get(index), 0);
                }
            }
            return found;
        }
    }

    static Operation<StoreOutcome> store(StoreMode mode, String key, byte[] value,
            StoreOptions options) {
        return new Store<StoreOutcome>(mode, key, value, null, 0, value.length, options,
                Operations::outcome);
    }

    static Operation<StoreOutcome> store(StoreMode mode, String key, ByteBuffer value,
            StoreOptions options) {
        return store(mode, key, value, options, Operations::outcome);
    }

    static Operation<Void> set(String key, byte[] value, int expirySeconds) {
        StoreOptions options = StoreOptions.expiry(expirySeconds);
        return new Store<Void>(StoreMode.SET, key, value, null, 0, value.length, options,
                Operations::done);
    }

    static Operation<Void> set(String key, ByteBuffer value, int expirySeconds) {
        return store(StoreMode.SET, key, value, StoreOptions.expiry(expirySeconds),
                Operations::done);
    }

    static Operation<Boolean> storeIf(StoreMode mode, String key, byte[] value, int expirySeconds) {
        StoreOptions options = StoreOptions.expiry(expirySeconds);
        return new Store<Boolean>(mode, key, value, null, 0, value.length, options,
                ended -> outcome(ended) == StoreOutcome.STORED);
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

    private static StoreOutcome outcome(Ended ended) {
        if (ended.isDone(Status.NOT_STORED, Status.EXISTS, Status.NOT_FOUND)) {
            return StoreOutcome.STORED;
        }
        switch (ended.status) {
            case EXISTS:
                return StoreOutcome.EXISTS;
            case NOT_FOUND:
                return StoreOutcome.NOT_FOUND;
            default:
                return StoreOutcome.NOT_STORED;
        }
    }

    private static Void done(Ended ended) {
        ended.isDone();
        return null;
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
        Object carryOut(long client, Pending<?> pending, long timeoutMicros, long[] outcome) {
            Native.store(client, pending, mode.ordinal(), key, array, direct, offset, bytes,
                    options.expirySeconds,
                    options.flags, options.cas, timeoutMicros, outcome);
            return null;
        }

        @Override
        T result(Ended ended) {
            return result.apply(ended);
        }
    }

    /** An operation on a key without a value. */
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
        Object carryOut(long client, Pending<?> pending, long timeoutMicros, long[] outcome) {
            Native.change(client, pending, kind, key, delta, initial == null ? 0 : initial,
                    initial != null,
                    expirySeconds, cas, timeoutMicros, outcome);
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
                return outcome(ended);
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

    /** What one server is asked or told. */
    private abstract static class Ask<T> extends Operation<T> {
        private final int kind;
        private final int server;
        private final String group;
        private final int delaySeconds;

        Ask(int kind, int server, String group, int delaySeconds) {
            if (server < 0) {
                throw new FarcacheArgumentException(Status.INVALID_ARGUMENTS,
                        "servers are counted from 0");
            }
            this.kind = kind;
            this.server = server;
            this.group = group;
            this.delaySeconds = delaySeconds;
        }

        @Override
        Object carryOut(long client, Pending<?> pending, long timeoutMicros, long[] outcome) {
            return Native.ask(client, pending, kind, server, group, delaySeconds, timeoutMicros,
                    outcome);
        }
    }

    static Operation<String> version(int server) {
        return new Ask<String>(Native.VERSION, server, null, 0) {
            @Override
            String result(Ended ended) {
                ended.isDone();
                return ((Object[]) ended.value)[0].toString();
            }
        };
    }

    static Operation<Void> noop(int server) {
        return told(Native.NOOP, server, 0);
    }

    static Operation<Void> flush(int server, int delaySeconds) {
        return told(Native.FLUSH, server, delaySeconds);
    }

    private static Operation<Void> told(int kind, int server, int delaySeconds) {
        return new Ask<Void>(kind, server, null, delaySeconds) {
            @Override
            Void result(Ended ended) {
                return done(ended);
            }
        };
    }

    static Operation<Map<String, String>> statistics(int server, String group) {
        return new Ask<Map<String, String>>(Native.STATISTICS, server, group, 0) {
            @Override
            Map<String, String> result(Ended ended) {
                ended.isDone();
                Object[] texts = (Object[]) ended.value;
                Map<String, String> statistics = new LinkedHashMap<>(texts.length);
                for (int index = 0; index + 1 < texts.length; index += 2) {
                    statistics.put((String) texts[index], (String) texts[index + 1]);
                }
                return Collections.unmodifiableMap(statistics);
            }
        };
    }
}
