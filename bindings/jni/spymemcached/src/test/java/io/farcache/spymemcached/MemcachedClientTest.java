package io.farcache.spymemcached;

import io.farcache.client.FarcacheClient;
import io.farcache.client.TestServer;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClientIF;
import net.spy.memcached.OperationTimeoutException;
import net.spy.memcached.internal.BulkFuture;
import net.spy.memcached.transcoders.IntegerTranscoder;
import net.spy.memcached.transcoders.SerializingTranscoder;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The same calls with spymemcached and with ours, against the same server. */
class MemcachedClientTest {
    private static TestServer server;
    private static MemcachedClientIF spys;
    private static MemcachedClientIF ours;

    @BeforeAll
    static void start() throws Exception {
        server = new TestServer();
        List<InetSocketAddress> addresses = addresses(server);
        long patience = TimeUnit.SECONDS.toMillis(TestServer.PATIENCE_SECONDS);
        spys = new net.spy.memcached.MemcachedClient(new ConnectionFactoryBuilder()
                .setProtocol(Protocol.BINARY).setOpTimeout(patience).build(), addresses);
        ours = new MemcachedClient(FarcacheClient.builder(server.address())
                .timeout(Duration.ofMillis(patience)).build(), addresses,
                new SerializingTranscoder());
    }

    @AfterAll
    static void stop() {
        spys.shutdown();
        ours.shutdown();
        server.close();
    }

    private static List<InetSocketAddress> addresses(TestServer server) {
        return Collections.singletonList(new InetSocketAddress("127.0.0.1", server.port()));
    }

    private static MemcachedClientIF client(String whose) {
        return whose.equals("spymemcached") ? spys : ours;
    }

