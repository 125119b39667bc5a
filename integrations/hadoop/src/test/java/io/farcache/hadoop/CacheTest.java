package io.farcache.hadoop;

import io.farcache.client.FarcacheClient;
import io.farcache.client.TestServer;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static io.farcache.hadoop.FilesFixture.CONTENT;
import static io.farcache.hadoop.FilesFixture.FILE;
import static io.farcache.hadoop.FilesFixture.await;
import static io.farcache.hadoop.FilesFixture.read;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Ordinary files are read from the servers where they are there, and never as they were before. */
class CacheTest {
    private static final int CHUNKS = 6;

    @TempDir
    java.nio.file.Path names;
    private FilesFixture fixture;
    private FarcacheFileSystem files;

    @BeforeEach
    void start() throws Exception {
        fixture = new FilesFixture(names, "-m", "256");
        files = open(TestServer.PATIENCE_SECONDS + "s", "true", "0s");
    }

    @AfterEach
    void stop() throws Exception {
        try {
            files.close();
        } finally {
            fixture.close();
        }
    }

    private FarcacheFileSystem open(String timeout, String reads, String settle)
            throws IOException {
        return fixture.open(FarcacheFileSystem.TIMEOUT, timeout, FarcacheFileSystem.CLOSE,
                "persisted", FarcacheFileSystem.CACHE_READS, reads,
                FarcacheFileSystem.CACHE_SETTLE, settle);
    }

    private java.nio.file.Path below(Path path) {
        return fixture.below(path);
    }

    private void write(Path path) throws IOException {
        FilesFixture.write(files, path, CONTENT.length);
    }

    /** A file that another program has written. */
    private void writeBelow(byte[] content) throws Exception {
        Files.createDirectories(below(FILE).getParent());
        Files.write(below(FILE), content);
        awaitTick();
    }

    /** Waits until whoever changes the file gives it another time: clocks below tick by the ms. */
    private void awaitTick() throws Exception {
        FileClock clock = new FileClock(fixture.hidden("clock"));
        while (clock.now() <= Identity.of(below(FILE)).changed) {
            Thread.sleep(1);
        }
    }

    private void assertRead(byte[] content, int bytesFromServers) throws IOException {
        long before = files.cache().bytesRead.get();
        assertArrayEquals(content, read(files, FILE));
        assertEquals(bytesFromServers, files.cache().bytesRead.get() - before);
    }

    private static byte[] changed() {
        byte[] changed = CONTENT.clone();
        changed[1_700_000] ^= 1;
        return changed;
    }

    private void awaitItems(long count) throws Exception {
        await(() -> fixture.items() == count, () -> fixture.items() + " items, not " + count);
    }

    /** As another program has it in the servers. */
    private String keyOfCopy() throws IOException {
        byte[] id = Files.readAllBytes(fixture.hidden("id"));
        return "file:" + new String(id, StandardCharsets.US_ASCII) + ":"
                + Files.getAttribute(below(FILE), "unix:ino");
    }

    @Test
    void whatIsPersistedIsReadFromTheServers() throws Exception {
        write(FILE);
        assertArrayEquals(CONTENT, Files.readAllBytes(below(FILE)));
        // The blob stays; that it is of this file stands in a line.
        assertEquals(CHUNKS + 2, fixture.items());
        assertRead(CONTENT, CONTENT.length);
    }

    @Test
    void whatIsReadBelowIsReadFromTheServersTheNextTime() throws Exception {
        writeBelow(CONTENT);
        assertRead(CONTENT, 0);
        awaitItems(CHUNKS + 1);
        assertRead(CONTENT, CONTENT.length);
    }

