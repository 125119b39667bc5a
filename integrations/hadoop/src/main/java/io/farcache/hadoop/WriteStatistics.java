package io.farcache.hadoop;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsAggregator;
import org.apache.hadoop.fs.statistics.StoreStatisticNames;
import org.apache.hadoop.fs.statistics.StreamStatisticNames;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsBinding;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsStore;
import org.apache.hadoop.util.functional.InvocationRaisingIOE;

/** What has been done with a file that is written, under Hadoop's names. */
final class WriteStatistics {
    static final String[] COUNTERS = {
        StreamStatisticNames.STREAM_WRITE_BYTES,
        StreamStatisticNames.STREAM_WRITE_EXCEPTIONS,
    };
    static final String[] DURATIONS = {
        StoreStatisticNames.OP_HFLUSH,
        StoreStatisticNames.OP_HSYNC,
    };
    private final IOStatisticsStore store = IOStatisticsBinding.iostatisticsStore()
            .withCounters(COUNTERS).withDurationTracking(DURATIONS).build();
    private final AtomicLong bytes =
            store.getCounterReference(StreamStatisticNames.STREAM_WRITE_BYTES);
    private final Totals totals;
    private final IOStatisticsAggregator thread = ThreadStatistics.current();

    /** Of a file that this thread begins to write. */
    WriteStatistics(Totals totals) {
        this.totals = totals;
    }

    /** As they are at any moment. */
    IOStatistics statistics() {
        return store;
    }

    /** By one thread at a time. */
    void wrote(long count) {
        bytes.lazySet(bytes.get() + count);
    }

    void failed() {
        store.incrementCounter(StreamStatisticNames.STREAM_WRITE_EXCEPTIONS);
    }

    /** Does it and notes how long that took. */
    void track(String operation, InvocationRaisingIOE action) throws IOException {
        IOStatisticsBinding.trackDurationOfInvocation(store, operation, action);
    }

    /** Once. */
    void close() {
        totals.add(store);
        thread.aggregate(store);
    }
}
