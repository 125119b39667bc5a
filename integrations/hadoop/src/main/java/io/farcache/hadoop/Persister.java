package io.farcache.hadoop;

import java.io.Closeable;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Persists files behind their writers' backs, several at a time. What fails is done again, at ever
 * longer intervals, for as long as this lives; those who wait for it wait for a limited time.
 */
final class Persister implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(Persister.class);
    static final String THREAD_NAME = "farcache-persister";
    private static final int THREADS = 2;
    static final String RECOVERY = "what dead clients have left";
    private static final long DELAY_MILLISECONDS_MIN = 50;
    private static final long DELAY_MILLISECONDS_MAX = 10_000;

    /** What is to be done for one file. */
    private interface Work {
        void run() throws IOException;
    }

    private final Persistence persistence;
    private final Below.Watch watch;
    private final long patienceMilliseconds;
    private final ScheduledThreadPoolExecutor threads;
    private final Map<String, Job> jobs = new ConcurrentHashMap<>();
    private final Set<Below> open = ConcurrentHashMap.newKeySet();

    Persister(Persistence persistence, Below.Watch watch, long patienceMilliseconds) {
        this.persistence = persistence;
        this.watch = watch;
        this.patienceMilliseconds = patienceMilliseconds;
        threads = new ScheduledThreadPoolExecutor(THREADS, action -> {
            Thread thread = new Thread(action, THREAD_NAME);
            thread.setDaemon(true);
            return thread;
        });
        threads.setKeepAliveTime(1, TimeUnit.SECONDS);
        threads.allowCoreThreadTimeOut(true);
    }

    /** Finishes a file of this client's. The open file is closed then. */
    void finish(Below file, Pending pending, String id) {
        open.add(file);
        start(id, () -> {
            persistence.finish(file, pending, id);
            open.remove(file);
            file.close();
        });
    }

    /** Finishes what dead clients have left. */
    void recover(Path all) {
        start(RECOVERY, () -> {
            IOException failure = null;
            for (Path folder : Pending.folders(all)) {
                try (Pending dead = Pending.ofDead(folder, watch)) {
                    if (dead != null) {
                        recover(dead);
                    }
                } catch (IOException e) {
                    failure = e;
                }
            }
            if (failure != null) {
                throw failure;
            }
        });
    }

    private void recover(Pending dead) throws IOException {
        IOException failure = null;
        for (String id : dead.ids()) {
            try (Below file = new Below(FileChannel.open(dead.name(id), StandardOpenOption.READ,
                    StandardOpenOption.WRITE), watch)) {
                persistence.finish(file, dead, id);
                LOG.info("file {} of a dead client is persisted", id);
            } catch (IOException e) {
                failure = new IOException(dead.name(id) + ": " + e.getMessage(), e);
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    private void start(String id, Work work) {
        Job job = new Job(id, work);
        jobs.put(id, job);
        job.schedule(0);
    }

    /**
     * Waits until a file is persisted; at once where it is, or is none of this client's.
     *
     * @throws IOException it has failed for longer than anybody waits, and is tried further
     */
    void await(String id) throws IOException {
        Job job = jobs.get(id);
        if (job != null) {
            job.await();
        }
    }

    /**
     * Waits until a file is an ordinary one, by whoever persists it.
     *
     * @throws IOException it is being written, or is not persisted for longer than anybody waits
     */
    void awaitOrdinary(Path place) throws IOException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMilliseconds);
        Reference reference = Reference.of(place);
        while (reference != null) {
            if (!reference.isWritten()) {
                throw new IOException("it is being written, or its writer has died");
            }
            await(reference.id);
            reference = Reference.of(place);
            if (reference != null && System.nanoTime() - end >= 0) {
                throw new IOException("it is not persisted yet");
            }
            if (reference != null) {
                Pause.of(DELAY_MILLISECONDS_MIN);
            }
        }
    }

    /** Does something for a writer that waits for it, again and again while there is patience. */
    Reference insist(Attempt attempt) throws IOException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMilliseconds);
        long delay = DELAY_MILLISECONDS_MIN;
        while (true) {
            try {
                return attempt.run();
            } catch (IOException e) {
                if (System.nanoTime() - end >= 0) {
                    throw e;
                }
                LOG.warn("not persisted yet: {}", e.toString());
            }
            Pause.of(delay);
            delay = Math.min(2 * delay, DELAY_MILLISECONDS_MAX);
        }
    }

    /** What is done for a writer that waits for it. */
    interface Attempt {
        Reference run() throws IOException;
    }

    /**
     * That work is still taken.
     *
     * @throws IOException it has been closed
     */
    void check() throws IOException {
        if (threads.isShutdown()) {
            throw new IOException("the file system is closed");
        }
    }

    /**
     * Waits for all files of this client's that are to be persisted.
     *
     * @throws IOException something is not; the record of it stays
     */
    @Override
    public void close() throws IOException {
        List<IOException> failures = new ArrayList<>();
        for (Job job : jobs.values()) {
            try {
                if (!job.id.equals(RECOVERY)) {
                    job.await();
                }
            } catch (IOException e) {
                failures.add(e);
            }
        }
        threads.shutdownNow();
        try {
            threads.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException();
        }
        for (Below file : open) {
            file.close();
        }
        if (!failures.isEmpty()) {
            throw new IOException(failures.size() + " not persisted yet; "
                    + failures.get(0).getMessage(), failures.get(0));
        }
    }

    /** One file, until it is persisted. */
    private final class Job implements Runnable {
        private final String id;
        private final Work work;
        private final CountDownLatch done = new CountDownLatch(1);
        private long delay = DELAY_MILLISECONDS_MIN;
        /** Why the last attempt failed, if it did. */
        private IOException failure;
        private long failing;
        private boolean running;

        Job(String id, Work work) {
            this.id = id;
            this.work = work;
        }

        synchronized void schedule(long milliseconds) {
            try {
                threads.schedule(this, milliseconds, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException e) {
                LOG.warn("{}: the file system has been closed", id);
                failure = new IOException("the file system is closed", e);
                failing = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(patienceMilliseconds);
            }
        }

        @Override
        public void run() {
            synchronized (this) {
                running = true;
            }
            try {
                work.run();
                jobs.remove(id, this);
                done.countDown();
            } catch (IOException e) {
                fail(e);
            } catch (RuntimeException | Error e) {
                fail(new IOException(e.toString(), e));
            }
        }

        private synchronized void fail(IOException e) {
            if (failure == null) {
                failing = System.nanoTime();
            }
            if (failure == null || !failure.toString().equals(e.toString())) {
                LOG.warn("{} is not persisted yet: {}", id, e.toString());
            }
            failure = e;
            running = false;
            schedule(delay);
            delay = Math.min(2 * delay, DELAY_MILLISECONDS_MAX);
        }

        void await() throws IOException {
            try {
                while (!done.await(DELAY_MILLISECONDS_MIN, TimeUnit.MILLISECONDS)) {
                    check();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException();
            }
        }

        /** An attempt that is under way may be the one that succeeds, so it is waited for. */
        private synchronized void check() throws IOException {
            long since = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - failing);
            if (failure != null && !running && since >= patienceMilliseconds) {
                throw new IOException("not persisted: " + failure.getMessage(), failure);
            }
        }
    }
}