    @Test
    void whatIsReadBelowIsNotStoredWhereThatIsNotWanted() throws Exception {
        writeBelow(CONTENT);
        try (FarcacheFileSystem other = open("60s", "false", "0s")) {
            assertArrayEquals(CONTENT, read(other, FILE));
            assertEquals(0, fixture.items());
            write(FILE);
            long before = other.cache().bytesRead.get();
            assertArrayEquals(CONTENT, read(other, FILE));
            assertEquals(CONTENT.length, other.cache().bytesRead.get() - before);
        }
    }

    @Test
    void whatHasJustBeenChangedIsNotStored() throws Exception {
        writeBelow(CONTENT);
        try (FarcacheFileSystem other = open("60s", "true", "1h")) {
            assertArrayEquals(CONTENT, read(other, FILE));
        }
        assertEquals(0, fixture.items());
    }

    /** What another program does to a file. */
    private void change(String how, byte[] changed) throws Exception {
        awaitTick();
        java.nio.file.Path file = below(FILE);
        FileTime modified = Files.getLastModifiedTime(file);
        if (how.equals("replaced") || how.equals("replaced with its time")) {
            java.nio.file.Path fresh = names.resolve("fresh");
            Files.write(fresh, changed);
            if (how.endsWith("time")) {
                Files.setLastModifiedTime(fresh, modified);
            }
            Files.move(fresh, file, StandardCopyOption.REPLACE_EXISTING);
            return;
        }
        try (RandomAccessFile opened = new RandomAccessFile(file.toFile(), "rw")) {
            opened.write(changed);
            opened.setLength(changed.length);
        }
        if (how.equals("in place, its time restored")) {
            Files.setLastModifiedTime(file, modified);
        }
    }

    @ParameterizedTest
    @CsvSource({"persisted,in place", "persisted,'in place, its time restored'",
        "persisted,replaced", "persisted,replaced with its time", "persisted,shortened",
        "persisted,lengthened", "read,in place", "read,'in place, its time restored'",
        "read,replaced", "read,replaced with its time", "read,shortened", "read,lengthened"})
    void aFileThatIsChangedBelowIsReadAsItIs(String origin, String how) throws Exception {
        if (origin.equals("persisted")) {
            write(FILE);
        } else {
            writeBelow(CONTENT);
            assertRead(CONTENT, 0);
        }
        awaitItems(CHUNKS + (origin.equals("persisted") ? 2 : 1));
        assertRead(CONTENT, CONTENT.length);
        int length = how.equals("shortened") ? 2_000_000 : CONTENT.length;
        byte[] changed = Arrays.copyOf(changed(), how.equals("lengthened") ? 3_000_001 : length);
        change(how, changed);
        assertRead(changed, 0);
    }

    @Test
    void aFileThatIsChangedAtOnceAfterItWasPersistedIsReadAsItIs() throws Exception {
        for (int round = 0; round < 20; round++) {
            write(FILE);
            byte[] changed = changed();
            changed[round] ^= 1;
            try (RandomAccessFile opened = new RandomAccessFile(below(FILE).toFile(), "rw")) {
                opened.write(changed);
            }
            assertArrayEquals(changed, read(files, FILE), "round " + round);
        }
    }

    @Test
    void aChunkThatIsEvictedOrDamagedIsReadBelow() throws Exception {
        writeBelow(CONTENT);
        assertRead(CONTENT, 0);
        try (FarcacheClient client = FarcacheClient.connect(fixture.server().address())) {
            CachedCopy copy = CachedCopy.parse(client.get(keyOfCopy()));
            assertTrue(client.delete(copy.key(2)));
            client.set(copy.key(4), new byte[copy.bytesOf(4)], 0);
            client.set(copy.key(5), new byte[1], 0);
            assertRead(CONTENT, 3 * copy.chunkBytes);
            // And is stored again.
            awaitItems(CHUNKS + 1);
            for (int chunk : new int[] {4, 5}) {
                byte[] stored = Arrays.copyOfRange(CONTENT, chunk * copy.chunkBytes,
                        chunk * copy.chunkBytes + copy.bytesOf(chunk));
                await(() -> Arrays.equals(stored, files.cache().get(copy.key(chunk)).get().value()),
                        () -> "damaged chunk " + chunk + " is still there");
            }
            assertRead(CONTENT, CONTENT.length);
            client.delete(copy.key(0));
            byte[] damaged = "farcache-cached 1 what".getBytes(StandardCharsets.US_ASCII);
            client.set(keyOfCopy(), damaged, 0);
        }
        assertArrayEquals(CONTENT, read(files, FILE));
    }

