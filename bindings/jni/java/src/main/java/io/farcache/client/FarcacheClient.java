package io.farcache.client;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Executor;

/**
 * A client of one or several servers. Any number of threads may use it; it is made once and closed
 * at the end.
 *
 * <pre>{@code
 * try (FarcacheClient client = FarcacheClient.connect("127.0.0.1:11211")) {
 *     client.set("greeting", "hello".getBytes(StandardCharsets.UTF_8), 60);
 *     byte[] value = client.get("greeting");
 * }
 * }</pre>
 *
 * <p>The methods here wait, at most for the time limit of an operation. The wait cannot be
 * interrupted: an interrupt stays set, as with the streams of {@code java.io}. {@link #async} has
 * all of them without waiting; waiting for a future can be interrupted.
 *
 * <p>After {@link #close} every call throws {@link FarcacheClosedException}. A client that is
 * forgotten without being closed is closed by the garbage collector, with a warning in the log
 * {@code io.farcache.client}.
 */
public final class FarcacheClient implements AutoCloseable {
    private final Handles handles;
    private final LeakWatch.Watched watched;
    private final Executor executor;
    private final FarcacheAsync async = new FarcacheAsync(this);

    private FarcacheClient(Builder builder) {
        handles = new Handles(builder.servers, builder.options);
        executor = builder.executor;
        watched = LeakWatch.watch(this, handles);
    }

    /**
     * A client with default settings. Nothing is connected before the first operation.
     *
     * @param servers separated by commas: "host", "host:port", "[IPv6]:port", or the path of a unix
     *     socket
     * @return a client, to be closed
     * @throws FarcacheArgumentException the servers cannot be read
     */
    public static FarcacheClient connect(String servers) {
        return builder(servers).build();
    }

    /**
     * Settings for a client to be.
     *
     * @param servers as with {@link #connect}
     * @return a builder
     */
    public static Builder builder(String servers) {
        return new Builder(servers);
    }

    /** Settings for a client to be. */
    public static final class Builder {
        private final String servers;
        private final Map<String, String> options = new TreeMap<>();
        private Executor executor;

        private Builder(String servers) {
            this.servers = Objects.requireNonNull(servers);
        }

        /**
         * What carries operations.
         *
         * @param transport "auto" (default), "fabric" or "tcp"
         * @return this
         */
        public Builder transport(String transport) {
            return option("transport", transport);
        }

        /**
         * How long an operation may take, connecting included; 5 s by default.
         *
         * @param limit in whole milliseconds
         * @return this
         */
        public Builder timeout(Duration limit) {
            return option("timeout-ms", Long.toString(limit.toMillis()));
        }

        /**
         * How long connecting may take; 4 s by default.
         *
         * @param limit in whole milliseconds
         * @return this
         */
        public Builder connectTimeout(Duration limit) {
            return option("connect-timeout-ms", Long.toString(limit.toMillis()));
        }

        /**
         * Where what depends on futures runs; by default in the thread that tells their ends.
         *
         * @param runner takes each end as a task
         * @return this
         */
        public Builder executor(Executor runner) {
            executor = runner;
            return this;
        }

        /**
         * Any option of libfarcache, by its name: docs/c-api.md has them. The variable {@code
         * FARCACHE_OPTIONS} in the environment goes first. {@code progress-thread} is not to be
         * set: the client does.
         *
         * @param name as "spin-us"
         * @param value as "50"
         * @return this
         */
        public Builder option(String name, String value) {
            options.put(Objects.requireNonNull(name), Objects.requireNonNull(value));
            return this;
        }

        /**
         * Makes the client. Nothing is connected before the first operation.
         *
         * @return a client, to be closed
         * @throws FarcacheArgumentException settings that cannot work, servers that cannot be read
         */
        public FarcacheClient build() {
            return new FarcacheClient(this);
        }
    }

    /**
     * The same operations without waiting.
     *
     * @return always the same object
     */
    public FarcacheAsync async() {
        return async;
    }

