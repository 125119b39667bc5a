package io.farcache.hadoop;

import java.io.IOException;
import java.util.stream.Stream;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.StoreStatisticNames;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsBinding;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsStore;
import org.apache.hadoop.util.functional.CallableRaisingIOE;

/**
 * What a file system has done, and how long each operation took, under Hadoop's names; and what its
 * streams have done, once they are closed.
 */
final class Totals {
    private static final String[] OPERATIONS = {
        StoreStatisticNames.OP_APPEND,
        StoreStatisticNames.OP_CREATE,
        StoreStatisticNames.OP_CREATE_NON_RECURSIVE,
        StoreStatisticNames.OP_DELETE,
        StoreStatisticNames.OP_GET_FILE_STATUS,
        StoreStatisticNames.OP_LIST_STATUS,
        StoreStatisticNames.OP_MKDIRS,
        StoreStatisticNames.OP_OPEN,
        StoreStatisticNames.OP_RENAME,
        StoreStatisticNames.OP_SET_PERMISSION,
        StoreStatisticNames.OP_SET_TIMES,
        StoreStatisticNames.OP_TRUNCATE,
    };
    private final IOStatisticsStore store = IOStatisticsBinding.iostatisticsStore()
            .withCounters(Stream.of(ReadStatistics.COUNTERS, WriteStatistics.COUNTERS)
                    .flatMap(Stream::of).toArray(String[]::new))
            .withDurationTracking(Stream.of(OPERATIONS, WriteStatistics.DURATIONS)
                    .flatMap(Stream::of).toArray(String[]::new))
            .build();

    /** Does it and notes how long that took. */
    <T> T track(String operation, CallableRaisingIOE<T> action) throws IOException {
        return IOStatisticsBinding.trackDuration(store, operation, action);
    }

    /** Adds what a stream has done. */
    void add(IOStatistics stream) {
        store.aggregate(stream);
    }

    /** As they are at any moment. */
    IOStatistics statistics() {
        return store;
    }
}
