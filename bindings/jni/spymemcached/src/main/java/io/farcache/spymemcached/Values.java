package io.farcache.spymemcached;

import io.farcache.client.Item;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import net.spy.memcached.CASValue;
import net.spy.memcached.CachedData;
import net.spy.memcached.transcoders.Transcoder;

/** Values as transcoders make them of items. */
final class Values {
    private Values() {
    }

    /** Null where there is no item. */
    static <T> T decoded(Item item, Transcoder<T> with) {
        return item == null ? null
                : with.decode(new CachedData(item.flags(), item.value(), with.getMaxSize()));
    }

    /** With the token of the item. */
    static <T> CASValue<T> decodedWithCas(Item item, Transcoder<T> with) {
        return item == null ? null : new CASValue<>(item.cas(), decoded(item, with));
    }

    /** Those of several items, each by the transcoder of its key. */
    static <T> Map<String, T> decodedAll(Map<String, Item> items,
            Function<String, Transcoder<T>> with) {
        Map<String, T> values = new LinkedHashMap<>(2 * items.size());
        items.forEach((key, item) -> values.put(key, decoded(item, with.apply(key))));
        return values;
    }

    /** The transcoders of keys, where there is one for each. */
    static <T> Function<String, Transcoder<T>> each(Collection<String> keys,
            Iterator<Transcoder<T>> transcoders) {
        Map<String, Transcoder<T>> byKey = new HashMap<>();
        keys.forEach(key -> byKey.put(key, transcoders.next()));
        return byKey::get;
    }
}