    <T> T run(Operation<T> operation) {
        long[] outcome = new long[4];
        Object value;
        long client = handles.waiting.enter();
        try {
            value = operation.carryOut(client, null, outcome);
        } finally {
            handles.waiting.leave();
        }
        String message = outcome[0] > Status.EXISTS.code() ? Native.message() : null;
        return operation.result(new Ended(outcome[0], outcome[1], outcome[2], outcome[3], value,
                operation.items(),
                message));
    }

    <T> Pending.Future<T> submit(Operation<T> operation) {
        Pending<T> pending = new Pending<>(operation, this, executor);
        pending.begin(handles.telling());
        return pending.future;
    }

    void giveUp(long operation) {
        NativeClient telling = handles.telling();
        try {
            telling.use(client -> Native.giveUp(client, operation));
        } catch (FarcacheClosedException e) {
            // It has been given up with the client.
        }
    }

    /**
     * Gets a value.
     *
     * @param key 1 to 250 bytes in UTF-8, without spaces and control characters; so everywhere
     * @return the value, null where there is no such key
     * @throws FarcacheException where it failed
     */
    public byte[] get(String key) {
        return run(Gets.get(key));
    }

    /**
     * Gets a value into a buffer, from its position to its limit, neither of which changes. Into a
     * direct buffer it is received without a copy where the network can; it is lent until the
     * operation has ended.
     *
     * @param key the key
     * @param room where it goes
     * @return its length in bytes, -1 where there is no such key
     * @throws FarcacheException where it failed
     */
    public int get(String key, ByteBuffer room) {
        return run(Gets.get(key, room));
    }

    /**
     * Gets a value with its flags and its CAS token.
     *
     * @param key the key
     * @return the item, null where there is no such key
     * @throws FarcacheException where it failed
     */
    public Item getItem(String key) {
        return run(Gets.getItem(key));
    }

    /**
     * Gets a value, and gives its item a new expiry.
     *
     * @param key the key
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return the value, null where there is no such key
     * @throws FarcacheException where it failed
     */
    public byte[] getAndTouch(String key, int expirySeconds) {
        return run(Gets.getAndTouch(key, expirySeconds));
    }

    /**
     * Gets a value with its flags and its CAS token, and gives its item a new expiry.
     *
     * @param key the key
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return the item, null where there is no such key
     * @throws FarcacheException where it failed
     */
    public Item getItemAndTouch(String key, int expirySeconds) {
        return run(Gets.getItemAndTouch(key, expirySeconds));
    }

    /**
     * Gets several values at once: much faster than one by one.
     *
     * @param keys up to 65,536
     * @return those that are there, in the order of the keys
     * @throws FarcacheException where it failed
     */
    public Map<String, byte[]> getAll(Collection<String> keys) {
        return run(MultiGets.getAll(keys));
    }

    /**
     * Gets several values at once, with their flags and CAS tokens.
     *
     * @param keys up to 65,536
     * @return those that are there, in the order of the keys
     * @throws FarcacheException where it failed
     */
    public Map<String, Item> getItems(Collection<String> keys) {
        return run(MultiGets.getItems(keys));
    }

    /**
     * Stores a value in any case.
     *
     * @param key the key
     * @param value copied within the call
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @throws FarcacheException where it failed
     */
    public void set(String key, byte[] value, int expirySeconds) {
        run(Stores.set(key, value, expirySeconds));
    }

    /**
     * Stores what lies between a buffer's position and limit, neither of which changes. From a
     * direct buffer it is sent without a copy; it is lent until the operation has ended.
     *
     * @param key the key
     * @param value what to store
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @throws FarcacheException where it failed
     */
    public void set(String key, ByteBuffer value, int expirySeconds) {
        run(Stores.set(key, value, expirySeconds));
    }

    /**
     * Stores a value with everything that can go with it.
     *
     * @param mode in which case
     * @param key the key
     * @param value copied within the call
     * @param options expiry, flags, CAS token
     * @return what became of it
     * @throws FarcacheException where it failed
     */
    public StoreOutcome store(StoreMode mode, String key, byte[] value, StoreOptions options) {
        return run(Stores.store(mode, key, value, options));
    }

