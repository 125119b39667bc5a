package io.farcache.hadoop;

import io.farcache.client.FarcacheClient;
import io.farcache.client.TestServer;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
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

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What is written becomes an ordinary file, whoever dies or is full meanwhile. */
class PersistenceTest {
    private static final byte[] CONTENT = Content.of(3_000_000);
    private static final URI URI_OF_ANY = URI.create("farcache://any/");
    private static final Path FILE = new Path("/folder/file");

    @TempDir
    java.nio.file.Path names;
    private TestServer server;
    private final Faults faults = new Faults();

    @BeforeEach
    void start() throws Exception {
        server = new TestServer("-m", "256", "-M");
    }

    @AfterEach
    void stop() {
        server.close();
    }

    /** A file system with these faults, which its test has to close. */
    private FarcacheFileSystem open(String mode, Faults faults, String patience) throws Exception {
        FarcacheFileSystem files = open(names, server.address(), mode, patience);
        files.watch = faults;
        return files;
    }

    private static FarcacheFileSystem open(java.nio.file.Path names, String servers, String mode,
            String patience) throws IOException {
        Configuration configuration = configuration(names, servers, mode, patience);
        return (FarcacheFileSystem) FileSystem.get(URI_OF_ANY, configuration);
    }

    private static Configuration configuration(java.nio.file.Path names, String servers,
            String mode, String patience) {
        Configuration configuration = new Configuration();
        configuration.set(FarcacheFileSystem.SERVERS, servers);
        configuration.set(FarcacheFileSystem.NAMES_DIRECTORY, names.toString());
        configuration.set(FarcacheFileSystem.TIMEOUT, TestServer.PATIENCE_SECONDS + "s");
        configuration.set(FarcacheFileSystem.CLOSE, mode);
        configuration.set(FarcacheFileSystem.PERSIST_PATIENCE, patience);
        configuration.setBoolean("fs.farcache.impl.disable.cache", true);
        return configuration;
    }

    private java.nio.file.Path below(Path path) {
        return names.resolve(path.toUri().getPath().substring(1));
    }

    private static byte[] content(int bytes) {
        return Arrays.copyOf(CONTENT, bytes);
    }

    private static void write(FileSystem files, Path path, int bytes) throws IOException {
        try (FSDataOutputStream stream = files.create(path, true)) {
            stream.write(CONTENT, 0, bytes);
        }
    }

    private static byte[] read(FileSystem files, Path path) throws IOException {
        byte[] content = new byte[(int) files.getFileStatus(path).getLen()];
        try (FSDataInputStream stream = files.open(path)) {
            stream.readFully(content);
            assertEquals(-1, stream.read());
        }
        return content;
    }

    private long items() {
        try (FarcacheClient client = FarcacheClient.connect(server.address())) {
            return Long.parseLong(client.statistics(0, "").get("curr_items"));
        }
    }

    private void assertNothingIsPending() throws IOException {
        for (String hidden : new String[] {"pending", "heads", "times"}) {
            try (java.util.stream.Stream<java.nio.file.Path> left = Files.list(
                    names.resolve(".farcache").resolve(hidden))) {
                assertEquals(0, left.count(), hidden);
            }
        }
        assertEquals(0, items());
    }

    /** Waits for a condition that comes true by itself. */
    private interface Condition {
        boolean holds() throws Exception;
    }