    /** The key of a chunk of the blob that was kept, as its manifest tells. */
    private String keyOfChunk(FarcacheClient client, int index) throws IOException {
        CachedCopy copy = CachedCopy.parse(client.get(keyOfCopy()));
        byte[] manifest = client.get("blob:" + copy.blob);
        StringBuilder id = new StringBuilder();
        for (int offset = 24; offset < 40; offset++) {
            id.append(String.format("%02x", manifest[offset]));
        }
        return "chunk:" + id + ":" + index;
    }

    @ParameterizedTest
    @ValueSource(strings = {"evicted", "damaged", "without its manifest"})
    void aBlobThatHasLostSomethingIsReadBelowAndReplaced(String how) throws Exception {
        write(FILE);
        try (FarcacheClient client = FarcacheClient.connect(fixture.server().address())) {
            if (how.equals("evicted")) {
                assertTrue(client.delete(keyOfChunk(client, 2)));
            } else if (how.equals("damaged")) {
                client.set(keyOfChunk(client, 2), new byte[512 << 10], 0);
            } else {
                CachedCopy copy = CachedCopy.parse(client.get(keyOfCopy()));
                assertTrue(client.delete("blob:" + copy.blob));
            }
        }
        assertArrayEquals(CONTENT, read(files, FILE));
        // What is read below is stored, in the place of what was left of the blob.
        awaitItems(CHUNKS + 1 + (how.equals("without its manifest") ? CHUNKS : 0));
        assertRead(CONTENT, CONTENT.length);
    }

    @Test
    void allOfItMayBeEvictedWhileItIsRead() throws Exception {
        write(FILE);
        byte[] found = new byte[CONTENT.length];
        try (FSDataInputStream stream = files.open(FILE)) {
            stream.readFully(0, found, 0, 1_000_000);
            try (FarcacheClient client = FarcacheClient.connect(fixture.server().address())) {
                client.flush(0, 0);
            }
            stream.readFully(1_000_000, found, 1_000_000, 2_000_000);
        }
        assertArrayEquals(CONTENT, found);
    }

    @Test
    void aServerThatDiesIsDoneWithout() throws Exception {
        write(FILE);
        byte[] found = new byte[CONTENT.length];
        try (FSDataInputStream stream = files.open(FILE)) {
            stream.readFully(0, found, 0, 1_000_000);
            fixture.server().kill();
            stream.readFully(1_000_000, found, 1_000_000, 2_000_000);
        }
        assertArrayEquals(CONTENT, found);
        assertArrayEquals(CONTENT, read(files, FILE));
        try (FarcacheFileSystem other = open("60s", "true", "0s")) {
            assertArrayEquals(CONTENT, read(other, FILE));
            assertTrue(other.rename(FILE, new Path("/other")));
            assertTrue(other.delete(new Path("/other"), false));
        }
    }

    @Test
    void aServerThatDoesNotAnswerIsDoneWithout() throws Exception {
        write(FILE);
        try (FarcacheFileSystem other = open("1s", "true", "0s")) {
            assertArrayEquals(CONTENT, read(other, FILE));
            fixture.server().freeze(true);
            try {
                assertArrayEquals(CONTENT, read(other, FILE));
            } finally {
                fixture.server().freeze(false);
            }
        }
    }

