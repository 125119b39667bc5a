package io.farcache.hadoop;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
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
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Whoever finishes the work of a client that died loses nothing that it had acknowledged. */
class DeathTest {
    @TempDir
    java.nio.file.Path names;
    private FilesFixture fixture;

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
            FarcacheFileSystem files = fixture.open("buffered", dying, "0s");
            dying.failAfter(step);
            Told told = writeUntilItFails(files, lengths);
            closeDying(files);
            failed = dying.failures() > 0;
            try (FarcacheFileSystem next = fixture.open("buffered", new Faults(), "60s")) {
                next.awaitPersisted(Persister.RECOVERY);
                checkAfter(next, told, whole, step);
                next.delete(FILE, false);
            }
            if (told.closed) {
                // Of a writer that died while it wrote there may be chunks that nobody knows of.
                fixture.assertNothingIsPending();
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
            FarcacheFileSystem files = fixture.open("buffered", dying, "0s");
            dying.failAfter(step);
            writeUntilItFails(files, new int[] {1_000_000, CONTENT.length});
            closeDying(files);
            torn = tear();
            try (FarcacheFileSystem next = fixture.open("buffered", new Faults(), "60s")) {
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
        Heads.Head head = new Heads(fixture.hidden("heads"), new Faults()).read(reference.id);
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

    /** Writes two files, and waits with the one closed but not persisted, the other open. */
    public static final class Victim {
        private Victim() {
        }

        /** Arguments: the directory of names, the servers. */
        public static void main(String[] arguments) throws Exception {
            FarcacheFileSystem files = FilesFixture.open(FilesFixture.configuration(
                    Paths.get(arguments[0]), arguments[1]));
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
                Victim.class.getName(), names.toString(), fixture.server().address())
                .redirectError(new File("/dev/null")).start();
        try {
            BufferedReader says = new BufferedReader(new InputStreamReader(
                    victim.getInputStream(), StandardCharsets.US_ASCII));
            assertEquals("ready", says.readLine());
            try (FarcacheFileSystem other = fixture.open("buffered", new Faults(), "60s")) {
                other.awaitPersisted(Persister.RECOVERY);
                assertNotNull(Reference.of(below(FILE)));
                assertArrayEquals(CONTENT, read(other, FILE));
                assertArrayEquals(content(2_000_000), read(other, new Path("/open")));
            }
        } finally {
            victim.destroyForcibly().waitFor();
        }
        Recovery.run(FilesFixture.URI_OF_ANY, fixture.configuration());
        assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
        assertArrayEquals(content(2_000_000), Files.readAllBytes(below(new Path("/open"))));
    }
}
