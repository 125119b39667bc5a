package io.farcache.ycsb;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import site.ycsb.Status;

/**
 * No servers at all, for comparison: every key has the same record, and what is written is put into
 * bytes and forgotten. What YCSB and its JVM take for themselves is measured so.
 */
public class NothingDb extends RecordDb {
    private static final int FIELDS = 10;
    private static final int FIELD_BYTES = 100;
    private static final byte[] RECORD = record();

    /** Made by YCSB, one for each thread. */
    public NothingDb() {
    }

    /** As YCSB writes it where nothing is said: a kilobyte. */
    private static byte[] record() {
        Map<String, byte[]> fields = new LinkedHashMap<>();
        for (int number = 0; number < FIELDS; number++) {
            byte[] value = new byte[FIELD_BYTES];
            Arrays.fill(value, (byte) 'a');
            fields.put("field" + number, value);
        }
        return Fields.encode(fields);
    }

    @Override
    public void init() {
        readProperties();
    }

    /** A new array, as clients have it. */
    @Override
    byte[] get(String key) {
        return RECORD.clone();
    }

    @Override
    Status set(String key, byte[] value) {
        return Status.OK;
    }

    @Override
    Status remove(String key) {
        return Status.OK;
    }
}