    @Test
    void whatIsRenamedOrPermittedStays() throws Exception {
        Path later = new Path("/later");
        write(FILE);
        assertTrue(files.rename(FILE, later));
        files.setPermission(later, new FsPermission((short) 0600));
        assertTrue(files.rename(new Path("/folder"), new Path("/other")));
        assertTrue(files.rename(later, new Path("/other/file")));
        assertTrue(files.rename(new Path("/other"), new Path("/folder")));
        assertRead(CONTENT, CONTENT.length);
    }

    @ParameterizedTest
    @ValueSource(strings = {"deleted", "overwritten"})
    void whatIsGoneLeavesNothing(String how) throws Exception {
        write(FILE);
        if (how.equals("deleted")) {
            assertTrue(files.delete(FILE, false));
        } else {
            files.create(FILE, true).close();
        }
        awaitItems(0);
    }

    /** Servers for those who buffer may evict nothing but this. */
    @Test
    void whatIsKeptGivesWayToWhatIsWritten() throws Exception {
        int count = 40;
        try (TestServer full = new TestServer("-m", "64", "-M", "--evict-expiring")) {
            Configuration configuration = new Configuration();
            FilesFixture.configure(configuration, full.address(), names);
            configuration.set(FarcacheFileSystem.CLOSE, "persisted");
            try (FileSystem other = FileSystem.get(URI.create("farcache://any/"), configuration);
                    FarcacheClient client = FarcacheClient.connect(full.address())) {
                for (int number = 0; number < count; number++) {
                    Path file = new Path("/" + number);
                    FilesFixture.write(other, file, CONTENT.length);
                    assertArrayEquals(CONTENT, read(other, file));
                }
                assertTrue(Long.parseLong(client.statistics(0, "").get("evictions")) > CHUNKS);
                assertTrue(((FarcacheFileSystem) other).cache().bytesRead.get() >= CONTENT.length);
            }
        }
        for (int number = 0; number < count; number++) {
            assertArrayEquals(CONTENT, Files.readAllBytes(below(new Path("/" + number))));
        }
    }

    @Test
    void anyPlaceIsReadAsItIs() throws Exception {
        write(FILE);
        try (FSDataInputStream stream = files.open(FILE)) {
            byte[] found = new byte[700_000];
            for (int position = 2_999_999; position >= 0; position -= 123_457) {
                int there = Math.min(found.length, CONTENT.length - position);
                stream.readFully(position, found, 0, there);
                assertArrayEquals(Arrays.copyOfRange(CONTENT, position, position + there),
                        Arrays.copyOf(found, there), "at " + position);
            }
            assertEquals(-1, stream.read(CONTENT.length, found, 0, 1));
        }
    }

    @Test
    void aLineThatIsDamagedIsNone() {
        Identity identity = new Identity(1, 2, 1, 3_000_000, -4, 5);
        String id = "0123456789abcdef0123456789abcdef";
        assertTold(CachedCopy.of(identity, id, 1000).bytes());
        byte[] line = CachedCopy.ofBlob(identity, id + "-0").bytes();
        assertEquals(id + "-0", CachedCopy.parse(line).blob);
        assertTold(line);
    }

    private static void assertTold(byte[] line) {
        assertTrue(CachedCopy.parse(line).isOf(new Identity(9, 9, 1, 3_000_000, -4, 5)));
        for (int offset = 0; offset < line.length; offset++) {
            byte[] damaged = line.clone();
            damaged[offset] ^= 1;
            assertEquals(null, CachedCopy.parse(damaged), "" + offset);
            assertEquals(null, CachedCopy.parse(Arrays.copyOf(line, offset)), "" + offset);
        }
    }

    @Test
    void aLinkIsReadAsItsFile() throws Exception {
        write(FILE);
        Files.createSymbolicLink(names.resolve("link"), below(FILE));
        assertArrayEquals(CONTENT, read(files, new Path("/link")));
        change("in place", changed());
        assertArrayEquals(changed(), read(files, new Path("/link")));
    }
}
