package io.farcache.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.VectoredReadUtils;

/**
 * Ranges of a file that are read behind the caller's back, as many together as have few bytes. What
 * they need of the servers is asked for at once. The only class that needs what Hadoop 3.3.4 lacks:
 * whoever has that never calls it.
 */
final class VectoredRead implements Runnable {
    /** What is read together: as much as a stream has under way. */
    private static final long TOGETHER_BYTES_MAX = 8L << 20;
    private static final int THREADS = 4;
    private static final Executor EXECUTOR = executor();

    /** Where parts are read. */
    interface Reading {
        void read(List<Part> parts) throws IOException;
    }

    private final Reading reading;
    private final List<? extends FileRange> ranges;
    private final IntFunction<ByteBuffer> allocate;
    private final Consumer<ByteBuffer> release;

    private VectoredRead(Reading reading, List<? extends FileRange> ranges,
            IntFunction<ByteBuffer> allocate, Consumer<ByteBuffer> release) {
        this.reading = reading;
        this.ranges = ranges;
        this.allocate = allocate;
        this.release = release;
    }

    private static Executor executor() {
        ThreadPoolExecutor threads = new ThreadPoolExecutor(THREADS, THREADS, 10,
                TimeUnit.SECONDS, new LinkedBlockingQueue<>(), action -> {
                    Thread thread = new Thread(action, "farcache-vectored-reader");
                    thread.setDaemon(true);
                    return thread;
                });
        threads.allowCoreThreadTimeOut(true);
        return threads;
    }

    /**
     * Begins to read ranges; each has its future.
     *
     * @param length of the file, within which they lie
     */
    static void begin(Reading reading, long length, List<? extends FileRange> ranges,
            IntFunction<ByteBuffer> allocate, Consumer<ByteBuffer> release) throws IOException {
        List<? extends FileRange> sorted =
                VectoredReadUtils.validateAndSortRanges(ranges, Optional.of(length));
        sorted.forEach(range -> range.setData(new CompletableFuture<>()));
        EXECUTOR.execute(new VectoredRead(reading, sorted, allocate, release));
    }

    @Override
    public void run() {
        int begin = 0;
        while (begin < ranges.size()) {
            int end = begin + 1;
            long bytes = ranges.get(begin).getLength();
            while (end < ranges.size()
                    && bytes + ranges.get(end).getLength() <= TOGETHER_BYTES_MAX) {
                bytes += ranges.get(end).getLength();
                end++;
            }
            read(ranges.subList(begin, end));
            begin = end;
        }
    }

    private void read(List<? extends FileRange> together) {
        List<Part> parts = new ArrayList<>();
        try {
            for (FileRange range : together) {
                ByteBuffer room = allocate.apply(range.getLength());
                room.clear().limit(range.getLength());
                parts.add(new Part(range.getOffset(), room));
            }
            reading.read(parts);
        } catch (IOException | RuntimeException | Error e) {
            parts.forEach(part -> release.accept(part.room));
            together.forEach(range -> range.getData().completeExceptionally(e));
            return;
        }
        for (int number = 0; number < parts.size(); number++) {
            together.get(number).getData().complete(parts.get(number).room);
        }
    }
}
