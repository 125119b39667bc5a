package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static io.farcache.hadoop.FilesFixture.CONTENT;
import static io.farcache.hadoop.FilesFixture.FILE;
import static io.farcache.hadoop.FilesFixture.URI_OF_ANY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** A file has the same time of modification from when it was closed, whoever asks, and when. */
class TimesTest {
    /** How long each change below takes: clocks there tick by at most 10 ms. */
    private static final long CHANGE_MILLISECONDS = 20;
    private static final long SET = 1_000_000_000_000L;

    @TempDir
    java.nio.file.Path names;
    private FilesFixture fixture;
    private final Faults faults = new Faults();
    private FarcacheFileSystem files;

    @BeforeEach
    void start() throws Exception {
        fixture = new FilesFixture(names, "-m", "256", "-M", "--evict-expiring");
        files = open(change -> {
            faults.before(change);
            if (isPersister()) {
                Pause.of(CHANGE_MILLISECONDS);
            }
        });
    }

    @AfterEach
    void stop() throws Exception {
        try {
            files.close();
        } finally {
            fixture.close();
        }
    }

    private static boolean isPersister() {
        return Thread.currentThread().getName().equals(Persister.THREAD_NAME);
    }

    private Configuration configuration() {
        return fixture.configuration(FarcacheFileSystem.PERSIST_PATIENCE, "0s");
    }

    private FarcacheFileSystem open(Below.Watch watch) throws IOException {
        FarcacheFileSystem opened = FilesFixture.open(configuration());
        opened.watch = watch;
        return opened;
    }

    private java.nio.file.Path below() {
        return fixture.below(FILE);
    }

    /** Writes the file in steps, and closes it; each but the last is synchronised, or appended. */
    private void write(FileSystem files, String how, int bytes) throws Exception {
        FSDataOutputStream stream = files.create(FILE, true);
        if (how.equals("appended")) {
            stream.write(CONTENT, 0, bytes / 2);
            stream.close();
            while (!isPersisted()) {
                Pause.of(1);
            }
            stream = files.append(FILE);
        } else if (how.equals("synchronised")) {
            stream.write(CONTENT, 0, bytes / 2);
            stream.hsync();
        } else {
            stream.write(CONTENT, 0, bytes / 2);
        }
        stream.write(CONTENT, bytes / 2, bytes - bytes / 2);
        stream.close();
    }

    /** A record of it is a second name. */
    private boolean isPersisted() throws IOException {
        return (Integer) Files.getAttribute(below(), "unix:nlink") == 1;
    }

    /** All ways to ask for the time. */
    private Map<String, Callable<Long>> ways() throws Exception {
        Path folder = FILE.getParent();
        FileContext context = FileContext.getFileContext(URI_OF_ANY, configuration());
        Map<String, Callable<Long>> ways = new LinkedHashMap<>();
        ways.put("status", () -> files.getFileStatus(FILE).getModificationTime());
        ways.put("link", () -> files.getFileLinkStatus(FILE).getModificationTime());
        ways.put("list", () -> files.listStatus(folder)[0].getModificationTime());
        ways.put("located", () -> files.listLocatedStatus(folder).next().getModificationTime());
        ways.put("context", () -> context.getFileStatus(FILE).getModificationTime());
        ways.put("context link", () -> context.getFileLinkStatus(FILE).getModificationTime());
        ways.put("context list", () -> context.listStatus(folder).next().getModificationTime());
        return ways;
    }

    @ParameterizedTest
    @CsvSource({"whole,3000000", "whole,67", "synchronised,3000000", "synchronised,67",
        "appended,3000000", "appended,67"})
    void aFileThatIsClosedHasOneTimeWhileItIsPersisted(String how, int bytes) throws Exception {
        Map<String, Callable<Long>> ways = ways();
        if (!how.equals("appended")) {
            faults.hold();
        }
        write(files, how, bytes);
        long closed = files.getFileStatus(FILE).getModificationTime();
        Pause.of(CHANGE_MILLISECONDS);
        faults.release();
        assertOneTime(ways, closed);
    }

    private void assertOneTime(Map<String, Callable<Long>> ways, long closed) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TestServer.PATIENCE_SECONDS);
        for (boolean isLast = false; !isLast;) {
            assertTrue(System.nanoTime() < end, "it is not persisted");
            isLast = isPersisted();
            for (Map.Entry<String, Callable<Long>> way : ways.entrySet()) {
                assertEquals(closed, way.getValue().call(), way.getKey());
            }
        }
    }

    @Test
    void aFileHasItsTimeAlsoWherePersistingFailsForAWhile() throws Exception {
        Map<String, Callable<Long>> ways = ways();
        for (int step = 0; step < 8; step++) {
            faults.hold();
            write(files, "whole", CONTENT.length);
            long closed = files.getFileStatus(FILE).getModificationTime();
            Pause.of(CHANGE_MILLISECONDS);
            faults.failAt(step);
            faults.release();
            assertOneTime(ways, closed);
            assertEquals(step + 1, faults.failures());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"whole", "synchronised"})
    void whereverTheClientDiesAFileThatWasClosedKeepsItsTime(String how) throws Exception {
        boolean failed = true;
        for (int step = 0; failed; step++) {
            Faults dying = new Faults();
            FarcacheFileSystem other = open(dying);
            dying.hold();
            write(other, how, CONTENT.length);
            long closed = other.getFileStatus(FILE).getModificationTime();
            Pause.of(CHANGE_MILLISECONDS);
            dying.failAfter(step);
            dying.release();
            try {
                other.close();
            } catch (IOException e) {
                assertTrue(e.getMessage().contains("No space left"), e.toString());
            }
            failed = dying.failures() > 0;
            assertEquals(closed, files.getFileStatus(FILE).getModificationTime(), "step " + step);
            Recovery.run(URI_OF_ANY, configuration());
            assertTrue(isPersisted());
            assertEquals(closed, Files.getLastModifiedTime(below()).toMillis(), "step " + step);
            fixture.assertNothingIsLeft("heads", "times");
        }
    }

    /** At each step, by another client. */
    @ParameterizedTest
    @ValueSource(longs = {SET, -1})
    void aTimeThatIsSetWhileAFileIsPersistedStays(long set) throws Exception {
        boolean isSet = true;
        for (int step = 0; isSet; step++) {
            int moment = step;
            AtomicInteger changes = new AtomicInteger();
            List<Long> told = new CopyOnWriteArrayList<>();
            FarcacheFileSystem other = open(change -> {
                if (isPersister() && changes.getAndIncrement() == moment) {
                    files.setTimes(FILE, set, SET);
                    told.add(files.getFileStatus(FILE).getModificationTime());
                }
            });
            write(other, "whole", CONTENT.length);
            long closed = other.getFileStatus(FILE).getModificationTime();
            other.close();
            isSet = changes.get() > moment;
            assertTrue(isPersisted());
            long expected = set < 0 || !isSet ? closed : set;
            assertEquals(isSet ? 1 : 0, Collections.frequency(told, expected), "step " + step);
            assertEquals(expected, Files.getLastModifiedTime(below()).toMillis(), "step " + step);
            fixture.assertNothingIsLeft("heads", "times");
        }
    }

    @Test
    void aTimeThatIsSetBeforeAFileIsPersistedStays() throws Exception {
        faults.hold();
        write(files, "whole", CONTENT.length);
        files.setTimes(FILE, SET, -1);
        assertEquals(SET, files.getFileStatus(FILE).getModificationTime());
        faults.release();
        assertOneTime(ways(), SET);
    }
}
