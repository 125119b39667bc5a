package io.farcache.hadoop;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsAggregator;
import org.apache.hadoop.fs.statistics.StreamStatisticNames;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsBinding;
import org.apache.hadoop.fs.statistics.impl.IOStatisticsStore;

/** What has been done with a file that is read, under Hadoop's names, by one thread at a time. */
final class ReadStatistics {
    static final String[] COUNTERS = {
        StreamStatisticNames.STREAM_READ_BYTES,
        StreamStatisticNames.STREAM_READ_EXCEPTIONS,
        StreamStatisticNames.STREAM_READ_OPERATIONS,
        StreamStatisticNames.STREAM_READ_SEEK_BACKWARD_OPERATIONS,
        StreamStatisticNames.STREAM_READ_SEEK_BYTES_BACKWARDS,
        StreamStatisticNames.STREAM_READ_SEEK_BYTES_SKIPPED,
        StreamStatisticNames.STREAM_READ_SEEK_FORWARD_OPERATIONS,
        StreamStatisticNames.STREAM_READ_SEEK_OPERATIONS,
        StreamStatisticNames.STREAM_READ_UNBUFFERED,
        StreamStatisticNames.STREAM_READ_VECTORED_INCOMING_RANGES,
        StreamStatisticNames.STREAM_READ_VECTORED_OPERATIONS,
    };
    private final IOStatisticsStore store = IOStatisticsBinding.iostatisticsStore()
            .withCounters(COUNTERS).build();
    /** Of these there are many. */
    private final AtomicLong bytes =
            store.getCounterReference(StreamStatisticNames.STREAM_READ_BYTES);
    private final AtomicLong operations =
            store.getCounterReference(StreamStatisticNames.STREAM_READ_OPERATIONS);
    private final Totals totals;
    private final FileSystem.Statistics bytesOfAll;
    private final IOStatisticsAggregator thread = ThreadStatistics.current();

    /**
     * Of a file that this thread opens.
     *
     * @param bytesOfAll what Hadoop counts for the scheme
     */
    ReadStatistics(Totals totals, FileSystem.Statistics bytesOfAll) {
        this.totals = totals;
        this.bytesOfAll = bytesOfAll;
    }

    /** As they are at any moment. */
    IOStatistics statistics() {
        return store;
    }

    void begin() {
        operations.lazySet(operations.get() + 1);
    }

    void read(long count) {
        bytes.lazySet(bytes.get() + count);
        bytesOfAll.incrementBytesRead(count);
    }

    void failed() {
        store.incrementCounter(StreamStatisticNames.STREAM_READ_EXCEPTIONS);
    }

    /** From one position to another one. */
    void seek(long from, long to) {
        store.incrementCounter(StreamStatisticNames.STREAM_READ_SEEK_OPERATIONS);
        if (to < from) {
            store.incrementCounter(StreamStatisticNames.STREAM_READ_SEEK_BACKWARD_OPERATIONS);
            store.incrementCounter(StreamStatisticNames.STREAM_READ_SEEK_BYTES_BACKWARDS,
                    from - to);
        } else if (to > from) {
            store.incrementCounter(StreamStatisticNames.STREAM_READ_SEEK_FORWARD_OPERATIONS);
            store.incrementCounter(StreamStatisticNames.STREAM_READ_SEEK_BYTES_SKIPPED, to - from);
        }
    }

    void readVectored(int ranges) {
        store.incrementCounter(StreamStatisticNames.STREAM_READ_VECTORED_OPERATIONS);
        store.incrementCounter(StreamStatisticNames.STREAM_READ_VECTORED_INCOMING_RANGES, ranges);
    }

    void unbuffered() {
        store.incrementCounter(StreamStatisticNames.STREAM_READ_UNBUFFERED);
    }

    /** Once. */
    void close() {
        totals.add(store);
        thread.aggregate(store);
    }
}
