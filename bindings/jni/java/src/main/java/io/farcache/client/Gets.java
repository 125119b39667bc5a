package io.farcache.client;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;

/** Getting one value: into an array, or into a buffer. */
final class Gets {
    private static final long KEEPS_EXPIRY = -1;

    private Gets() {
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
        Object carryOut(long client, Pending<?> pending, long[] outcome) {
            return Native.get(client, pending, key, touch, null, 0, 0, outcome);
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
            Object carryOut(long client, Pending<?> pending, long[] outcome) {
                return Native.get(client, pending, encoded, KEEPS_EXPIRY, room, position, bytes,
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
}