    /**
     * Stores what lies between a buffer's position and limit with everything that can go with it.
     *
     * @param mode in which case
     * @param key the key
     * @param value lent until the operation has ended, if it is direct
     * @param options expiry, flags, CAS token
     * @return what became of it
     * @throws FarcacheException where it failed
     */
    public StoreOutcome store(StoreMode mode, String key, ByteBuffer value, StoreOptions options) {
        return run(Stores.store(mode, key, value, options));
    }

    /**
     * Stores a value where the key is absent.
     *
     * @param key the key
     * @param value what to store
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return whether it was stored
     * @throws FarcacheException where it failed
     */
    public boolean add(String key, byte[] value, int expirySeconds) {
        return run(Stores.storeIf(StoreMode.ADD, key, value, expirySeconds));
    }

    /**
     * Stores a value where the key is present.
     *
     * @param key the key
     * @param value what to store
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return whether it was stored
     * @throws FarcacheException where it failed
     */
    public boolean replace(String key, byte[] value, int expirySeconds) {
        return run(Stores.storeIf(StoreMode.REPLACE, key, value, expirySeconds));
    }

    /**
     * Puts a value behind the one that is there.
     *
     * @param key the key
     * @param value what to append
     * @return whether there was one
     * @throws FarcacheException where it failed
     */
    public boolean append(String key, byte[] value) {
        return run(Stores.storeIf(StoreMode.APPEND, key, value, 0));
    }

    /**
     * Puts a value in front of the one that is there.
     *
     * @param key the key
     * @param value what to prepend
     * @return whether there was one
     * @throws FarcacheException where it failed
     */
    public boolean prepend(String key, byte[] value) {
        return run(Stores.storeIf(StoreMode.PREPEND, key, value, 0));
    }

    /**
     * Gives an item a new expiry.
     *
     * @param key the key
     * @param expirySeconds as {@link StoreOptions#expiry}
     * @return whether there is such a key
     * @throws FarcacheException where it failed
     */
    public boolean touch(String key, int expirySeconds) {
        return run(Changes.touch(key, expirySeconds));
    }

    /**
     * Removes an item.
     *
     * @param key the key
     * @return whether there was such a key
     * @throws FarcacheException where it failed
     */
    public boolean delete(String key) {
        return run(Changes.delete(key));
    }

    /**
     * Removes an item that has a CAS token.
     *
     * @param key the key
     * @param cas the token
     * @return {@link StoreOutcome#STORED} where it was removed
     * @throws FarcacheException where it failed
     */
    public StoreOutcome delete(String key, long cas) {
        return run(Changes.delete(key, cas));
    }

    /**
     * Adds to a decimal number.
     *
     * @param key the key
     * @param delta unsigned
     * @return the new number, unsigned; null where there is no such key
     * @throws FarcacheException where it failed
     */
    public Long increment(String key, long delta) {
        return run(Changes.count(false, key, delta, null, 0));
    }

    /**
     * Adds to a decimal number, or stores one where the key is absent.
     *
     * @param key the key
     * @param delta unsigned
     * @param initial what is stored where the key is absent; unsigned
     * @param expirySeconds of what is stored; as {@link StoreOptions#expiry}
     * @return the new number, unsigned
     * @throws FarcacheException where it failed
     */
    public Long increment(String key, long delta, long initial, int expirySeconds) {
        return run(Changes.count(false, key, delta, initial, expirySeconds));
    }

    /**
     * Subtracts from a decimal number, down to 0.
     *
     * @param key the key
     * @param delta unsigned
     * @return the new number, unsigned; null where there is no such key
     * @throws FarcacheException where it failed
     */
    public Long decrement(String key, long delta) {
        return run(Changes.count(true, key, delta, null, 0));
    }

    /**
     * Subtracts from a decimal number, down to 0, or stores one where the key is absent.
     *
     * @param key the key
     * @param delta unsigned
     * @param initial what is stored where the key is absent; unsigned
     * @param expirySeconds of what is stored; as {@link StoreOptions#expiry}
     * @return the new number, unsigned
     * @throws FarcacheException where it failed
     */
    public Long decrement(String key, long delta, long initial, int expirySeconds) {
        return run(Changes.count(true, key, delta, initial, expirySeconds));
    }

