package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What is written survives the loss of a server before it is persisted. */
class RedundancyTest {
    private static final byte[] CONTENT = Content.of(5_000_000);
    private static final URI URI_OF_ANY = URI.create("farcache://any/");
    private static final Path FILE = new Path("/folder/file");
    private static final String[] OPTIONS = {"-m", "128", "-M", "--evict-expiring"};

    @TempDir
    java.nio.file.Path names;
    private final Faults faults = new Faults();

    private Configuration configuration(Fleet fleet, String redundancy, String mode) {
        Configuration configuration = new Configuration();
        configuration.set(FarcacheFileSystem.SERVERS, fleet.addresses());
        configuration.set(FarcacheFileSystem.NAMES_DIRECTORY, names.toString());
        configuration.set(FarcacheFileSystem.TIMEOUT, TestServer.PATIENCE_SECONDS + "s");
        configuration.set(FarcacheFileSystem.REDUNDANCY, redundancy);
        configuration.set(FarcacheFileSystem.CLOSE, mode);
        configuration.setBoolean("fs.farcache.impl.disable.cache", true);
        return configuration;
    }

    private FarcacheFileSystem open(Configuration configuration) throws IOException {
        FarcacheFileSystem files = (FarcacheFileSystem) FileSystem.get(URI_OF_ANY, configuration);
        files.watch = faults;
        return files;
    }

    private FarcacheFileSystem open(Fleet fleet, String redundancy, String mode)
            throws IOException {
        return open(configuration(fleet, redundancy, mode));
    }

    private static byte[] content(int bytes) {
        return Arrays.copyOf(CONTENT, bytes);
    }

    private static byte[] read(FileSystem files, int bytes) throws IOException {
        byte[] content = new byte[bytes];
        try (FSDataInputStream stream = files.open(FILE)) {
            stream.readFully(content);
            assertEquals(-1, stream.read());
        }
        return content;
    }

    private java.nio.file.Path below() {
        return names.resolve("folder/file");
    }

