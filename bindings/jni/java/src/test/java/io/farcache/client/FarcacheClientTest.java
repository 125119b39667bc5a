package io.farcache.client;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static io.farcache.client.Checks.bytes;
import static io.farcache.client.Checks.failure;
import static io.farcache.client.Checks.key;
import static io.farcache.client.Checks.pattern;
import static io.farcache.client.Checks.soon;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Every operation, waited for and not, over sockets and over the fabric. */
class FarcacheClientTest {
    /** Nothing, inside of a message, above the limit of messages, above a segment. */
    private static final int[] LENGTHS = {0, 1, 4096, 8192, 8193, 100_000, 3 << 20};
    private static final Map<String, FarcacheClient> CLIENTS = new HashMap<>();
    private static TestServer server;

    @BeforeAll
    static void start() throws Exception {
        server = new TestServer("-m", "256", "-I", "64m");
        for (String transport : new String[] {"tcp", "fabric"}) {
            CLIENTS.put(transport, Checks.patient(server.address()).transport(transport).build());
        }
    }

    @AfterAll
    static void stop() throws Exception {
        CLIENTS.values().forEach(FarcacheClient::close);
        server.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void theTransportIsTheOneThatWasAskedFor(String transport) {
        FarcacheClient client = CLIENTS.get(transport);
        client.noop(0);
        assertEquals(transport.equals("fabric"), !client.lanes(0).isEmpty(), client.lanes(0));
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void aValueComesBackWhateverItsLengthAndMemory(String transport) throws Exception {
        FarcacheClient client = CLIENTS.get(transport);
        for (int length : LENGTHS) {
            byte[] value = pattern(length);
            String key = key();
            client.set(key, value, 0);
            assertArrayEquals(value, client.get(key));
            assertArrayEquals(value, soon(client.async().get(key)));
            for (boolean direct : new boolean[] {true, false}) {
                buffersBringBack(client, value, direct);
            }
        }
    }

    /** Stored from the middle of a buffer, and got into the middle of another one. */
    private static void buffersBringBack(FarcacheClient client, byte[] value, boolean direct)
            throws Exception {
        ByteBuffer from = buffer(value.length + 20, direct);
        from.position(7);
        from.put(value);
        from.flip();
        from.position(7);
        String key = key();
        client.set(key, from, 0);
        assertEquals(value.length, from.remaining());
        gotInto(client, key, value, direct);
        soon(client.async().set(key + "-async", from, 0));
        gotInto(client, key + "-async", value, direct);
        client.set(key + "-readonly", from.asReadOnlyBuffer(), 0);
        assertArrayEquals(value, client.get(key + "-readonly"));
    }

    private static void gotInto(FarcacheClient client, String key, byte[] value, boolean direct)
            throws Exception {
        ByteBuffer room = buffer(value.length + 20, direct);
        room.position(5);
        assertEquals(value.length, client.get(key, room));
        assertHolds(value, room, 5);
        room = buffer(value.length + 20, direct);
        room.position(9);
        assertEquals(value.length, soon(client.async().get(key, room)));
        assertHolds(value, room, 9);
    }

    private static ByteBuffer buffer(int bytes, boolean direct) {
        return direct ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes);
    }

    /** The value and nothing around it. */
    private static void assertHolds(byte[] value, ByteBuffer room, int place) {
        assertEquals(place, room.position());
        byte[] all = new byte[room.capacity()];
        ByteBuffer look = room.duplicate();
        look.clear();
        look.get(all);
        byte[] expected = new byte[all.length];
        System.arraycopy(value, 0, expected, place, value.length);
        assertArrayEquals(expected, all);
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void aValueThatDoesNotFitLeavesTheBufferAsItIs(String transport) {
        FarcacheClient client = CLIENTS.get(transport);
        for (int length : new int[] {100, 100_000}) {
            String key = key();
            client.set(key, pattern(length), 0);
            for (boolean direct : new boolean[] {true, false}) {
                ByteBuffer room = buffer(length + 50, direct);
                room.limit(length - 1);
                FarcacheBufferTooSmallException thrown =
                        assertThrows(FarcacheBufferTooSmallException.class, () -> client.get(key,
                                room));
                assertEquals(length, thrown.valueBytes());
                thrown = failure(FarcacheBufferTooSmallException.class, client.async().get(key,
                        room));
                assertEquals(length, thrown.valueBytes());
                assertHolds(new byte[0], (ByteBuffer) room.clear(), 0);
            }
        }
        ByteBuffer readOnly = ByteBuffer.allocateDirect(10).asReadOnlyBuffer();
        assertThrows(ReadOnlyBufferException.class, () -> client.get("any", readOnly));
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void whatIsAbsentIsNoException(String transport) throws Exception {
        FarcacheClient client = CLIENTS.get(transport);
        String key = key();
        assertNull(client.get(key));
        assertNull(client.getItem(key));
        assertNull(client.getAndTouch(key, 10));
        assertEquals(-1, client.get(key, ByteBuffer.allocateDirect(10)));
        assertEquals(-1, client.get(key, ByteBuffer.allocate(10)));
        assertFalse(client.delete(key));
        assertFalse(client.touch(key, 10));
        assertNull(client.increment(key, 1));
        assertFalse(client.append(key, bytes("x")));
        assertFalse(client.prepend(key, bytes("x")));
        assertFalse(client.replace(key, bytes("x"), 0));
        assertNull(soon(client.async().get(key)));
        assertEquals(-1, soon(client.async().get(key, ByteBuffer.allocateDirect(10))));
        assertFalse(soon(client.async().delete(key)));
        assertFalse(soon(client.async().replace(key, bytes("x"), 0)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void storingDependsOnWhatIsThere(String transport) throws Exception {
        FarcacheClient client = CLIENTS.get(transport);
        String key = key();
        assertTrue(client.add(key, bytes("b"), 0));
        assertFalse(client.add(key, bytes("x"), 0));
        assertTrue(client.append(key, bytes("c")));
        assertTrue(client.prepend(key, bytes("a")));
        assertArrayEquals(bytes("abc"), client.get(key));
        assertTrue(client.replace(key, bytes("d"), 0));
        assertTrue(soon(client.async().append(key, bytes("e"))));
        assertTrue(soon(client.async().prepend(key, bytes("c"))));
        assertFalse(soon(client.async().add(key, bytes("x"), 0)));
        assertArrayEquals(bytes("cde"), client.get(key));
        assertTrue(client.delete(key));
        assertNull(client.get(key));
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void flagsAndCasTokensComeBack(String transport) throws Exception {
        FarcacheClient client = CLIENTS.get(transport);
        String key = key();
        StoreOptions flags = StoreOptions.expiry(1000).withFlags(0xfedcba98);
        assertEquals(StoreOutcome.STORED, client.store(StoreMode.SET, key, bytes("one"), flags));
        Item item = client.getItem(key);
        assertEquals(0xfedcba98, item.flags());
        assertArrayEquals(bytes("one"), item.value());
        StoreOptions same = flags.withCas(item.cas());
        assertEquals(StoreOutcome.STORED, client.store(StoreMode.SET, key, bytes("two"), same));
        assertEquals(StoreOutcome.EXISTS, client.store(StoreMode.SET, key, bytes("three"), same));
        assertEquals(StoreOutcome.EXISTS,
                soon(client.async().store(StoreMode.SET, key, ByteBuffer.wrap(bytes("three")),
                        same)));
        assertEquals(StoreOutcome.EXISTS, client.delete(key, item.cas()));
        assertArrayEquals(bytes("two"), client.get(key));
        long cas = soon(client.async().getItem(key)).cas();
        assertEquals(StoreOutcome.STORED, client.delete(key, cas));
        assertEquals(StoreOutcome.NOT_FOUND, client.store(StoreMode.SET, key, bytes("four"), same));
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void numbersAreCounted(String transport) throws Exception {
        FarcacheClient client = CLIENTS.get(transport);
        String key = key();
        assertEquals(5, client.increment(key, 3, 5, 0));
        assertEquals(8, client.increment(key, 3));
        assertEquals(6, soon(client.async().decrement(key, 2)));
        assertEquals(0, client.decrement(key, 100));
        assertEquals(7, soon(client.async().decrement(key + "-other", 1, 7, 0)));
        assertEquals(-1L, client.increment(key, -1L), "unsigned");
        client.set(key, bytes("no number"), 0);
        FarcacheServerException thrown = assertThrows(FarcacheServerException.class,
                () -> client.increment(key, 1));
        assertEquals(Status.NOT_NUMERIC, thrown.status());
        assertFalse(thrown.mayHaveBeenCarriedOut());
        assertEquals(Status.NOT_NUMERIC,
                failure(FarcacheServerException.class, client.async().increment(key, 1)).status());
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void anItemEndsWhenItsExpiryHasCome(String transport) throws Exception {
        FarcacheClient client = CLIENTS.get(transport);
        for (boolean waits : new boolean[] {true, false}) {
            String key = key();
            client.set(key, bytes("x"), 1000);
            assertArrayEquals(bytes("x"), waits ? client.getAndTouch(key, 2000)
                    : soon(client.async().getAndTouch(key, 2000)));
            assertTrue(waits ? client.touch(key, 1) : soon(client.async().touch(key, 1)));
            Checks.eventually(() -> client.get(key) == null, "it does not expire");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void severalKeysAreGotTogether(String transport) throws Exception {
        FarcacheClient client = CLIENTS.get(transport);
        List<String> keys = Arrays.asList(key(), key(), key(), key());
        client.set(keys.get(0), bytes("zero"), 0);
        client.store(StoreMode.SET, keys.get(2), pattern(100_000),
                StoreOptions.DEFAULT.withFlags(42));
        client.set(keys.get(3), new byte[0], 0);
        for (boolean waits : new boolean[] {true, false}) {
            Map<String, byte[]> found = waits ? client.getAll(keys)
                    : soon(client.async().getAll(keys));
            assertEquals(3, found.size());
            assertArrayEquals(bytes("zero"), found.get(keys.get(0)));
            assertArrayEquals(pattern(100_000), found.get(keys.get(2)));
            assertArrayEquals(new byte[0], found.get(keys.get(3)));
            Map<String, Item> items = waits ? client.getItems(keys)
                    : soon(client.async().getItems(keys));
            assertEquals(3, items.size());
            assertEquals(42, items.get(keys.get(2)).flags());
            assertEquals(client.getItem(keys.get(2)).cas(), items.get(keys.get(2)).cas());
            assertTrue((waits ? client.getAll(Collections.emptyList())
                    : soon(client.async().getAll(Collections.emptyList()))).isEmpty());
        }
        List<String> tooMany = Collections.nCopies(65_537, "key");
        assertThrows(FarcacheArgumentException.class, () -> client.getAll(tooMany));
        failure(FarcacheArgumentException.class, client.async().getAll(tooMany));
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void serversAreAskedAndTold(String transport) throws Exception {
        FarcacheClient client = CLIENTS.get(transport);
        assertEquals(1, client.servers());
        assertEquals(0, client.serverOfKey("any"));
        assertFalse(client.version(0).isEmpty());
        assertEquals(client.version(0), soon(client.async().version(0)));
        assertEquals(Long.toString(64 << 20), client.statistics(0,
                "settings").get("item_size_max"));
        assertTrue(soon(client.async().statistics(0, null)).containsKey("pid"));
        soon(client.async().noop(0));
        assertThrows(FarcacheArgumentException.class, () -> client.noop(1));
        assertThrows(FarcacheArgumentException.class, () -> client.noop(-1));
        // In a server of its own: others have items there.
        try (TestServer own = new TestServer();
                FarcacheClient other = Checks.patient(own.address()).transport(transport).build()) {
            other.set("a", bytes("x"), 0);
            other.flush(0, 0);
            assertNull(other.get("a"));
            other.set("a", bytes("x"), 0);
            soon(other.async().flush(0, 0));
            assertNull(other.get("a"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void registeredMemoryCarriesLargeValues(String transport) throws Exception {
        FarcacheClient client = CLIENTS.get(transport);
        byte[] value = pattern(1 << 20);
        String key = key();
        try (RegisteredBuffer from = client.allocate(1 << 20);
                RegisteredBuffer room = client.allocate(2 << 20)) {
            from.buffer().put(value).flip();
            client.set(key, from.buffer(), 0);
            assertEquals(value.length, client.get(key, room.buffer()));
            assertHolds(value, room.buffer(), 0);
            soon(client.async().set(key, from.buffer(), 0));
            ByteBuffer part = ((ByteBuffer) room.buffer().duplicate().position(1 << 20)).slice();
            assertEquals(value.length, soon(client.async().get(key, part)));
            assertHolds(value, part, 0);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void aValueThatIsTooLargeIsRefused(String transport) {
        FarcacheClient client = CLIENTS.get(transport);
        ByteBuffer large = ByteBuffer.allocateDirect((64 << 20) + 1);
        FarcacheServerException thrown =
                assertThrows(FarcacheServerException.class, () -> client.set(key(), large, 0));
        assertEquals(Status.TOO_LARGE, thrown.status());
        assertEquals(Status.TOO_LARGE,
                failure(FarcacheServerException.class, client.async().set(key(), large,
                        0)).status());
        String key = key();
        ByteBuffer largest = (ByteBuffer) large.limit(63 << 20);
        client.set(key, largest, 0);
        assertEquals(63 << 20, client.get(key, (ByteBuffer) large.clear()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void keysThatCannotBeAreRefusedAtOnce(String transport) {
        FarcacheClient client = CLIENTS.get(transport);
        String longest = new String(new char[250]).replace('\0', 'k');
        client.set(longest, bytes("x"), 0);
        client.set("ключ-" + key(), bytes("x"), 0);
        for (String key : new String[] {"", longest + "k", "a key", "a\nkey", "a\0key", "\u007f",
                "a\tkey"}) {
            FarcacheArgumentException thrown =
                    assertThrows(FarcacheArgumentException.class, () -> client.get(key), key);
            assertEquals(Status.INVALID_KEY, thrown.status());
            assertThrows(FarcacheArgumentException.class, () -> client.set(key, bytes("x"), 0),
                    key);
            assertThrows(FarcacheArgumentException.class, () -> client.async().get(key), key);
            assertThrows(FarcacheArgumentException.class, () -> client.getAll(Arrays.asList("good",
                    key)), key);
        }
        assertThrows(NullPointerException.class, () -> client.get((String) null));
    }
}
