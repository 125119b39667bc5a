package io.farcache.ycsb;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;

/**
 * Records in a store of keys and values. An update writes all fields at once where the workload
 * says that it does ({@code writeallfields=true}); otherwise it reads the record first. There are
 * no scans.
 */
abstract class RecordDb extends DB {
    private boolean writesAllFields;

    /** Reads what all have in common. */
    final void readProperties() {
        writesAllFields = Boolean.parseBoolean(getProperties().getProperty("writeallfields"));
    }

    /** Whether the workload compares what it reads with what it has written. */
    final boolean isChecked() {
        return Boolean.parseBoolean(getProperties().getProperty("dataintegrity"));
    }

    /** A value, null where it is absent. */
    abstract byte[] get(String key) throws Exception;

    abstract Status set(String key, byte[] value) throws Exception;

    abstract Status remove(String key) throws Exception;

    /** Reads without the value being wanted at once; here it is. */
    Status read(String key, Set<String> fields, Map<String, ByteIterator> result)
            throws Exception {
        byte[] value = get(key);
        if (value == null) {
            return Status.NOT_FOUND;
        }
        Fields.hand(value, fields, result);
        return Status.OK;
    }

    private interface Step {
        Status run() throws Exception;
    }

    private static Status counted(Step step) {
        try {
            return step.run();
        } catch (Exception e) {
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            System.err.println("farcache-ycsb: " + e);
            return Status.ERROR;
        }
    }

    private static String name(String table, String key) {
        return table + ":" + key;
    }

    @Override
    public Status read(String table, String key, Set<String> fields,
            Map<String, ByteIterator> result) {
        return counted(() -> read(name(table, key), fields, result));
    }

    @Override
    public Status scan(String table, String startkey, int recordcount, Set<String> fields,
            Vector<HashMap<String, ByteIterator>> result) {
        return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
        return counted(() -> {
            String name = name(table, key);
            byte[] before = writesAllFields ? null : get(name);
            if (before == null && !writesAllFields) {
                return Status.NOT_FOUND;
            }
            return set(name, Fields.encode(Fields.of(before, values)));
        });
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
        return counted(() -> set(name(table, key), Fields.encode(Fields.of(null, values))));
    }

    @Override
    public Status delete(String table, String key) {
        return counted(() -> remove(name(table, key)));
    }
}
