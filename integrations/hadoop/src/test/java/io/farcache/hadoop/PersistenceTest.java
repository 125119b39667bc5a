package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.attribute.FileTime;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static io.farcache.hadoop.FilesFixture.CONTENT;
import static io.farcache.hadoop.FilesFixture.FILE;
import static io.farcache.hadoop.FilesFixture.content;
import static io.farcache.hadoop.FilesFixture.read;
import static io.farcache.hadoop.FilesFixture.write;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What is written becomes an ordinary file, whoever dies or is full meanwhile. */
class PersistenceTest {
    @TempDir
    java.nio.file.Path names;
    private FilesFixture fixture;
    private final Faults faults = new Faults();

    @BeforeEach
    void start() throws Exception {
        fixture = new FilesFixture(names, "-m", "256", "-M");
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    private java.nio.file.Path below(Path path) {
        return fixture.below(path);
    }

    private static void await(Callable<Boolean> condition) throws Exception {
        FilesFixture.await(condition, () -> "it does not come true");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, Reference.BYTES - 1, Reference.BYTES, Reference.BYTES + 1, 524_288,
        3_000_000})
    void aFileThatIsClosedAsPersistedIsAnOrdinaryOne(int bytes) throws Exception {
        try (FarcacheFileSystem files = fixture.open("persisted", faults, "60s")) {
            write(files, FILE, bytes);
            assertArrayEquals(content(bytes), Files.readAllBytes(below(FILE)));
            assertEquals(1, Files.getAttribute(below(FILE), "unix:nlink"));
            assertArrayEquals(content(bytes), read(files, FILE));
        }
        fixture.assertNothingIsPending();
    }

    @Test
    void aFileThatIsBufferedIsReadAndRenamedAndThenPersisted() throws Exception {
        Path later = new Path("/later");
        faults.hold();
        try (FarcacheFileSystem files = fixture.open("buffered", faults, "60s")) {
            write(files, FILE, CONTENT.length);
            assertNotNull(Reference.of(below(FILE)));
            assertArrayEquals(CONTENT, read(files, FILE));
            FSDataInputStream reader = files.open(FILE);
            assertTrue(files.rename(FILE, later));
            FileTime written = Files.getLastModifiedTime(below(later));
            faults.release();
            await(() -> Reference.of(below(later)) == null && fixture.items() == 0);
            assertEquals(written, Files.getLastModifiedTime(below(later)));
            assertArrayEquals(CONTENT, Files.readAllBytes(below(later)));
            // It has nothing to read ahead from any more.
            byte[] all = new byte[CONTENT.length];
            reader.readFully(0, all);
            assertArrayEquals(CONTENT, all);
            reader.close();
        }
        fixture.assertNothingIsPending();
    }

    @Test
    void closingTheFileSystemWaitsForWhatIsBuffered() throws Exception {
        try (FarcacheFileSystem files = fixture.open("buffered", faults, "60s")) {
            for (int number = 0; number < 5; number++) {
                write(files, new Path("/" + number), CONTENT.length);
            }
        }
        for (int number = 0; number < 5; number++) {
            assertArrayEquals(CONTENT, Files.readAllBytes(below(new Path("/" + number))));
        }
        fixture.assertNothingIsPending();
    }

    @Test
    void whatIsDeletedBeforeItIsPersistedLeavesNothing() throws Exception {
        faults.hold();
        try (FarcacheFileSystem files = fixture.open("buffered", faults, "60s")) {
            write(files, FILE, CONTENT.length);
            assertTrue(files.delete(FILE, false));
            faults.release();
        }
        fixture.assertNothingIsPending();
        assertFalse(Files.exists(below(FILE)));
    }

