package io.farcache.client;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A client's operations without waiting: each method begins one and returns its future. Got from
 * {@link FarcacheClient#async}.
 *
 * <p>Operations that are under way have no order among them. What is begun together travels
 * together: begin first, wait later. Arguments that cannot be (a bad key) are thrown at once; every
 * other failure is the future's, a {@link FarcacheException}, in bounded time: an operation's time
 * limit, or when the client is closed.
 *
 * <p>What depends on a future ({@code thenApply}, ...) runs in the one thread that tells all ends,
 * unless it was complete already, or the builder was given an {@link
 * FarcacheClient.Builder#executor executor}. That thread must not wait for another future: use an
 * executor where that may happen.
 *
 * <p>{@code cancel} gives an operation up: it may still take effect at the server. Where a direct
 * buffer is lent to it, cancelling waits until the network has let go of that, at most for the
 * operation's time limit.
 */
public final class FarcacheAsync {
    private final FarcacheClient client;

    FarcacheAsync(FarcacheClient client) {
        this.client = client;
    }

    /**
     * Gets a value.
     *
     * @param key 1 to 250 bytes in UTF-8, without spaces and control characters; so everywhere
     * @return a future of the value, null where there is no such key
     */
    public CompletableFuture<byte[]> get(String key) {
        return client.submit(Gets.get(key));
    }

    /**
     * Gets a value into a buffer, from its position to its limit, neither of which changes. Into a
     * direct buffer it is received without a copy where the network can; it is lent until the
     * operation has ended.
     *
     * @param key the key
     * @param room where it goes
     * @return a future of its length in bytes, -1 where there is no such key
     */
    public CompletableFuture<Integer> get(String key, ByteBuffer room) {
        return client.submit(Gets.get(key, room));
    }

    /**
     * Gets a value with its flags and its CAS token.
     *
     * @param key the key
     * @return a future of the item, null where there is no such key
     */
    public CompletableFuture<Item> getItem(String key) {
        return client.submit(Gets.getItem(key));
    }

    /**
     * Gets a value, and gives its item a new expiry.
     *
     * @param key the key
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return a future of the value, null where there is no such key
     */
    public CompletableFuture<byte[]> getAndTouch(String key, int expirySeconds) {
        return client.submit(Gets.getAndTouch(key, expirySeconds));
    }

    /**
     * Gets a value with its flags and its CAS token, and gives its item a new expiry.
     *
     * @param key the key
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return a future of the item, null where there is no such key
     */
    public CompletableFuture<Item> getItemAndTouch(String key, int expirySeconds) {
        return client.submit(Gets.getItemAndTouch(key, expirySeconds));
    }

    /**
     * Gets several values at once: much faster than one by one.
     *
     * @param keys up to 65,536
     * @return a future of those that are there, in the order of the keys
     */
    public CompletableFuture<Map<String, byte[]>> getAll(Collection<String> keys) {
        return client.submit(MultiGets.getAll(keys));
    }

    /**
     * Gets several values at once, with their flags and CAS tokens.
     *
     * @param keys up to 65,536
     * @return a future of those that are there, in the order of the keys
     */
    public CompletableFuture<Map<String, Item>> getItems(Collection<String> keys) {
        return client.submit(MultiGets.getItems(keys));
    }

    /**
     * Stores a value in any case.
     *
     * @param key the key
     * @param value copied within the call
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return a future of the end
     */
    public CompletableFuture<Void> set(String key, byte[] value, int expirySeconds) {
        return client.submit(Stores.set(key, value, expirySeconds));
    }

    /**
     * Stores what lies between a buffer's position and limit, neither of which changes. From a
     * direct buffer it is sent without a copy; it is lent until the operation has ended.
     *
     * @param key the key
     * @param value what to store
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return a future of the end
     */
    public CompletableFuture<Void> set(String key, ByteBuffer value, int expirySeconds) {
        return client.submit(Stores.set(key, value, expirySeconds));
    }

    /**
     * Stores a value with everything that can go with it.
     *
     * @param mode in which case
     * @param key the key
     * @param value copied within the call
     * @param options expiry, flags, CAS token
     * @return a future of what became of it
     */
    public CompletableFuture<StoreOutcome> store(StoreMode mode, String key, byte[] value,
            StoreOptions options) {
        return client.submit(Stores.store(mode, key, value, options));
    }

    /**
     * Stores what lies between a buffer's position and limit with everything that can go with it.
     *
     * @param mode in which case
     * @param key the key
     * @param value lent until the operation has ended, if it is direct
     * @param options expiry, flags, CAS token
     * @return a future of what became of it
     */
    public CompletableFuture<StoreOutcome> store(StoreMode mode, String key, ByteBuffer value,
            StoreOptions options) {
        return client.submit(Stores.store(mode, key, value, options));
    }

    /**
     * Stores a value where the key is absent.
     *
     * @param key the key
     * @param value what to store
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return a future of whether it was stored
     */
    public CompletableFuture<Boolean> add(String key, byte[] value, int expirySeconds) {
        return client.submit(Stores.storeIf(StoreMode.ADD, key, value, expirySeconds));
    }

    /**
     * Stores a value where the key is present.
     *
     * @param key the key
     * @param value what to store
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return a future of whether it was stored
     */
    public CompletableFuture<Boolean> replace(String key, byte[] value, int expirySeconds) {
        return client.submit(Stores.storeIf(StoreMode.REPLACE, key, value, expirySeconds));
    }

    /**
     * Puts a value behind the one that is there.
     *
     * @param key the key
     * @param value what to append
     * @return a future of whether there was one
     */
    public CompletableFuture<Boolean> append(String key, byte[] value) {
        return client.submit(Stores.storeIf(StoreMode.APPEND, key, value, 0));
    }

    /**
     * Puts a value in front of the one that is there.
     *
     * @param key the key
     * @param value what to prepend
     * @return a future of whether there was one
     */
    public CompletableFuture<Boolean> prepend(String key, byte[] value) {
        return client.submit(Stores.storeIf(StoreMode.PREPEND, key, value, 0));
    }

    /**
     * Gives an item a new expiry.
     *
     * @param key the key
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return a future of whether there is such a key
     */
    public CompletableFuture<Boolean> touch(String key, int expirySeconds) {
        return client.submit(Changes.touch(key, expirySeconds));
    }

    /**
     * Removes an item.
     *
     * @param key the key
     * @return a future of whether there was such a key
     */
    public CompletableFuture<Boolean> delete(String key) {
        return client.submit(Changes.delete(key));
    }

    /**
     * Removes an item that has a CAS token.
     *
     * @param key the key
     * @param cas the token
     * @return a future of {@link StoreOutcome#STORED} where it was removed
     */
    public CompletableFuture<StoreOutcome> delete(String key, long cas) {
        return client.submit(Changes.delete(key, cas));
    }

    /**
     * Adds to a decimal number.
     *
     * @param key the key
     * @param delta unsigned
     * @return a future of the new number, unsigned; null where there is no such key
     */
    public CompletableFuture<Long> increment(String key, long delta) {
        return client.submit(Changes.count(false, key, delta, null, 0));
    }

    /**
     * Adds to a decimal number, or stores one where the key is absent.
     *
     * @param key the key
     * @param delta unsigned
     * @param initial what is stored where the key is absent; unsigned
     * @param expirySeconds of what is stored; as {@link StoreOptions#expiry}
     * @return a future of the new number, unsigned
     */
    public CompletableFuture<Long> increment(String key, long delta, long initial,
            int expirySeconds) {
        return client.submit(Changes.count(false, key, delta, initial, expirySeconds));
    }

    /**
     * Subtracts from a decimal number, down to 0.
     *
     * @param key the key
     * @param delta unsigned
     * @return a future of the new number, unsigned; null where there is no such key
     */
    public CompletableFuture<Long> decrement(String key, long delta) {
        return client.submit(Changes.count(true, key, delta, null, 0));
    }

    /**
     * Subtracts from a decimal number, down to 0, or stores one where the key is absent.
     *
     * @param key the key
     * @param delta unsigned
     * @param initial what is stored where the key is absent; unsigned
     * @param expirySeconds of what is stored; as {@link StoreOptions#expiry}
     * @return a future of the new number, unsigned
     */
    public CompletableFuture<Long> decrement(String key, long delta, long initial,
            int expirySeconds) {
        return client.submit(Changes.count(true, key, delta, initial, expirySeconds));
    }

    /**
     * Asks a server for its version.
     *
     * @param server its number, counted from 0; so everywhere
     * @return a future of the version
     */
    public CompletableFuture<String> version(int server) {
        return client.submit(Questions.version(server));
    }

    /**
     * Asks a server to answer.
     *
     * @param server its number
     * @return a future of the end
     */
    public CompletableFuture<Void> noop(int server) {
        return client.submit(Questions.noop(server));
    }

    /**
     * Drops every item of a server, now or later.
     *
     * @param server its number
     * @param delaySeconds how much later
     * @return a future of the end
     */
    public CompletableFuture<Void> flush(int server, int delaySeconds) {
        return client.submit(Questions.flush(server, delaySeconds));
    }

    /**
     * Asks a server for statistics.
     *
     * @param server its number
     * @param group "settings", "fabric", ...; null for the general ones
     * @return a future of names and values
     */
    public CompletableFuture<Map<String, String>> statistics(int server, String group) {
        return client.submit(Questions.statistics(server, group));
    }
}
