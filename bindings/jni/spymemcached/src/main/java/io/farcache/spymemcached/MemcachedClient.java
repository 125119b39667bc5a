package io.farcache.spymemcached;

import io.farcache.client.FarcacheClient;
import io.farcache.client.FarcacheException;
import io.farcache.client.StoreMode;
import io.farcache.client.StoreOptions;
import io.farcache.client.StoreOutcome;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import net.spy.memcached.BroadcastOpFactory;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.CachedData;
import net.spy.memcached.ConnectionObserver;
import net.spy.memcached.MemcachedClientIF;
import net.spy.memcached.MemcachedNode;
import net.spy.memcached.NodeLocator;
import net.spy.memcached.OperationTimeoutException;
import net.spy.memcached.internal.BulkFuture;
import net.spy.memcached.internal.OperationFuture;
import net.spy.memcached.transcoders.SerializingTranscoder;
import net.spy.memcached.transcoders.Transcoder;

/**
 * spymemcached's client on top of Farcache's: values are encoded by spymemcached's transcoders, so
 * both understand what the other one stores. A program changes its import, and what it makes.
 *
 * <p>With several servers a key lives where libmemcached puts it ({@code modula}), which is not
 * where spymemcached's default puts it. Of what spymemcached's own connections are made
 * (locators, observers, broadcasts) there is nothing here:
 * {@link UnsupportedOperationException}.
 *
 * <p>A call that waits throws {@link OperationTimeoutException} at its time limit, and
 * {@link FarcacheException} for everything else. Futures end with these as the cause.
 */