    @Test
    void timesThatWereSetStay() throws Exception {
        try (FarcacheFileSystem files = fixture.open("buffered", faults, "60s")) {
            write(files, FILE, CONTENT.length);
            files.setTimes(FILE, 1_000_000_000_000L, -1);
        }
        assertEquals(FileTime.fromMillis(1_000_000_000_000L),
                Files.getLastModifiedTime(below(FILE)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"buffered", "persisted"})
    void whatIsSynchronisedIsSeenAndStays(String mode) throws Exception {
        int[] lengths = {10, Reference.BYTES - 1, Reference.BYTES, 200, 1_000_000, 2_500_000};
        try (FarcacheFileSystem files = fixture.open(mode, faults, "60s")) {
            try (FSDataOutputStream stream = files.create(FILE)) {
                assertTrue(stream.hasCapability("hsync"));
                int written = 0;
                for (int length : lengths) {
                    stream.write(CONTENT, written, length - written);
                    written = length;
                    stream.hsync();
                    assertArrayEquals(content(length), read(files, FILE));
                    assertEquals(0, fixture.items());
                }
                stream.write(CONTENT, written, CONTENT.length - written);
            }
            assertArrayEquals(CONTENT, read(files, FILE));
        }
        assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
        fixture.assertNothingIsPending();
    }

    @Test
    void aFullFileSystemIsToldWhenAFileIsClosedAndNothingIsLost() throws Exception {
        try (FarcacheFileSystem files = fixture.open("persisted", faults, "0s")) {
            FSDataOutputStream stream = files.create(FILE);
            stream.write(CONTENT);
            faults.hold();
            // All but the reference, which is written when it is closed.
            faults.failAfter(2);
            faults.release();
            IOException thrown = assertThrows(IOException.class, stream::close);
            assertTrue(thrown.getMessage().contains("No space left"), thrown.toString());
            assertArrayEquals(CONTENT, read(files, FILE));
            // It is tried further.
            int failures = faults.failures();
            await(() -> faults.failures() > failures + 1);
            faults.mend();
            await(() -> Reference.of(below(FILE)) == null);
        }
        assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
        fixture.assertNothingIsPending();
    }

    @Test
    void aFullFileSystemIsToldWhenAFileIsSynchronised() throws Exception {
        try (FarcacheFileSystem files = fixture.open("buffered", faults, "0s")) {
            FSDataOutputStream stream = files.create(FILE);
            stream.write(CONTENT, 0, 1_000_000);
            stream.hsync();
            stream.write(CONTENT, 1_000_000, 1_000_000);
            faults.failAfter(0);
            for (int call = 0; call < 2; call++) {
                IOException thrown = assertThrows(IOException.class, stream::hsync);
                assertTrue(thrown.getMessage().contains("No space left"), thrown.toString());
            }
            assertThrows(IOException.class, () -> stream.write(1));
            assertThrows(IOException.class, stream::close);
            faults.mend();
            // What could not be persisted is in the servers.
            assertArrayEquals(content(2_000_000), read(files, FILE));
        }
        try (FarcacheFileSystem next = fixture.open("buffered", new Faults(), "60s")) {
            next.awaitPersisted(Persister.RECOVERY);
            assertArrayEquals(content(2_000_000), Files.readAllBytes(below(FILE)));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"hsync", "close"})
    void whatFailsForAWhileIsTriedAgain(String call) throws Exception {
        try (FarcacheFileSystem files = fixture.open("persisted", faults, "60s")) {
            FSDataOutputStream stream = files.create(FILE);
            stream.write(CONTENT);
            if (call.equals("hsync")) {
                faults.failFor(3);
                stream.hsync();
                assertEquals(3, faults.failures());
            } else {
                faults.hold();
                Thread closing = new Thread(() -> {
                    try {
                        stream.close();
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                });
                closing.start();
                await(() -> Reference.of(below(FILE)).isWritten());
                // The reference is there; that it is on the disks is the writer's last step.
                await(() -> closing.getState() == Thread.State.TIMED_WAITING);
                faults.failFor(3);
                faults.release();
                closing.join();
                assertEquals(3, faults.failures());
                assertNull(Reference.of(below(FILE)));
            }
            stream.close();
            assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
        }
        fixture.assertNothingIsPending();
    }

    @Test
    void aServerThatDiesTakesWhatIsBufferedButNothingThatIsPersisted() throws Exception {
        Path buffered = new Path("/buffered");
        FarcacheFileSystem files = fixture.open("buffered", faults, "0s");
        write(files, FILE, CONTENT.length);
        await(() -> Reference.of(below(FILE)) == null && fixture.items() == 0);
        faults.hold();
        write(files, buffered, CONTENT.length);
        fixture.server().kill();
        faults.release();
        assertThrows(IOException.class, files::close);
        fixture.start();
        try (FarcacheFileSystem next = fixture.open("buffered", new Faults(), "0s")) {
            assertArrayEquals(CONTENT, read(next, FILE));
            assertThrows(IOException.class, () -> next.awaitPersisted(Persister.RECOVERY));
            IOException thrown = assertThrows(IOException.class, () -> next.open(buffered));
            assertTrue(thrown.getMessage().contains("lost"), thrown.toString());
            assertTrue(next.delete(buffered, false));
        }
    }

    private FarcacheFileSystem openOn(TestServer server, String mode) throws IOException {
        return FilesFixture.open(FilesFixture.configuration(names, server.address(),
                FarcacheFileSystem.CLOSE, mode));
    }

    @Test
    void whatCannotBePromisedIsRefused() throws Exception {
        assertThrows(IOException.class, () -> fixture.open("redundant", faults, "60s"));
        assertThrows(IOException.class, () -> fixture.open("other", faults, "60s"));
        try (TestServer evicting = new TestServer("-m", "256")) {
            try (FileSystem files = openOn(evicting, "buffered")) {
                IOException thrown = assertThrows(IOException.class, () -> files.create(FILE));
                assertTrue(thrown.getMessage().contains("evicts"), thrown.toString());
            }
            try (FileSystem files = openOn(evicting, "persisted")) {
                write(files, FILE, CONTENT.length);
                assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
            }
        }
    }

    @Test
    void whatWouldBeTakenForAReferenceIsRefused() throws Exception {
        byte[] like = "farcache-file 1 whatever".getBytes(StandardCharsets.US_ASCII);
        try (FarcacheFileSystem files = fixture.open("persisted", faults, "60s")) {
            FSDataOutputStream stream = files.create(FILE);
            stream.write(like, 0, 10);
            assertThrows(IOException.class, () -> stream.write(like, 10, 14));
            assertThrows(IOException.class, stream::close);
        }
    }
}
