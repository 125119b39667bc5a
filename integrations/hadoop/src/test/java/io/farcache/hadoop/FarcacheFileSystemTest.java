package io.farcache.hadoop;

import io.farcache.client.FarcacheClient;
import io.farcache.client.TestServer;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What the contract tests do not ask: servers, names of others, what is left behind. */
class FarcacheFileSystemTest {
    private static final byte[] CONTENT = Content.of(3_000_000);
    private static final Path FILE = new Path("/folder/file");

    @TempDir
    java.nio.file.Path names;
    private TestServer server;
    private FileSystem files;
    private final Faults faults = new Faults();

    @BeforeEach
    void start() throws Exception {
        server = new TestServer("-m", "256", "-M");
        Configuration configuration = new Configuration();
        FilesFixture.configure(configuration, server.address(), names);
        files = FileSystem.get(URI.create("farcache://any/"), configuration);
        ((FarcacheFileSystem) files).watch = faults;
    }

    @AfterEach
    void stop() throws Exception {
        faults.release();
        faults.mend();
        try {
            files.close();
        } finally {
            server.close();
        }
    }

    private void write(Path path, byte[] content) throws IOException {
        try (FSDataOutputStream stream = files.create(path, true)) {
            stream.write(content);
        }
    }

    private byte[] read(Path path) throws IOException {
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

    @Test
    void dataAreInTheServersUntilTheyArePersisted() throws Exception {
        faults.hold();
        write(FILE, CONTENT);
        assertArrayEquals(CONTENT, read(FILE));
        // Six chunks and a manifest.
        assertEquals(7, items());
        assertEquals(CONTENT.length, Reference.read(names.resolve("folder/file")).length());
    }

    @Test
    void whatIsDeletedOrOverwrittenLeavesNothingBehind() throws Exception {
        faults.hold();
        write(FILE, CONTENT);
        write(FILE, Arrays.copyOf(CONTENT, 1000));
        assertEquals(2, items());
        write(new Path("/folder/below/other"), CONTENT);
        assertTrue(files.delete(new Path("/folder"), true));
        assertEquals(0, items());
        faults.release();
        files.close();
        for (String hidden : new String[] {"removed", "pending", "heads"}) {
            try (java.util.stream.Stream<java.nio.file.Path> left = Files.list(
                    names.resolve(".farcache").resolve(hidden))) {
                assertEquals(0, left.count(), hidden);
            }
        }
    }

    @Test
    void aFileThatIsRenamedWhileItIsWrittenIsWhole() throws Exception {
        Path later = new Path("/folder/later");
        try (FSDataOutputStream stream = files.create(FILE)) {
            stream.write(CONTENT, 0, 1_000_000);
            assertTrue(files.rename(FILE, later));
            stream.write(CONTENT, 1_000_000, 2_000_000);
        }
        assertArrayEquals(CONTENT, read(later));
        assertFalse(files.exists(FILE));
    }

    @Test
    void aFileThatIsBeingWrittenCannotBeRead() throws Exception {
        try (FSDataOutputStream stream = files.create(FILE)) {
            stream.write(CONTENT);
            assertEquals(0, files.getFileStatus(FILE).getLen());
            IOException thrown = assertThrows(IOException.class, () -> files.open(FILE));
            assertTrue(thrown.getMessage().contains("being written"), thrown.toString());
        }
        assertArrayEquals(CONTENT, read(FILE));
    }

    @Test
    void ordinaryFilesAreReadAsTheyAre() throws Exception {
        Files.createDirectories(names.resolve("folder"));
        Files.write(names.resolve("folder/file"), CONTENT);
        assertArrayEquals(CONTENT, read(FILE));
        assertEquals(0, items());
        assertTrue(files.delete(FILE, false));
        assertFalse(Files.exists(names.resolve("folder/file")));
    }

    @Test
    void aDamagedReferenceIsAnError() throws Exception {
        faults.hold();
        write(FILE, CONTENT);
        java.nio.file.Path name = names.resolve("folder/file");
        byte[] reference = Files.readAllBytes(name);
        for (int offset = 14; offset < reference.length; offset++) {
            byte[] damaged = reference.clone();
            damaged[offset] ^= 1;
            Files.write(name, damaged);
            assertThrows(IOException.class, () -> files.open(FILE), "" + offset);
        }
        Files.write(name, "farcache-file ".getBytes(StandardCharsets.US_ASCII));
        assertThrows(IOException.class, () -> files.open(FILE));
        Files.write(name, reference);
        assertArrayEquals(CONTENT, read(FILE));
    }

    @Test
    void lostDataAreAnErrorAndNoZeros() throws Exception {
        faults.hold();
        write(FILE, CONTENT);
        FSDataInputStream stream = files.open(FILE);
        try (FarcacheClient client = FarcacheClient.connect(server.address())) {
            client.flush(0, 0);
        }
        byte[] some = new byte[10];
        assertThrows(IOException.class, () -> stream.readFully(0, some));
        IOException thrown = assertThrows(IOException.class, () -> files.open(FILE));
        assertTrue(thrown.getMessage().contains("lost"), thrown.toString());
        stream.close();
        // The name can be removed all the same.
        assertTrue(files.delete(FILE, false));
    }

    @Test
    void aServerThatDiesFailsTheWriter() throws Exception {
        FSDataOutputStream stream = files.create(FILE);
        stream.write(CONTENT);
        server.kill();
        assertThrows(IOException.class, () -> {
            stream.write(CONTENT);
            stream.close();
        });
        assertThrows(IOException.class, () -> files.open(FILE));
    }

    @Test
    void nothingLeadsOutOfTheDirectory() throws Exception {
        for (String path : new String[] {"/../x", "/.farcache/removed"}) {
            assertThrows(IOException.class, () -> files.create(new Path(path)), path);
        }
        write(FILE, CONTENT);
        assertEquals(1, files.listStatus(new Path("/")).length);
        assertThrows(FileNotFoundException.class, () -> files.getFileStatus(new Path("/absent")));
    }

    @Test
    void whatCannotBeRemovedIsAnError() throws Exception {
        write(FILE, new byte[1]);
        Files.delete(names.resolve(".farcache/removed"));
        assertThrows(IOException.class, () -> files.delete(FILE, false));
        assertTimeoutPreemptively(Duration.ofSeconds(TestServer.PATIENCE_SECONDS),
                () -> assertThrows(IOException.class, () -> files.create(FILE, true)));
        assertTrue(files.exists(FILE));
    }
}