    private static void await(Condition condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TestServer.PATIENCE_SECONDS);
        while (!condition.holds()) {
            assertTrue(System.nanoTime() < end, "it does not come true");
            Thread.sleep(5);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, Reference.BYTES - 1, Reference.BYTES, Reference.BYTES + 1, 524_288,
        3_000_000})
    void aFileThatIsClosedAsPersistedIsAnOrdinaryOne(int bytes) throws Exception {
        try (FarcacheFileSystem files = open("persisted", faults, "60s")) {
            write(files, FILE, bytes);
            assertArrayEquals(content(bytes), Files.readAllBytes(below(FILE)));
            assertEquals(1, Files.getAttribute(below(FILE), "unix:nlink"));
            assertArrayEquals(content(bytes), read(files, FILE));
        }
        assertNothingIsPending();
    }

    @Test
    void aFileThatIsBufferedIsReadAndRenamedAndThenPersisted() throws Exception {
        Path later = new Path("/later");
        faults.hold();
        try (FarcacheFileSystem files = open("buffered", faults, "60s")) {
            write(files, FILE, CONTENT.length);
            assertNotNull(Reference.of(below(FILE)));
            assertArrayEquals(CONTENT, read(files, FILE));
            FSDataInputStream reader = files.open(FILE);
            assertTrue(files.rename(FILE, later));
            FileTime written = Files.getLastModifiedTime(below(later));
            faults.release();
            await(() -> Reference.of(below(later)) == null && items() == 0);
            assertEquals(written, Files.getLastModifiedTime(below(later)));
            assertArrayEquals(CONTENT, Files.readAllBytes(below(later)));
            // It has nothing to read ahead from any more.
            byte[] all = new byte[CONTENT.length];
            reader.readFully(0, all);
            assertArrayEquals(CONTENT, all);
            reader.close();
        }
        assertNothingIsPending();
    }

    @Test
    void closingTheFileSystemWaitsForWhatIsBuffered() throws Exception {
        try (FarcacheFileSystem files = open("buffered", faults, "60s")) {
            for (int number = 0; number < 5; number++) {
                write(files, new Path("/" + number), CONTENT.length);
            }
        }
        for (int number = 0; number < 5; number++) {
            assertArrayEquals(CONTENT, Files.readAllBytes(below(new Path("/" + number))));
        }
        assertNothingIsPending();
    }

    @Test
    void whatIsDeletedBeforeItIsPersistedLeavesNothing() throws Exception {
        faults.hold();
        try (FarcacheFileSystem files = open("buffered", faults, "60s")) {
            write(files, FILE, CONTENT.length);
            assertTrue(files.delete(FILE, false));
            faults.release();
        }
        assertNothingIsPending();
        assertFalse(Files.exists(below(FILE)));
    }

    @Test
    void timesThatWereSetStay() throws Exception {
        try (FarcacheFileSystem files = open("buffered", faults, "60s")) {
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
        try (FarcacheFileSystem files = open(mode, faults, "60s")) {
            try (FSDataOutputStream stream = files.create(FILE)) {
                assertTrue(stream.hasCapability("hsync"));
                int written = 0;
                for (int length : lengths) {
                    stream.write(CONTENT, written, length - written);
                    written = length;
                    stream.hsync();
                    assertArrayEquals(content(length), read(files, FILE));
                    assertEquals(0, items());
                }
                stream.write(CONTENT, written, CONTENT.length - written);
            }
            assertArrayEquals(CONTENT, read(files, FILE));
        }
        assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
        assertNothingIsPending();
    }

    /** What a writer was told before everything below failed. */
    private static final class Told {
        boolean created;
        int synchronised;
        boolean closed;
    }

    private Told writeUntilItFails(FarcacheFileSystem files, int[] lengths) {
        Told told = new Told();
        try {
            FSDataOutputStream stream = files.create(FILE, true);
            told.created = true;
            int written = 0;
            for (int length : lengths) {
                if (written > 0) {
                    stream.hsync();
                    told.synchronised = written;
                }
                stream.write(CONTENT, written, length - written);
                written = length;
            }
            stream.close();
            told.closed = true;
        } catch (IOException e) {
            assertTrue(e.getMessage().contains("No space left"), e.toString());
        }
        return told;
    }

    private static void closeDying(FileSystem files) {
        try {
            files.close();
        } catch (IOException e) {
            assertTrue(e.getMessage().contains("No space left"), e.toString());
        }
    }

    /** As a process that is killed: whatever it does fails from some moment on. */
    @ParameterizedTest
    @ValueSource(strings = {"3000000", "50", "1000000,3000000", "50,90", "50,3000000"})
    void whereverTheClientDiesNothingAcknowledgedIsLost(String plan) throws Exception {
        int[] lengths = Arrays.stream(plan.split(",")).mapToInt(Integer::parseInt).toArray();
        int whole = lengths[lengths.length - 1];
        boolean failed = true;
        for (int step = 0; failed; step++) {
            Faults dying = new Faults();
            FarcacheFileSystem files = open("buffered", dying, "0s");
            dying.failAfter(step);
            Told told = writeUntilItFails(files, lengths);
            closeDying(files);
            failed = dying.failures() > 0;
            try (FarcacheFileSystem next = open("buffered", new Faults(), "60s")) {
                next.awaitPersisted(Persister.RECOVERY);
                checkAfter(next, told, whole, step);
                next.delete(FILE, false);
            }
            if (told.closed) {
                // Of a writer that died while it wrote there may be chunks that nobody knows of.
                assertNothingIsPending();
            }
        }
    }

    private void checkAfter(FarcacheFileSystem files, Told told, int whole, int step)
            throws IOException {
        if (!told.created) {
            return;
        }
        byte[] found = Files.readAllBytes(below(FILE));
        String what = "step " + step + ": " + found.length + " bytes";
        if (told.closed) {
            assertEquals(whole, found.length, what);
        }
        assertTrue(found.length >= told.synchronised && found.length <= whole, what);
        assertArrayEquals(content(found.length), found, what);
        assertArrayEquals(found, read(files, FILE), what);
    }

    /** A machine that loses its power may leave a part of what it wrote last. */
    @Test
    void aReferenceThatIsHalfOverwrittenIsOverwrittenAgain() throws Exception {
        boolean torn = false;
        for (int step = 0; !torn; step++) {
            assertTrue(step < 100, "nothing but the reference is never left");
            Faults dying = new Faults();
            FarcacheFileSystem files = open("buffered", dying, "0s");
            dying.failAfter(step);
            writeUntilItFails(files, new int[] {1_000_000, CONTENT.length});
            closeDying(files);
            torn = tear();
            try (FarcacheFileSystem next = open("buffered", new Faults(), "60s")) {
                next.awaitPersisted(Persister.RECOVERY);
            }
        }
        assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
    }

    /** Overwrites half of the reference as it is to be; false where more than that is left. */
    private boolean tear() throws IOException {
        Reference reference = Files.exists(below(FILE)) ? Reference.of(below(FILE)) : null;
        if (reference == null) {
            return false;
        }
        Heads.Head head = new Heads(names.resolve(".farcache/heads"), faults).read(reference.id);
        if (head == null || head.length < 0) {
            return false;
        }
        try (RandomAccessFile file = new RandomAccessFile(below(FILE).toFile(), "rw")) {
            file.seek(Reference.BYTES / 2);
            file.write(CONTENT, Reference.BYTES / 2, Reference.BYTES - Reference.BYTES / 2);
        }
        assertThrows(IOException.class, () -> Reference.of(below(FILE)));
        return true;
    }

    @Test
    void aFullFileSystemIsToldWhenAFileIsClosedAndNothingIsLost() throws Exception {
        try (FarcacheFileSystem files = open("persisted", faults, "0s")) {
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
        assertNothingIsPending();
    }

    @Test
    void aFullFileSystemIsToldWhenAFileIsSynchronised() throws Exception {
        try (FarcacheFileSystem files = open("buffered", faults, "0s")) {
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
        try (FarcacheFileSystem next = open("buffered", new Faults(), "60s")) {
            next.awaitPersisted(Persister.RECOVERY);
            assertArrayEquals(content(2_000_000), Files.readAllBytes(below(FILE)));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"hsync", "close"})
    void whatFailsForAWhileIsTriedAgain(String call) throws Exception {
        try (FarcacheFileSystem files = open("persisted", faults, "60s")) {
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
        assertNothingIsPending();
    }

    @Test
    void aServerThatDiesTakesWhatIsBufferedButNothingThatIsPersisted() throws Exception {
        Path buffered = new Path("/buffered");
        FarcacheFileSystem files = open("buffered", faults, "0s");
        write(files, FILE, CONTENT.length);
        await(() -> Reference.of(below(FILE)) == null && items() == 0);
        faults.hold();
        write(files, buffered, CONTENT.length);
        server.kill();
        faults.release();
        assertThrows(IOException.class, files::close);
        server = new TestServer("-m", "256", "-M");
        try (FarcacheFileSystem next = open("buffered", new Faults(), "0s")) {
            assertArrayEquals(CONTENT, read(next, FILE));
            assertThrows(IOException.class, () -> next.awaitPersisted(Persister.RECOVERY));
            IOException thrown = assertThrows(IOException.class, () -> next.open(buffered));
            assertTrue(thrown.getMessage().contains("lost"), thrown.toString());
            assertTrue(next.delete(buffered, false));
        }
    }

    /** Writes two files, and waits with the one closed but not persisted, the other open. */
    public static final class Victim {
        private Victim() {
        }

        /** Arguments: the directory of names, the servers. */
        public static void main(String[] arguments) throws Exception {
            FarcacheFileSystem files = open(java.nio.file.Paths.get(arguments[0]), arguments[1],
                    "buffered", "60s");
            Faults faults = new Faults();
            files.watch = faults;
            faults.hold();
            write(files, FILE, CONTENT.length);
            FSDataOutputStream stream = files.create(new Path("/open"));
            stream.write(CONTENT, 0, 2_000_000);
            stream.hsync();
            stream.write(CONTENT, 2_000_000, 500_000);
            System.out.println("ready");
            System.in.read();
        }
    }

    @Test
    void aClientThatIsKilledHasItsWorkFinishedAndOneThatLivesHasNot() throws Exception {
        String java = System.getProperty("java.home") + File.separator + "bin/java";
        Process victim = new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"),
                Victim.class.getName(), names.toString(), server.address())
                .redirectError(new File("/dev/null")).start();
        try {
            BufferedReader says = new BufferedReader(new InputStreamReader(
                    victim.getInputStream(), StandardCharsets.US_ASCII));
            assertEquals("ready", says.readLine());
            try (FarcacheFileSystem other = open("buffered", new Faults(), "60s")) {
                other.awaitPersisted(Persister.RECOVERY);
                assertNotNull(Reference.of(below(FILE)));
                assertArrayEquals(CONTENT, read(other, FILE));
                assertArrayEquals(content(2_000_000), read(other, new Path("/open")));
            }
        } finally {
            victim.destroyForcibly().waitFor();
        }
        Recovery.run(URI_OF_ANY, configuration(names, server.address(), "buffered", "60s"));
        assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
        assertArrayEquals(content(2_000_000), Files.readAllBytes(below(new Path("/open"))));
    }

    @Test
    void whatCannotBePromisedIsRefused() throws Exception {
        assertThrows(IOException.class, () -> open("redundant", faults, "60s"));
        assertThrows(IOException.class, () -> open("other", faults, "60s"));
        try (TestServer evicting = new TestServer("-m", "256")) {
            try (FileSystem files = open(names, evicting.address(), "buffered", "60s")) {
                IOException thrown = assertThrows(IOException.class, () -> files.create(FILE));
                assertTrue(thrown.getMessage().contains("evicts"), thrown.toString());
            }
            try (FileSystem files = open(names, evicting.address(), "persisted", "60s")) {
                write(files, FILE, CONTENT.length);
                assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
            }
        }
    }

    @Test
    void whatWouldBeTakenForAReferenceIsRefused() throws Exception {
        byte[] like = "farcache-file 1 whatever".getBytes(StandardCharsets.US_ASCII);
        try (FarcacheFileSystem files = open("persisted", faults, "60s")) {
            FSDataOutputStream stream = files.create(FILE);
            stream.write(like, 0, 10);
            assertThrows(IOException.class, () -> stream.write(like, 10, 14));
            assertThrows(IOException.class, stream::close);
        }
    }
}
