package io.farcache.hadoop;

import org.apache.hadoop.fs.statistics.IOStatisticsAggregator;
import org.apache.hadoop.fs.statistics.IOStatisticsContext;

/**
 * What Hadoop counts for each thread, to which the streams that it has opened add what they have
 * done. Hadoop 3.3.4 does not: this is the only class that uses {@link IOStatisticsContext}.
 */
final class ThreadStatistics {
    private static final boolean IS_THERE = isThere();

    private ThreadStatistics() {
    }

    private static boolean isThere() {
        try {
            IOStatisticsContext.enabled();
            return true;
        } catch (NoClassDefFoundError e) {
            return false;
        }
    }

    /** Of this thread. */
    static IOStatisticsAggregator current() {
        return IS_THERE ? IOStatisticsContext.getCurrentIOStatisticsContext().getAggregator()
                : statistics -> false;
    }
}