    private static <T> T soon(Future<T> future) throws Exception {
        return future.get(TestServer.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @ValueSource(strings = {"spymemcached", "farcache"})
    void storingAndGetting(String whose) throws Exception {
        MemcachedClientIF client = client(whose);
        String key = whose + "-store";
        assertNull(client.get(key));
        assertFalse(soon(client.replace(key, 0, "x")));
        assertTrue(soon(client.add(key, 0, "b")));
        assertFalse(soon(client.add(key, 0, "x")));
        assertTrue(soon(client.append(key, "c")));
        assertTrue(soon(client.prepend(key, "a")));
        assertEquals("abc", client.get(key));
        assertTrue(soon(client.set(key, 1000, Arrays.asList(1, 2))));
        assertEquals(Arrays.asList(1, 2), soon(client.asyncGet(key)));
        assertTrue(soon(client.touch(key, 2000)));
        assertTrue(soon(client.delete(key)));
        assertFalse(soon(client.delete(key)));
        assertFalse(soon(client.append(key, "c")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"spymemcached", "farcache"})
    void comparingAndSwapping(String whose) throws Exception {
        MemcachedClientIF client = client(whose);
        String key = whose + "-cas";
        assertEquals(CASResponse.NOT_FOUND, client.cas(key, 12345, "x"));
        assertTrue(soon(client.set(key, 0, "one")));
        CASValue<Object> value = client.gets(key);
        assertEquals("one", value.getValue());
        assertEquals(CASResponse.OK, client.cas(key, value.getCas(), "two"));
        assertEquals(CASResponse.EXISTS, client.cas(key, value.getCas(), "three"));
        assertEquals(CASResponse.EXISTS,
                soon(client.asyncCAS(key, value.getCas(), 0, "three", client.getTranscoder())));
        CASValue<Object> touched = client.getAndTouch(key, 1000);
        assertEquals("two", touched.getValue());
        assertEquals("two", soon(client.asyncGets(key)).getValue());
        assertEquals("two", soon(client.asyncGetAndTouch(key, 1000)).getValue());
        assertEquals(CASResponse.OK, soon(client.asyncCAS(key, touched.getCas(), "four")));
        assertEquals("four", client.get(key));
        assertNull(client.gets(key + "-absent"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"spymemcached", "farcache"})
    void counting(String whose) throws Exception {
        MemcachedClientIF client = client(whose);
        String key = whose + "-count";
        assertEquals(-1, client.incr(key, 1));
        assertEquals(10, client.incr(key, 1, 10));
        assertEquals(12, client.incr(key, 2L));
        assertEquals(9, soon(client.asyncDecr(key, 3)));
        assertEquals(14, soon(client.asyncIncr(key, 5L, 0, 0)));
        assertEquals(0, client.decr(key, 100L, 7, 1000));
        assertEquals(-1, soon(client.asyncDecr(key + "-absent", 1)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"spymemcached", "farcache"})
    void gettingSeveral(String whose) throws Exception {
        MemcachedClientIF client = client(whose);
        String key = whose + "-bulk-";
        for (int index = 0; index < 5; index++) {
            soon(client.set(key + index, 0, index));
        }
        List<String> keys = Arrays.asList(key + 0, key + 4, key + "absent");
        Map<String, Object> values = client.getBulk(keys);
        assertEquals(2, values.size());
        assertEquals(4, values.get(key + 4));
        assertEquals(values, client.getBulk(keys.iterator()));
        assertEquals(values, client.getBulk(key + 0, key + 4));
        BulkFuture<Map<String, Integer>> bulk =
                client.asyncGetBulk(keys, new IntegerTranscoder());
        assertEquals(values, soon(bulk));
        assertTrue(bulk.getStatus().isSuccess());
        assertFalse(bulk.isTimeout());
    }

    @ParameterizedTest
    @ValueSource(strings = {"spymemcached", "farcache"})
    void askingServers(String whose) {
        MemcachedClientIF client = client(whose);
        assertEquals(1, client.getAvailableServers().size());
        assertTrue(client.getUnavailableServers().isEmpty());
        assertFalse(client.getVersions().values().iterator().next().isEmpty());
        assertNotNull(client.getStats().values().iterator().next().get("pid"));
        assertNotNull(client.getStats("settings").values().iterator().next().get("maxbytes"));
        assertTrue(client.waitForQueues(TestServer.PATIENCE_SECONDS, TimeUnit.SECONDS));
    }

    @Test
    void eachUnderstandsWhatTheOtherStores() throws Exception {
        Object[] values = {"text", 42, 7L, 1.5, true, new byte[] {1, 2, 3}.length,
                String.join("", Collections.nCopies(30_000, "long and compressed ")),
                Collections.singletonMap("a", Arrays.asList("b", "c"))};
        for (Object value : values) {
            soon(ours.set("shared", 0, value));
            assertEquals(value, spys.get("shared"));
            soon(spys.set("shared", 0, value));
            assertEquals(value, ours.get("shared"));
        }
    }

    @Test
    void flushingDropsEverythingOfEveryServer() throws Exception {
        try (TestServer one = new TestServer(); TestServer other = new TestServer()) {
            MemcachedClientIF client = new MemcachedClient(
                    new InetSocketAddress("127.0.0.1", one.port()),
                    new InetSocketAddress("127.0.0.1", other.port()));
            for (int index = 0; index < 20; index++) {
                soon(client.set("key" + index, 0, index));
            }
            assertTrue(soon(client.flush()));
            assertEquals(2, client.getVersions().size());
            for (int index = 0; index < 20; index++) {
                assertNull(client.get("key" + index));
            }
            assertTrue(client.shutdown(TestServer.PATIENCE_SECONDS, TimeUnit.SECONDS));
        }
    }

    @Test
    void aServerThatDoesNotAnswerIsATimeoutAsItIsWithSpymemcached() throws Exception {
        try (TestServer frozen = new TestServer()) {
            MemcachedClientIF client = new MemcachedClient(
                    FarcacheClient.builder(frozen.address()).timeout(Duration.ofSeconds(2)).build(),
                    addresses(frozen), new SerializingTranscoder());
            connect(client);
            frozen.freeze(true);
            assertThrows(OperationTimeoutException.class, () -> client.get("a"));
            Future<Object> future = client.asyncGet("a");
            assertFalse(client.waitForQueues(1, TimeUnit.MILLISECONDS));
            assertTrue(future.cancel(true));
            assertTrue(client.waitForQueues(TestServer.PATIENCE_SECONDS, TimeUnit.SECONDS));
            frozen.freeze(false);
            client.shutdown();
        }
    }

    /** Has it connected, which a busy machine may not do in the first time limit. */
    private static void connect(MemcachedClientIF client) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TestServer.PATIENCE_SECONDS);
        while (true) {
            try {
                soon(client.set("a", 0, "x"));
                client.get("a");
                return;
            } catch (ExecutionException | RuntimeException e) {
                if (System.nanoTime() > end) {
                    throw e;
                }
            }
        }
    }

    @Test
    void whatIsNotThereSaysSo() {
        assertThrows(UnsupportedOperationException.class, ours::getNodeLocator);
        assertThrows(UnsupportedOperationException.class, ours::listSaslMechanisms);
        assertThrows(UnsupportedOperationException.class, () -> ours.addObserver(null));
    }
}