    /**
     * Asks a server for its version.
     *
     * @param server its number, counted from 0; so everywhere
     * @return the version
     * @throws FarcacheException where it failed
     */
    public String version(int server) {
        return run(Questions.version(server));
    }

    /**
     * Asks a server to answer.
     *
     * @param server its number
     * @throws FarcacheException where it failed
     */
    public void noop(int server) {
        run(Questions.noop(server));
    }

    /**
     * Drops every item of a server, now or later.
     *
     * @param server its number
     * @param delaySeconds how much later
     * @throws FarcacheException where it failed
     */
    public void flush(int server, int delaySeconds) {
        run(Questions.flush(server, delaySeconds));
    }

    /**
     * Asks a server for statistics.
     *
     * @param server its number
     * @param group "settings", "fabric", ...; null for the general ones
     * @return names and values
     * @throws FarcacheException where it failed
     */
    public Map<String, String> statistics(int server, String group) {
        return run(Questions.statistics(server, group));
    }

    /**
     * How many servers there are.
     *
     * @return at least 1
     */
    public int servers() {
        return handles.waiting.use(Native::servers);
    }

    /**
     * The number of the server on which a key lives.
     *
     * @param key the key
     * @return counted from 0
     */
    public int serverOfKey(String key) {
        byte[] encoded = Keys.encode(key);
        return handles.waiting.use(
                client -> (int) NativeClient.checked(Native.serverOfKey(client, encoded)));
    }

    /**
     * The name of a server as it was given.
     *
     * @param server its number
     * @return {@code host:port}, with the port also where it was left out, or the path of a unix
     *     socket; empty for a number that none has
     */
    public String serverName(int server) {
        return handles.waiting.use(client -> Native.serverName(client, server));
    }

    /**
     * By which networks of the fabric a server is reached now.
     *
     * @param server its number
     * @return their names; empty where it is reached by a socket or not at all
     */
    public String lanes(int server) {
        return handles.waiting.use(client -> Native.lanes(client, server));
    }

    /**
     * Makes a direct buffer and registers it with the network, for large values.
     *
     * @param bytes how many; at least 1
     * @return the buffer, to be closed; closing the client closes it too
     */
    public RegisteredBuffer allocate(int bytes) {
        return handles.register(ByteBuffer.allocateDirect(bytes));
    }

    /**
     * Files as chunks on the servers of this client. They use the connections and the thread that
     * futures use, so chunks move while nobody waits for them.
     *
     * @param chunkBytes of what is written: 512 KiB; as all three, 0 stands for the usual. With its
     *     key a chunk must be an item that the servers take
     * @param windowBytes that one writer may have under way, or one reader hold: 8 MiB
     * @param inFlightBytesMax the same for all writers and readers together: 64 MiB
     * @return blobs, to be closed
     */
    public FarcacheBlobs blobs(int chunkBytes, long windowBytes, long inFlightBytesMax) {
        return blobs(chunkBytes, windowBytes, inFlightBytesMax, Duration.ZERO);
    }

    /**
     * The same with writers that wait where servers are full or away.
     *
     * @param chunkBytes as above
     * @param windowBytes as above
     * @param inFlightBytesMax as above
     * @param patience how long a writer goes on trying to store what servers have no room for or,
     *     where blobs lie on several servers ({@code blob-redundancy}), what too few of them are
     *     up for
     * @return blobs, to be closed
     */
    public FarcacheBlobs blobs(int chunkBytes, long windowBytes, long inFlightBytesMax,
            Duration patience) {
        return FarcacheBlobs.open(handles.telling(), chunkBytes, windowBytes, inFlightBytesMax,
                patience);
    }

    /**
     * The version of libfarcache.
     *
     * @return as "0.1.0"
     */
    public static String libraryVersion() {
        return Native.version();
    }

    /**
     * Closes the client. Futures of operations under way end with {@link FarcacheClosedException};
     * calls that other threads are waiting in end as they would have, at most at their time limit.
     * May be called again.
     */
    @Override
    public void close() {
        watched.end();
        handles.close();
    }
}
