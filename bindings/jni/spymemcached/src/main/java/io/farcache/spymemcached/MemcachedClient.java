package io.farcache.spymemcached;

import io.farcache.client.FarcacheClient;
import io.farcache.client.FarcacheException;
import io.farcache.client.FarcacheTimeoutException;
import io.farcache.client.Item;
import io.farcache.client.StoreMode;
import io.farcache.client.StoreOptions;
import io.farcache.client.StoreOutcome;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
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
import java.util.function.Supplier;
import java.util.stream.Collectors;
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
    private static final long ABSENT = -1;

    private final FarcacheClient client;
    private final List<SocketAddress> servers;
    private final Transcoder<Object> transcoder;
    private final UnderWay underWay = new UnderWay();
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
        this(FarcacheClient.connect(text(servers)), servers, new SerializingTranscoder());
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
        this.servers = new ArrayList<>(servers);
        this.transcoder = transcoder;
    }

    private static String text(List<InetSocketAddress> servers) {
        return servers.stream().map(MemcachedClient::text).collect(Collectors.joining(","));
    }

    private static String text(InetSocketAddress server) {
        String host = server.getHostString();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + server.getPort();
    }

    /** Waits as spymemcached does. */
    private static <T> T waited(Supplier<T> call) {
        try {
            return call.get();
        } catch (FarcacheTimeoutException e) {
            throw new OperationTimeoutException("Timeout waiting for value: " + e.getMessage(), e);
        }
    }

    private <T, R> CompletableFuture<R> told(CompletableFuture<T> begun, Function<T, R> result) {
        CompletableFuture<R> told = underWay.add(begun).thenApply(result);
        // Giving up what depends on an operation gives up the operation.
        told.whenComplete((value, thrown) -> {
            if (told.isCancelled()) {
                begun.cancel(true);
            }
        });
        return told;
    }

    private static <T> T decoded(Item item, Transcoder<T> with) {
        return item == null ? null
                : with.decode(new CachedData(item.flags(), item.value(), with.getMaxSize()));
    }

    private static <T> CASValue<T> decodedWithCas(Item item, Transcoder<T> with) {
        return item == null ? null : new CASValue<>(item.cas(), decoded(item, with));
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
        return told(begun, outcome -> outcome == StoreOutcome.STORED);
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

    private boolean answers(int server) {
        try {
            client.noop(server);
            return true;
        } catch (FarcacheException e) {
            return false;
        }
    }

    private Collection<SocketAddress> answering(boolean wanted) {
        List<SocketAddress> found = new ArrayList<>();
        for (int server = 0; server < servers.size(); server++) {
            if (answers(server) == wanted) {
                found.add(servers.get(server));
            }
        }
        return found;
    }

    private <T> Map<SocketAddress, T> ofEach(Function<Integer, T> question) {
        Map<SocketAddress, T> answers = new HashMap<>();
        for (int server = 0; server < servers.size(); server++) {
            answers.put(servers.get(server), question.apply(server));
        }
        return answers;
    }

    private <T> Map<String, T> decodedAll(Map<String, Item> items,
            Function<String, Transcoder<T>> with) {
        Map<String, T> values = new LinkedHashMap<>(2 * items.size());
        items.forEach((key, item) -> values.put(key, decoded(item, with.apply(key))));
        return values;
    }

    private static List<String> list(Iterator<String> keys) {
        List<String> all = new ArrayList<>();
        keys.forEachRemaining(all::add);
        return all;
    }

    private <T> BulkFuture<Map<String, T>> bulk(Collection<String> keys,
            Function<String, Transcoder<T>> with) {
        return new Bulk<>(told(client.async().getItems(keys), items -> decodedAll(items, with)));
    }

    private static <T> Function<String, Transcoder<T>> each(Collection<String> keys,
            Iterator<Transcoder<T>> transcoders) {
        Map<String, Transcoder<T>> byKey = new HashMap<>();
        keys.forEach(key -> byKey.put(key, transcoders.next()));
        return byKey::get;
    }

    private static long orAbsent(Long number) {
        return number == null ? ABSENT : number;
    }

    private Long count(boolean down, String key, long by) {
        return waited(() -> down ? client.decrement(key, by) : client.increment(key, by));
    }

    private long count(boolean down, String key, long by, long initial, int expiry) {
        return waited(() -> down ? client.decrement(key, by, initial, expiry)
                : client.increment(key, by, initial, expiry));
    }

    private Future<Long> begin(boolean down, String key, long by) {
        return told(down ? client.async().decrement(key, by) : client.async().increment(key, by),
                MemcachedClient::orAbsent);
    }

    private Future<Long> begin(boolean down, String key, long by, long initial, int expiry) {
        return told(down ? client.async().decrement(key, by, initial, expiry)
                : client.async().increment(key, by, initial, expiry), MemcachedClient::orAbsent);
    }

    @Override
    public Collection<SocketAddress> getAvailableServers() {
        return answering(true);
    }

    @Override
    public Collection<SocketAddress> getUnavailableServers() {
        return answering(false);
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
        return new CasFuture(key, told(begun, MemcachedClient::response), listeners);
    }

    @Override
    public <T> CASResponse cas(String key, long cas, int expiry, T value, Transcoder<T> with) {
        CachedData data = with.encode(value);
        StoreOptions options =
                StoreOptions.expiry(expiry).withFlags(data.getFlags()).withCas(cas);
        return response(waited(() -> client.store(StoreMode.SET, key, data.getData(), options)));
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
        return told(client.async().getItem(key), item -> decoded(item, with));
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
        return told(client.async().getItemAndTouch(key, expiry),
                item -> decodedWithCas(item, with));
    }

    @Override
    public CASValue<Object> getAndTouch(String key, int expiry) {
        return getAndTouch(key, expiry, transcoder);
    }

    @Override
    public <T> CASValue<T> getAndTouch(String key, int expiry, Transcoder<T> with) {
        return decodedWithCas(waited(() -> client.getItemAndTouch(key, expiry)), with);
    }

    @Override
    public <T> Future<CASValue<T>> asyncGets(String key, Transcoder<T> with) {
        return told(client.async().getItem(key), item -> decodedWithCas(item, with));
    }

    @Override
    public Future<CASValue<Object>> asyncGets(String key) {
        return asyncGets(key, transcoder);
    }

    @Override
    public <T> CASValue<T> gets(String key, Transcoder<T> with) {
        return decodedWithCas(waited(() -> client.getItem(key)), with);
    }

    @Override
    public CASValue<Object> gets(String key) {
        return gets(key, transcoder);
    }

    @Override
    public <T> T get(String key, Transcoder<T> with) {
        return decoded(waited(() -> client.getItem(key)), with);
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
        return bulk(keys, each(keys, with));
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
        return decodedAll(waited(() -> client.getItems(keys)), key -> with);
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
        return told(client.async().touch(key, expiry), done -> done);
    }

    @Override
    public Map<SocketAddress, String> getVersions() {
        return waited(() -> ofEach(client::version));
    }

    @Override
    public Map<SocketAddress, Map<String, String>> getStats() {
        return getStats(null);
    }

    @Override
    public Map<SocketAddress, Map<String, String>> getStats(String group) {
        return waited(() -> ofEach(server -> client.statistics(server, group)));
    }

    @Override
    public long incr(String key, long by) {
        return orAbsent(count(false, key, by));
    }

    @Override
    public long incr(String key, long by, long initial, int expiry) {
        return count(false, key, by, initial, expiry);
    }

    @Override
    public long incr(String key, long by, long initial) {
        return count(false, key, by, initial, 0);
    }

    @Override
    public Future<Long> asyncIncr(String key, long by) {
        return begin(false, key, by);
    }

    @Override
    public Future<Long> asyncIncr(String key, long by, long initial, int expiry) {
        return begin(false, key, by, initial, expiry);
    }

    @Override
    public Future<Long> asyncIncr(String key, long by, long initial) {
        return begin(false, key, by, initial, 0);
    }

    @Override
    public long incr(String key, int by) {
        return orAbsent(count(false, key, by));
    }

    @Override
    public long incr(String key, int by, long initial, int expiry) {
        return count(false, key, by, initial, expiry);
    }

    @Override
    public long incr(String key, int by, long initial) {
        return count(false, key, by, initial, 0);
    }

    @Override
    public Future<Long> asyncIncr(String key, int by) {
        return begin(false, key, by);
    }

    @Override
    public Future<Long> asyncIncr(String key, int by, long initial, int expiry) {
        return begin(false, key, by, initial, expiry);
    }

    @Override
    public Future<Long> asyncIncr(String key, int by, long initial) {
        return begin(false, key, by, initial, 0);
    }

    @Override
    public long decr(String key, long by) {
        return orAbsent(count(true, key, by));
    }

    @Override
    public long decr(String key, long by, long initial, int expiry) {
        return count(true, key, by, initial, expiry);
    }

    @Override
    public long decr(String key, long by, long initial) {
        return count(true, key, by, initial, 0);
    }

    @Override
    public Future<Long> asyncDecr(String key, long by) {
        return begin(true, key, by);
    }

    @Override
    public Future<Long> asyncDecr(String key, long by, long initial, int expiry) {
        return begin(true, key, by, initial, expiry);
    }

    @Override
    public Future<Long> asyncDecr(String key, long by, long initial) {
        return begin(true, key, by, initial, 0);
    }

    @Override
    public long decr(String key, int by) {
        return orAbsent(count(true, key, by));
    }

    @Override
    public long decr(String key, int by, long initial, int expiry) {
        return count(true, key, by, initial, expiry);
    }

    @Override
    public long decr(String key, int by, long initial) {
        return count(true, key, by, initial, 0);
    }

    @Override
    public Future<Long> asyncDecr(String key, int by) {
        return begin(true, key, by);
    }

    @Override
    public Future<Long> asyncDecr(String key, int by, long initial, int expiry) {
        return begin(true, key, by, initial, expiry);
    }

    @Override
    public Future<Long> asyncDecr(String key, int by, long initial) {
        return begin(true, key, by, initial, 0);
    }

    @Override
    public Future<Boolean> delete(String key) {
        return told(client.async().delete(key), done -> done);
    }

    @Override
    public Future<Boolean> delete(String key, long cas) {
        return told(client.async().delete(key, cas), outcome -> outcome == StoreOutcome.STORED);
    }

    @Override
    public Future<Boolean> flush(int delaySeconds) {
        CompletableFuture<?>[] each = new CompletableFuture<?>[servers.size()];
        for (int server = 0; server < each.length; server++) {
            each[server] = client.async().flush(server, delaySeconds);
        }
        return told(CompletableFuture.allOf(each), done -> true);
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
        boolean ended = time <= 0 || underWay.awaitNone(time, unit);
        client.close();
        listeners.shutdown();
        return ended;
    }

    @Override
    public boolean waitForQueues(long time, TimeUnit unit) {
        return underWay.awaitNone(time, unit);
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