    @Test
    void whatCannotBePromisedIsRefused() throws Exception {
        try (Fleet fleet = new Fleet(1, OPTIONS)) {
            IOException thrown = assertThrows(IOException.class,
                    () -> open(fleet, "none", "redundant"));
            assertTrue(thrown.getMessage().contains(FarcacheFileSystem.REDUNDANCY),
                    thrown.toString());
            for (String redundancy : new String[] {"replicate:2", "ec:2,1", "copies"}) {
                assertThrows(IOException.class, () -> open(fleet, redundancy, "redundant"));
            }
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = ' ', value = {"replicate:2 0", "replicate:2 1", "replicate:2 2",
        "ec:2,1 0", "ec:2,1 1", "ec:2,1 2"})
    void whatIsClosedSurvivesTheLossOfAnyServerAndIsPersisted(String redundancy, int lost)
            throws Exception {
        try (Fleet fleet = new Fleet(3, OPTIONS)) {
            faults.hold();
            try (FarcacheFileSystem files = open(fleet, redundancy, "redundant")) {
                try (FSDataOutputStream stream = files.create(FILE)) {
                    stream.write(CONTENT);
                }
                assertNotNull(Reference.of(below()));
                fleet.kill(lost);
                assertArrayEquals(CONTENT, read(files, CONTENT.length));
                faults.release();
            }
            assertArrayEquals(CONTENT, Files.readAllBytes(below()));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"replicate:2", "ec:2,1"})
    void aFileIsWrittenThroughTheLossOfAServer(String redundancy) throws Exception {
        for (int lost = 0; lost < 3; lost++) {
            try (Fleet fleet = new Fleet(3, OPTIONS);
                    FarcacheFileSystem files = open(fleet, redundancy, "redundant")) {
                FSDataOutputStream stream = files.create(FILE, true);
                stream.write(CONTENT, 0, 2_000_000);
                fleet.kill(lost);
                stream.write(CONTENT, 2_000_000, CONTENT.length - 2_000_000);
                stream.close();
                assertArrayEquals(CONTENT, read(files, CONTENT.length));
                // Another one is begun without it.
                try (FSDataOutputStream later = files.create(new Path("/later"), true)) {
                    later.write(CONTENT);
                }
            }
            assertArrayEquals(CONTENT, Files.readAllBytes(below()));
            assertArrayEquals(CONTENT, Files.readAllBytes(names.resolve("later")));
        }
    }

    /** Nothing is written below until then, so it is the servers that have it. */
    @ParameterizedTest
    @ValueSource(strings = {"replicate:2", "ec:2,1"})
    void whatIsFlushedIsSeenAndSurvivesItsWriterAndAServer(String redundancy) throws Exception {
        int[] lengths = {200, 1_000_000, 1_000_001, 2_500_000};
        Faults dying = new Faults();
        try (Fleet fleet = new Fleet(3, OPTIONS)) {
            Configuration configuration = configuration(fleet, redundancy, "redundant");
            configuration.set(FarcacheFileSystem.PERSIST_PATIENCE, "0s");
            FarcacheFileSystem files = open(configuration);
            files.watch = dying;
            FSDataOutputStream stream = files.create(FILE);
            dying.failAfter(0);
            try (FarcacheFileSystem other = open(fleet, redundancy, "redundant")) {
                int written = 0;
                for (int length : lengths) {
                    stream.write(CONTENT, written, length - written);
                    written = length;
                    stream.hflush();
                    assertArrayEquals(content(length), read(other, length));
                }
                stream.write(CONTENT, written, 1000);
                fleet.kill(1);
                assertArrayEquals(content(written), read(other, written));
            }
            // It cannot write below any more: as if it were dead.
            assertThrows(IOException.class, stream::close);
            files.close();
            try (FarcacheFileSystem next = open(fleet, redundancy, "redundant")) {
                next.awaitPersisted(Persister.RECOVERY);
            }
        }
        byte[] found = Files.readAllBytes(below());
        assertArrayEquals(content(found.length), found);
        assertTrue(found.length >= 2_500_000, found.length + " bytes");
    }

    /** All that was promised to be below is, whatever becomes of the servers. */
    @Test
    void whatIsPersistedIsThereWithoutAnyServer() throws Exception {
        try (Fleet fleet = new Fleet(3, OPTIONS)) {
            try (FarcacheFileSystem files = open(fleet, "ec:2,1", "persisted")) {
                try (FSDataOutputStream stream = files.create(FILE)) {
                    stream.write(CONTENT);
                }
                fleet.killAll();
                assertArrayEquals(CONTENT, read(files, CONTENT.length));
                fleet.startAllAgain();
                assertArrayEquals(CONTENT, read(files, CONTENT.length));
            }
            assertArrayEquals(CONTENT, Files.readAllBytes(below()));
        }
    }

    /** Below is full for a while, and then the servers: writers wait for room, and get it. */
    @ParameterizedTest
    @ValueSource(strings = {"none", "replicate:2", "ec:2,1"})
    void writersWaitWhereServersAreFull(String redundancy) throws Exception {
        int files = 14;
        byte[] content = Content.of(16 << 20);
        try (Fleet fleet = new Fleet(3, "-m", "64", "-M")) {
            faults.hold();
            faults.failBehindFor(5);
            Thread mending = new Thread(() -> {
                while (fleet.refusals() == 0 && !Thread.interrupted()) {
                    Thread.yield();
                }
                faults.release();
            });
            mending.start();
            try (FarcacheFileSystem system = open(fleet, redundancy, "buffered")) {
                for (int number = 0; number < files; number++) {
                    try (FSDataOutputStream stream = system.create(new Path("/" + number))) {
                        stream.write(content);
                    }
                }
            } finally {
                mending.interrupt();
                mending.join();
            }
            assertTrue(fleet.refusals() > 0, "the servers were never full");
            assertEquals(5, faults.failures());
        }
        for (int number = 0; number < files; number++) {
            assertArrayEquals(content, Files.readAllBytes(names.resolve("" + number)));
        }
    }

    @Test
    void noMoreIsPersistedThanTheBandwidthAllows() {
        Pace pace = new Pace(1_000_000);
        long now = System.nanoTime() + 1_000_000_000L;
        assertEquals(0, pace.turn(2_000_000, now));
        assertEquals(2_000_000_000L, pace.turn(500_000, now));
        assertEquals(2_000_000_000L, pace.turn(500_000, now + 500_000_000L));
        // What was not used is not saved up.
        assertEquals(0, pace.turn(1, now + 60_000_000_000L));
    }
}
