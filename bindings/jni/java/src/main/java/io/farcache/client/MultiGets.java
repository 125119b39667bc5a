package io.farcache.client;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Getting several values at once. */
final class MultiGets {
    private static final int NUMBERS_PER_ITEM = 3;

    private MultiGets() {
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
        Object carryOut(long client, Pending<?> pending, long[] outcome) {
            return Native.getMany(client, pending, encoded, outcome, items);
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
}
