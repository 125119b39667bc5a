package io.farcache.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.apache.hadoop.HadoopIllegalArgumentException;
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
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Files grow and shrink at their end, and lose nothing of what they had. */
class AppendTest {
    @TempDir
    java.nio.file.Path names;
    private FilesFixture fixture;

    @BeforeEach
    void start() throws Exception {
        fixture = new FilesFixture(names, "-m", "256", "-M", "--evict-expiring");
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    private java.nio.file.Path below() {
        return fixture.below(FILE);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, Reference.BYTES, Reference.BYTES + 1, 700_000})
    void aFileThatIsAppendedToIsSeenAsItGrows(int bytes) throws Exception {
        try (FarcacheFileSystem files = fixture.open("buffered", new Faults(), "60s")) {
            write(files, FILE, bytes);
            int length = bytes;
            for (int more : new int[] {1, 100, 800_000}) {
                try (FSDataOutputStream stream = files.append(FILE)) {
                    assertEquals(length, stream.getPos());
                    if (length > 0) {
                        assertArrayEquals(content(length), read(files, FILE));
                    }
                    stream.write(CONTENT, length, more);
                    stream.hsync();
                    assertArrayEquals(content(length + more), read(files, FILE));
                    stream.write(CONTENT, length + more, 7);
                }
                length += more + 7;
                assertArrayEquals(content(length), read(files, FILE));
            }
            files.append(FILE).close();
        }
        int appended = bytes + 1 + 100 + 800_000 + 3 * 7;
        assertArrayEquals(content(appended), Files.readAllBytes(below()));
        assertEquals(1, Files.getAttribute(below(), "unix:nlink"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"from the servers", "below"})
    void whoHasTheFileOpenReadsWhatItHeld(String where) throws Exception {
        try (FarcacheFileSystem files = fixture.open("persisted", new Faults(), "60s")) {
            write(files, FILE, 900_000);
            if (where.equals("below")) {
                Files.setLastModifiedTime(below(), Files.getLastModifiedTime(names));
            }
            byte[] found = new byte[900_000];
            try (FSDataInputStream reader = files.open(FILE);
                    FSDataOutputStream stream = files.append(FILE)) {
                stream.write(CONTENT, 900_000, 100);
                assertTrue(Reference.of(below()) != null, "it is being written");
                reader.readFully(0, found);
                assertArrayEquals(content(900_000), found);
            }
            assertArrayEquals(content(900_100), read(files, FILE));
        }
    }

    @Test
    void oneWriterAppendsAtATime() throws Exception {
        try (FarcacheFileSystem files = fixture.open("buffered", new Faults(), "0s");
                FarcacheFileSystem others = fixture.open("buffered", new Faults(), "0s")) {
            write(files, FILE, 900_000);
            try (FSDataOutputStream stream = files.append(FILE)) {
                assertThrows(IOException.class, () -> files.append(FILE));
                assertThrows(IOException.class, () -> others.append(FILE));
                assertThrows(IOException.class, () -> others.truncate(FILE, 1));
                stream.write(CONTENT, 900_000, 100);
            }
        }
        assertArrayEquals(content(900_100), Files.readAllBytes(below()));
    }

    /** As a process that is killed: whatever it does fails from some moment on. */
    @ParameterizedTest
    @ValueSource(ints = {50, 600_000})
    void whereverTheWriterDiesNothingAcknowledgedIsLost(int before) throws Exception {
        int[] lengths = {before, before + 60, before + 900_000};
        boolean failed = true;
        for (int step = 0; failed; step++) {
            try (FarcacheFileSystem files = fixture.open("persisted", new Faults(), "60s")) {
                write(files, FILE, before);
            }
            Faults dying = new Faults();
            FarcacheFileSystem files = fixture.open("buffered", dying, "0s");
            dying.failAfter(step);
            int acknowledged = appendUntilItFails(files, lengths);
            closeDying(files);
            failed = dying.failures() > 0;
            if (failed && acknowledged < lengths[2]) {
                tear();
            }
            try (FarcacheFileSystem next = fixture.open("buffered", new Faults(), "60s")) {
                next.awaitPersisted(Persister.RECOVERY);
                byte[] found = Files.readAllBytes(below());
                String what = "step " + step + ": " + found.length + " bytes";
                assertTrue(found.length >= acknowledged && found.length <= lengths[2], what);
                assertArrayEquals(content(found.length), found, what);
                assertArrayEquals(found, read(next, FILE), what);
            }
        }
    }

    private static int appendUntilItFails(FarcacheFileSystem files, int[] lengths) {
        int acknowledged = lengths[0];
        try {
            FSDataOutputStream stream = files.append(FILE);
            stream.write(CONTENT, lengths[0], lengths[1] - lengths[0]);
            stream.hsync();
            acknowledged = lengths[1];
            stream.write(CONTENT, lengths[1], lengths[2] - lengths[1]);
            stream.close();
            acknowledged = lengths[2];
        } catch (IOException e) {
            assertTrue(e.getMessage().contains("No space left"), e.toString());
        }
        return acknowledged;
    }

    private static void closeDying(FileSystem files) {
        try {
            files.close();
        } catch (IOException e) {
            assertTrue(e.getMessage().contains("No space left"), e.toString());
        }
    }

    /** Where the reference is just being put there, half of it may be, as after a power loss. */
    private void tear() throws IOException {
        Reference reference = Reference.of(below());
        if (reference == null) {
            return;
        }
        Heads.Head head = new Heads(fixture.hidden("heads"), change -> {
        }).read(reference.id);
        if (head != null && head.length >= 0) {
            byte[] half = Arrays.copyOfRange(head.bytes, head.bytes.length / 2,
                    head.bytes.length);
            try (java.nio.channels.FileChannel file = java.nio.channels.FileChannel.open(below(),
                    StandardOpenOption.WRITE)) {
                file.write(java.nio.ByteBuffer.wrap(half), head.bytes.length / 2);
            }
        }
    }

    @Test
    void aFileThatIsTruncatedIsShorterAtOnce() throws Exception {
        try (FarcacheFileSystem files = fixture.open("buffered", new Faults(), "60s")) {
            write(files, FILE, 900_000);
            for (int length : new int[] {900_000, 500_000, Reference.BYTES, 1, 0}) {
                assertTrue(files.truncate(FILE, length));
                assertArrayEquals(content(length), read(files, FILE));
                assertArrayEquals(content(length), Files.readAllBytes(below()));
                assertThrows(HadoopIllegalArgumentException.class,
                        () -> files.truncate(FILE, length + 1));
            }
        }
    }
}