public class MemcachedClient implements MemcachedClientIF {
    private final FarcacheClient client;
    private final Servers servers;
    private final Transcoder<Object> transcoder;
    private final Calls calls = new Calls();
    private final Counter increment;
    private final Counter decrement;
    private final ExecutorService listeners = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "farcache-listeners");
        thread.setDaemon(true);
        return thread;
    });

    /**
     * A client with default settings.
     *
     * @param servers one or several
     */
    public MemcachedClient(InetSocketAddress... servers) {
        this(Arrays.asList(servers));
    }

    /**
     * A client with default settings.
     *
     * @param servers one or several
     */
    public MemcachedClient(List<InetSocketAddress> servers) {
        this(FarcacheClient.connect(Servers.text(servers)), servers, new SerializingTranscoder());
    }

    /**
     * A client with settings of one's own.
     *
     * @param client closed by {@link #shutdown}
     * @param servers those of the client, in its order
     * @param transcoder for calls without one
     */
    public MemcachedClient(FarcacheClient client, List<InetSocketAddress> servers,
            Transcoder<Object> transcoder) {
        this.client = client;
        this.servers = new Servers(client, servers);
        this.increment = new Counter(false, client, calls);
        this.decrement = new Counter(true, client, calls);
        this.transcoder = transcoder;
    }

    private <T> CompletableFuture<StoreOutcome> begin(StoreMode mode, String key, int expiry,
            T value, long cas, Transcoder<T> with) {
        CachedData data = with.encode(value);
        StoreOptions options =
                StoreOptions.expiry(expiry).withFlags(data.getFlags()).withCas(cas);
        return client.async().store(mode, key, data.getData(), options);
    }

    private <T> Future<Boolean> store(StoreMode mode, String key, int expiry, T value, long cas,
            Transcoder<T> with) {
        CompletableFuture<StoreOutcome> begun = begin(mode, key, expiry, value, cas, with);
        return calls.told(begun, outcome -> outcome == StoreOutcome.STORED);
    }

    private static CASResponse response(StoreOutcome outcome) {
        switch (outcome) {
            case STORED:
                return CASResponse.OK;
            case EXISTS:
                return CASResponse.EXISTS;
            default:
                return CASResponse.NOT_FOUND;
        }
    }

    private static UnsupportedOperationException unsupported() {
        return new UnsupportedOperationException("this is a part of spymemcached's connections");
    }

    private static List<String> list(Iterator<String> keys) {
        List<String> all = new ArrayList<>();
        keys.forEachRemaining(all::add);
        return all;
    }

    private <T> BulkFuture<Map<String, T>> bulk(Collection<String> keys,
            Function<String, Transcoder<T>> with) {
        return new Bulk<>(calls.told(client.async().getItems(keys),
                items -> Values.decodedAll(items, with)));
    }

    @Override
    public Collection<SocketAddress> getAvailableServers() {
        return servers.answering(true);
    }

    @Override
    public Collection<SocketAddress> getUnavailableServers() {
        return servers.answering(false);
    }

    @Override
    public Transcoder<Object> getTranscoder() {
        return transcoder;
    }

    @Override
    public NodeLocator getNodeLocator() {
        throw unsupported();
    }

    @Override
    public Future<Boolean> append(long cas, String key, Object value) {
        return append(cas, key, value, transcoder);
    }

    @Override
    public Future<Boolean> append(String key, Object value) {
        return append(0, key, value, transcoder);
    }

    @Override
    public <T> Future<Boolean> append(long cas, String key, T value, Transcoder<T> with) {
        return store(StoreMode.APPEND, key, 0, value, cas, with);
    }

    @Override
    public <T> Future<Boolean> append(String key, T value, Transcoder<T> with) {
        return append(0, key, value, with);
    }

    @Override
    public Future<Boolean> prepend(long cas, String key, Object value) {
        return prepend(cas, key, value, transcoder);
    }

    @Override
    public Future<Boolean> prepend(String key, Object value) {
        return prepend(0, key, value, transcoder);
    }

    @Override
    public <T> Future<Boolean> prepend(long cas, String key, T value, Transcoder<T> with) {
        return store(StoreMode.PREPEND, key, 0, value, cas, with);
    }

    @Override
    public <T> Future<Boolean> prepend(String key, T value, Transcoder<T> with) {
        return prepend(0, key, value, with);
    }

    @Override
    public <T> Future<CASResponse> asyncCAS(String key, long cas, T value, Transcoder<T> with) {
        return asyncCAS(key, cas, 0, value, with);
    }

    @Override
    public Future<CASResponse> asyncCAS(String key, long cas, Object value) {
        return asyncCAS(key, cas, 0, value, transcoder);
    }

    @Override
    public Future<CASResponse> asyncCAS(String key, long cas, int expiry, Object value) {
        return asyncCAS(key, cas, expiry, value, transcoder);
    }

    @Override
    public <T> OperationFuture<CASResponse> asyncCAS(String key, long cas, int expiry, T value,
            Transcoder<T> with) {
        CompletableFuture<StoreOutcome> begun =
                begin(StoreMode.SET, key, expiry, value, cas, with);
        return new CasFuture(key, calls.told(begun, MemcachedClient::response), listeners);
    }

    @Override
    public <T> CASResponse cas(String key, long cas, int expiry, T value, Transcoder<T> with) {
        CachedData data = with.encode(value);
        StoreOptions options =
                StoreOptions.expiry(expiry).withFlags(data.getFlags()).withCas(cas);
        return response(Calls.waited(
                () -> client.store(StoreMode.SET, key, data.getData(), options)));
    }

    @Override
    public CASResponse cas(String key, long cas, Object value) {
        return cas(key, cas, 0, value, transcoder);
    }

    @Override
    public CASResponse cas(String key, long cas, int expiry, Object value) {
        return cas(key, cas, expiry, value, transcoder);
    }

    @Override
    public <T> CASResponse cas(String key, long cas, T value, Transcoder<T> with) {
        return cas(key, cas, 0, value, with);
    }

    @Override
    public <T> Future<Boolean> add(String key, int expiry, T value, Transcoder<T> with) {
        return store(StoreMode.ADD, key, expiry, value, 0, with);
    }

    @Override
    public Future<Boolean> add(String key, int expiry, Object value) {
        return add(key, expiry, value, transcoder);
    }

    @Override
    public <T> Future<Boolean> set(String key, int expiry, T value, Transcoder<T> with) {
        return store(StoreMode.SET, key, expiry, value, 0, with);
    }

    @Override
    public Future<Boolean> set(String key, int expiry, Object value) {
        return set(key, expiry, value, transcoder);
    }

    @Override
    public <T> Future<Boolean> replace(String key, int expiry, T value, Transcoder<T> with) {
        return store(StoreMode.REPLACE, key, expiry, value, 0, with);
    }

    @Override
    public Future<Boolean> replace(String key, int expiry, Object value) {
        return replace(key, expiry, value, transcoder);
    }

    @Override
    public <T> Future<T> asyncGet(String key, Transcoder<T> with) {
        return calls.told(client.async().getItem(key), item -> Values.decoded(item, with));
    }

    @Override
    public Future<Object> asyncGet(String key) {
        return asyncGet(key, transcoder);
    }

    @Override
    public Future<CASValue<Object>> asyncGetAndTouch(String key, int expiry) {
        return asyncGetAndTouch(key, expiry, transcoder);
    }

    @Override
    public <T> Future<CASValue<T>> asyncGetAndTouch(String key, int expiry, Transcoder<T> with) {
        return calls.told(client.async().getItemAndTouch(key, expiry),
                item -> Values.decodedWithCas(item, with));
    }

    @Override
    public CASValue<Object> getAndTouch(String key, int expiry) {
        return getAndTouch(key, expiry, transcoder);
    }

    @Override
    public <T> CASValue<T> getAndTouch(String key, int expiry, Transcoder<T> with) {
        return Values.decodedWithCas(Calls.waited(() -> client.getItemAndTouch(key, expiry)), with);
    }

    @Override
    public <T> Future<CASValue<T>> asyncGets(String key, Transcoder<T> with) {
        return calls.told(client.async().getItem(key), item -> Values.decodedWithCas(item, with));
    }

    @Override
    public Future<CASValue<Object>> asyncGets(String key) {
        return asyncGets(key, transcoder);
    }

    @Override
    public <T> CASValue<T> gets(String key, Transcoder<T> with) {
        return Values.decodedWithCas(Calls.waited(() -> client.getItem(key)), with);
    }

    @Override
    public CASValue<Object> gets(String key) {
        return gets(key, transcoder);
    }

    @Override
    public <T> T get(String key, Transcoder<T> with) {
        return Values.decoded(Calls.waited(() -> client.getItem(key)), with);
    }

    @Override
    public Object get(String key) {
        return get(key, transcoder);
    }

    @Override
    public <T> BulkFuture<Map<String, T>> asyncGetBulk(Iterator<String> keys,
            Iterator<Transcoder<T>> with) {
        return asyncGetBulk(list(keys), with);
    }

    @Override
    public <T> BulkFuture<Map<String, T>> asyncGetBulk(Collection<String> keys,
            Iterator<Transcoder<T>> with) {
        return bulk(keys, Values.each(keys, with));
    }

    @Override
    public <T> BulkFuture<Map<String, T>> asyncGetBulk(Iterator<String> keys, Transcoder<T> with) {
        return asyncGetBulk(list(keys), with);
    }

    @Override
    public <T> BulkFuture<Map<String, T>> asyncGetBulk(Collection<String> keys,
            Transcoder<T> with) {
        return bulk(keys, key -> with);
    }

    @Override
    public BulkFuture<Map<String, Object>> asyncGetBulk(Iterator<String> keys) {
        return asyncGetBulk(keys, transcoder);
    }

    @Override
    public BulkFuture<Map<String, Object>> asyncGetBulk(Collection<String> keys) {
        return asyncGetBulk(keys, transcoder);
    }

    @Override
    public <T> BulkFuture<Map<String, T>> asyncGetBulk(Transcoder<T> with, String... keys) {
        return asyncGetBulk(Arrays.asList(keys), with);
    }

    @Override
    public BulkFuture<Map<String, Object>> asyncGetBulk(String... keys) {
        return asyncGetBulk(Arrays.asList(keys), transcoder);
    }

    @Override
    public <T> Map<String, T> getBulk(Iterator<String> keys, Transcoder<T> with) {
        return getBulk(list(keys), with);
    }

    @Override
    public <T> Map<String, T> getBulk(Collection<String> keys, Transcoder<T> with) {
        return Values.decodedAll(Calls.waited(() -> client.getItems(keys)), key -> with);
    }

    @Override
    public Map<String, Object> getBulk(Iterator<String> keys) {
        return getBulk(list(keys), transcoder);
    }

    @Override
    public Map<String, Object> getBulk(Collection<String> keys) {
        return getBulk(keys, transcoder);
    }

    @Override
    public <T> Map<String, T> getBulk(Transcoder<T> with, String... keys) {
        return getBulk(Arrays.asList(keys), with);
    }

    @Override
    public Map<String, Object> getBulk(String... keys) {
        return getBulk(Arrays.asList(keys), transcoder);
    }

    @Override
    public <T> Future<Boolean> touch(String key, int expiry, Transcoder<T> with) {
        return touch(key, expiry);
    }

    @Override
    public <T> Future<Boolean> touch(String key, int expiry) {
        return calls.told(client.async().touch(key, expiry), done -> done);
    }

    @Override
    public Map<SocketAddress, String> getVersions() {
        return Calls.waited(() -> servers.ofEach(client::version));
    }

    @Override
    public Map<SocketAddress, Map<String, String>> getStats() {
        return getStats(null);
    }

    @Override
    public Map<SocketAddress, Map<String, String>> getStats(String group) {
        return Calls.waited(() -> servers.ofEach(server -> client.statistics(server, group)));
    }

    @Override
    public long incr(String key, long by) {
        return increment.count(key, by);
    }

    @Override
    public long incr(String key, long by, long initial, int expiry) {
        return increment.count(key, by, initial, expiry);
    }

    @Override
    public long incr(String key, long by, long initial) {
        return increment.count(key, by, initial, 0);
    }

    @Override
    public Future<Long> asyncIncr(String key, long by) {
        return increment.begin(key, by);
    }

    @Override
    public Future<Long> asyncIncr(String key, long by, long initial, int expiry) {
        return increment.begin(key, by, initial, expiry);
    }

    @Override
    public Future<Long> asyncIncr(String key, long by, long initial) {
        return increment.begin(key, by, initial, 0);
    }

    @Override
    public long incr(String key, int by) {
        return increment.count(key, by);
    }

    @Override
    public long incr(String key, int by, long initial, int expiry) {
        return increment.count(key, by, initial, expiry);
    }

    @Override
    public long incr(String key, int by, long initial) {
        return increment.count(key, by, initial, 0);
    }

    @Override
    public Future<Long> asyncIncr(String key, int by) {
        return increment.begin(key, by);
    }

    @Override
    public Future<Long> asyncIncr(String key, int by, long initial, int expiry) {
        return increment.begin(key, by, initial, expiry);
    }

    @Override
    public Future<Long> asyncIncr(String key, int by, long initial) {
        return increment.begin(key, by, initial, 0);
    }

    @Override
    public long decr(String key, long by) {
        return decrement.count(key, by);
    }

    @Override
    public long decr(String key, long by, long initial, int expiry) {
        return decrement.count(key, by, initial, expiry);
    }

    @Override
    public long decr(String key, long by, long initial) {
        return decrement.count(key, by, initial, 0);
    }

    @Override
    public Future<Long> asyncDecr(String key, long by) {
        return decrement.begin(key, by);
    }

    @Override
    public Future<Long> asyncDecr(String key, long by, long initial, int expiry) {
        return decrement.begin(key, by, initial, expiry);
    }

    @Override
    public Future<Long> asyncDecr(String key, long by, long initial) {
        return decrement.begin(key, by, initial, 0);
    }

    @Override
    public long decr(String key, int by) {
        return decrement.count(key, by);
    }

    @Override
    public long decr(String key, int by, long initial, int expiry) {
        return decrement.count(key, by, initial, expiry);
    }

    @Override
    public long decr(String key, int by, long initial) {
        return decrement.count(key, by, initial, 0);
    }

    @Override
    public Future<Long> asyncDecr(String key, int by) {
        return decrement.begin(key, by);
    }

    @Override
    public Future<Long> asyncDecr(String key, int by, long initial, int expiry) {
        return decrement.begin(key, by, initial, expiry);
    }

    @Override
    public Future<Long> asyncDecr(String key, int by, long initial) {
        return decrement.begin(key, by, initial, 0);
    }

    @Override
    public Future<Boolean> delete(String key) {
        return calls.told(client.async().delete(key), done -> done);
    }

    @Override
    public Future<Boolean> delete(String key, long cas) {
        return calls.told(client.async().delete(key, cas),
                outcome -> outcome == StoreOutcome.STORED);
    }

    @Override
    public Future<Boolean> flush(int delaySeconds) {
        return calls.told(servers.flush(delaySeconds), done -> true);
    }

    @Override
    public Future<Boolean> flush() {
        return flush(0);
    }

    @Override
    public void shutdown() {
        shutdown(-1, TimeUnit.MILLISECONDS);
    }

    /** Waits for what is under way where a time is given, and closes the client. */
    @Override
    public boolean shutdown(long time, TimeUnit unit) {
        boolean ended = time <= 0 || calls.awaitNone(time, unit);
        client.close();
        listeners.shutdown();
        return ended;
    }

    @Override
    public boolean waitForQueues(long time, TimeUnit unit) {
        return calls.awaitNone(time, unit);
    }

    @Override
    public boolean addObserver(ConnectionObserver observer) {
        throw unsupported();
    }

    @Override
    public boolean removeObserver(ConnectionObserver observer) {
        throw unsupported();
    }

    @Override
    public CountDownLatch broadcastOp(BroadcastOpFactory factory) {
        throw unsupported();
    }

    @Override
    public CountDownLatch broadcastOp(BroadcastOpFactory factory, Collection<MemcachedNode> nodes) {
        throw unsupported();
    }

    @Override
    public Set<String> listSaslMechanisms() {
        throw unsupported();
    }
}
