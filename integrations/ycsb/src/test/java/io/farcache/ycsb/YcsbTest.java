package io.farcache.ycsb;

import io.farcache.client.TestServer;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.Status;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The bindings, by themselves and under YCSB's own client. */
class YcsbTest {
    private static TestServer server;

    @BeforeAll
    static void start() throws Exception {
        server = new TestServer();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @Test
    void fieldsComeBackWhateverTheirLengths() {
        Map<String, byte[]> fields = new LinkedHashMap<>();
        for (int length : new int[] {0, 1, 127, 128, 16_383, 16_384, 3_000_000}) {
            byte[] value = new byte[length];
            Arrays.fill(value, (byte) length);
            fields.put("field" + length, value);
        }
        Map<String, byte[]> back = Fields.decode(Fields.encode(fields));
        assertEquals(fields.keySet(), back.keySet());
        fields.forEach((name, value) -> assertArrayEquals(value, back.get(name)));
        assertEquals(0, Fields.decode(new byte[0]).size());
        // 10 fields of 100 bytes with names of 6 bytes: 2 bytes for each pair of lengths.
        Map<String, byte[]> record = new HashMap<>();
        for (int index = 0; index < 10; index++) {
            record.put("field" + index, new byte[100]);
        }
        assertEquals(10 * (100 + 6 + 2), Fields.encode(record).length);
    }

    @Test
    void bytesThatAreNoFieldsAreRefused() {
        for (byte[] bytes : new byte[][] {{1}, {1, 'a'}, {1, 'a', 2, 'b'}, {-1, -1, -1, -1, 7},
                {-1, -1, -1, -1, -1, -1}}) {
            assertThrows(IllegalArgumentException.class, () -> Fields.decode(bytes));
        }
    }

    private static RecordDb open(String whose, String outstanding) throws Exception {
        RecordDb db = whose.equals("farcache") ? new FarcacheDb() : new SpymemcachedDb();
        Properties properties = new Properties();
        properties.setProperty("farcache.servers", server.address());
        properties.setProperty("farcache.options", "timeout-ms=60000 connect-timeout-ms=60000");
        properties.setProperty("farcache.outstanding", outstanding);
        properties.setProperty("spymemcached.servers", server.address());
        db.setProperties(properties);
        db.init();
        return db;
    }

    private static Map<String, ByteIterator> values(String... pairs) {
        Map<String, ByteIterator> values = new HashMap<>();
        for (int index = 0; index < pairs.length; index += 2) {
            values.put(pairs[index], new ByteArrayByteIterator(pairs[index + 1].getBytes()));
        }
        return values;
    }

    @ParameterizedTest
    @ValueSource(strings = {"farcache", "spymemcached"})
    void anUpdateKeepsTheOtherFields(String whose) throws Exception {
        RecordDb db = open(whose, "0");
        assertEquals(Status.NOT_FOUND, db.read(whose, "key", null, new HashMap<>()));
        assertEquals(Status.NOT_FOUND, db.update(whose, "key", values("a", "1")));
        assertEquals(Status.OK, db.insert(whose, "key", values("a", "1", "b", "2")));
        assertEquals(Status.OK, db.update(whose, "key", values("b", "3")));
        Map<String, ByteIterator> read = new HashMap<>();
        assertEquals(Status.OK, db.read(whose, "key", null, read));
        assertEquals("1", read.get("a").toString());
        assertEquals("3", read.get("b").toString());
        Map<String, ByteIterator> some = new HashMap<>();
        db.read(whose, "key", Collections.singleton("b"), some);
        assertEquals(Collections.singleton("b"), some.keySet());
        assertEquals(Status.OK, db.delete(whose, "key"));
        assertEquals(Status.NOT_FOUND, db.delete(whose, "key"));
        assertEquals(Status.NOT_IMPLEMENTED, db.scan(whose, "key", 1, null, null));
        db.cleanup();
    }

    @Test
    void aFailureUnderWayIsToldByALaterCallOrAtTheEnd() throws Exception {
        try (TestServer own = new TestServer()) {
            FarcacheDb db = new FarcacheDb();
            Properties properties = new Properties();
            properties.setProperty("farcache.servers", own.address());
            properties.setProperty("farcache.outstanding", "2");
            properties.setProperty("farcache.shared", "false");
            properties.setProperty("farcache.options", "timeout-ms=60000");
            db.setProperties(properties);
            db.init();
            assertEquals(Status.BATCHED_OK, db.insert("t", "a", values("a", "1")));
            assertEquals(Status.BATCHED_OK, db.insert("t", "b", values("a", "1")));
            assertEquals(Status.OK, db.insert("t", "c", values("a", "1")));
            assertEquals(Status.OK, db.read("t", "a", null, new HashMap<>()));
            assertEquals(Status.OK, db.read("t", "absent", null, new HashMap<>()));
            own.kill();
            // What is under way now was begun before; the third of these is not.
            db.read("t", "a", null, new HashMap<>());
            db.read("t", "a", null, new HashMap<>());
            assertEquals(Status.ERROR, db.read("t", "a", null, new HashMap<>()));
            assertThrows(site.ycsb.DBException.class, db::cleanup);
        }
    }

    /** YCSB's client in a process of its own, as it ends by itself. */
    @ParameterizedTest
    @CsvSource({"FarcacheDb,0,auto,true", "FarcacheDb,16,auto,false", "FarcacheDb,0,tcp,true",
            "SpymemcachedDb,0,auto,true", "NothingDb,0,auto,false"})
    void ycsbRuns(String db, String outstanding, String transport, String checked)
            throws Exception {
        for (String phase : new String[] {"-load", "-t"}) {
            String said = YcsbClient.end(YcsbClient.start(phase, db, Collections.emptyMap(),
                    "recordcount=200", "operationcount=1000", "dataintegrity=" + checked,
                    "farcache.servers=" + server.address(),
                    "spymemcached.servers=" + server.address(), "farcache.transport=" + transport,
                    "farcache.outstanding=" + outstanding, "table=" + db + outstanding
                    + transport));
            Map<String, Integer> ended = YcsbClient.ended(said);
            int done = sum(ended, "OK") + sum(ended, "BATCHED_OK");
            int verified = ended.getOrDefault("VERIFY OK", 0);
            assertEquals(phase.equals("-load") ? 200 : 1000, done - verified, said);
            assertEquals(0, sum(ended, "ERROR"), said);
            assertEquals(checked.equals("true") && phase.equals("-t"), verified > 0, said);
        }
    }

    private static int sum(Map<String, Integer> ended, String status) {
        return ended.entrySet().stream().filter(one -> one.getKey().endsWith(" " + status))
                .mapToInt(Map.Entry::getValue).sum();
    }
}
