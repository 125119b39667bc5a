package io.farcache.hadoop;

import io.farcache.client.FarcacheClient;
import io.farcache.client.Item;
import io.farcache.client.TestServer;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
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
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Jobs are told which servers have the blocks of a file; the servers themselves are asked here. */
class BlocksTest {
    private static final int SERVERS = 3;
    private static final int CHUNK_BYTES = 64 << 10;
    private static final int CHUNKS = 20;
    private static final byte[] CONTENT = Content.of(CHUNKS * CHUNK_BYTES - 1000);
    private static final Path FILE = new Path("/folder/file");
    private static final List<String> ANYWHERE = Arrays.asList("localhost:9866");

    @TempDir
    java.nio.file.Path names;
    private final Faults faults = new Faults();
    private final List<FarcacheClient> clients = new ArrayList<>();
    private Fleet fleet;

    @BeforeEach
    void start() throws Exception {
        fleet = new Fleet(SERVERS, "-m", "64", "-M", "--evict-expiring");
        for (String address : fleet.addresses().split(",")) {
            clients.add(FarcacheClient.connect(address));
        }
    }

    @AfterEach
    void stop() {
        clients.forEach(FarcacheClient::close);
        fleet.close();
    }

    private FarcacheFileSystem open(String redundancy, int blockBytes) throws IOException {
        Configuration configuration = new Configuration();
        configuration.set(FarcacheFileSystem.SERVERS, fleet.addresses());
        configuration.set(FarcacheFileSystem.NAMES_DIRECTORY, names.toString());
        configuration.set(FarcacheFileSystem.TIMEOUT, TestServer.PATIENCE_SECONDS + "s");
        configuration.set(FarcacheFileSystem.REDUNDANCY, redundancy);
        configuration.set(FarcacheFileSystem.CACHE_SETTLE, "0s");
        configuration.setInt(FarcacheFileSystem.CHUNK_BYTES, CHUNK_BYTES);
        configuration.setInt(FarcacheFileSystem.BLOCK_BYTES, blockBytes);
        configuration.setBoolean("fs.farcache.impl.disable.cache", true);
        FarcacheFileSystem files = (FarcacheFileSystem) FileSystem.get(
                URI.create("farcache://any/"), configuration);
        files.watch = faults;
        return files;
    }

    private static void write(FileSystem files) throws IOException {
        try (FSDataOutputStream stream = files.create(FILE)) {
            stream.write(CONTENT);
        }
    }

    private static BlockLocation[] blocks(FileSystem files) throws IOException {
        return files.getFileBlockLocations(files.getFileStatus(FILE), 0, Long.MAX_VALUE);
    }

    private static List<String> namesOf(BlockLocation block) throws IOException {
        return Arrays.asList(block.getNames());
    }

    private java.nio.file.Path below() {
        return names.resolve("folder/file");
    }

    /** The names of the servers that have a key, as each of them says itself. */
    private TreeSet<String> serversWith(String key) {
        TreeSet<String> found = new TreeSet<>();
        for (FarcacheClient client : clients) {
            if (client.getItem(key) != null) {
                found.add(client.serverName(0));
            }
        }
        return found;
    }

    /** The most that a server has under a key: of a small value some have the version only. */
    private byte[] mostOf(String key) {
        return clients.stream().map(client -> client.getItem(key)).filter(item -> item != null)
                .map(Item::value).max(Comparator.comparingInt(value -> value.length)).get();
    }

    /**
     * The id in the keys of a blob's chunks, as its manifest has it 24 bytes behind its beginning.
     * Of several copies each has a header before that.
     */
    private String idOf(String blob) {
        byte[] manifest = mostOf("blob:" + blob);
        int begin = new String(manifest, StandardCharsets.ISO_8859_1).indexOf("FCBM");
        StringBuilder digits = new StringBuilder();
        for (byte one : Arrays.copyOfRange(manifest, begin + 24, begin + 40)) {
            digits.append(String.format("%02x", one));
        }
        return digits.toString();
    }

    private void assertPlaced(BlockLocation[] blocks, String keys, int servers)
            throws IOException {
        assertEquals(CHUNKS, blocks.length);
        for (int index = 0; index < CHUNKS; index++) {
            TreeSet<String> with = serversWith(keys + index);
            assertEquals(servers, with.size(), keys + index);
            assertEquals(with, new TreeSet<>(namesOf(blocks[index])), keys + index);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "replicate:2", "ec:2,1"})
    void aBlockIsWhereItsChunkIs(String redundancy) throws Exception {
        int servers = Arrays.asList("none", "replicate:2", "ec:2,1").indexOf(redundancy) + 1;
        faults.hold();
        String keys;
        try (FarcacheFileSystem files = open(redundancy, CHUNK_BYTES);
                AutoCloseable held = faults::release) {
            write(files);
            keys = "chunk:" + idOf(Reference.of(below()).blob()) + ":";
            assertPlaced(blocks(files), keys, servers);
        }
        try (FarcacheFileSystem files = open(redundancy, CHUNK_BYTES)) {
            // Now it is an ordinary file, of which the servers have a copy.
            assertNull(Reference.of(below()));
            assertPlaced(blocks(files), keys, servers);
        }
    }

    @Test
    void whatWasPersistedBeforeTheRestIsAnywhere() throws Exception {
        int persisted = 8;
        try (FarcacheFileSystem files = open("none", CHUNK_BYTES);
                AutoCloseable held = faults::release) {
            try (FSDataOutputStream stream = files.create(FILE)) {
                stream.write(CONTENT, 0, persisted * CHUNK_BYTES);
                stream.hsync();
                faults.hold();
                stream.write(CONTENT, persisted * CHUNK_BYTES,
                        CONTENT.length - persisted * CHUNK_BYTES);
            }
            String keys = "chunk:" + idOf(Reference.of(below()).blob()) + ":";
            BlockLocation[] blocks = blocks(files);
            for (int index = 0; index < CHUNKS; index++) {
                assertEquals(index < persisted ? new TreeSet<>(ANYWHERE)
                        : serversWith(keys + (index - persisted)),
                        new TreeSet<>(namesOf(blocks[index])), "block " + index);
            }
        }
    }

    @Test
    void chunksThatWentElsewhereAreToldThere() throws Exception {
        TreeSet<String> up = new TreeSet<>(Arrays.asList(fleet.addresses().split(",")));
        up.remove(clients.get(0).serverName(0));
        faults.hold();
        try (FarcacheFileSystem files = open("replicate:2", CHUNK_BYTES);
                AutoCloseable held = faults::release) {
            fleet.kill(0);
            write(files);
            for (BlockLocation block : blocks(files)) {
                assertEquals(up, new TreeSet<>(namesOf(block)));
            }
        }
    }

    @Test
    void theServerWithMostOfABlockComesFirst() throws Exception {
        int chunksOfABlock = 7;
        faults.hold();
        try (FarcacheFileSystem files = open("none", chunksOfABlock * CHUNK_BYTES);
                AutoCloseable held = faults::release) {
            write(files);
            String keys = "chunk:" + idOf(Reference.of(below()).blob()) + ":";
            BlockLocation[] blocks = blocks(files);
            for (int block = 0; block < blocks.length; block++) {
                int begin = block * chunksOfABlock;
                int last = Integer.MAX_VALUE;
                int all = 0;
                for (String name : namesOf(blocks[block])) {
                    int bytes = 0;
                    for (int index = begin; index < Math.min(CHUNKS, begin + chunksOfABlock);
                            index++) {
                        bytes += serversWith(keys + index).contains(name) ? bytesOf(index) : 0;
                    }
                    assertTrue(0 < bytes && bytes <= last, block + ": " + bytes + " of " + last);
                    last = bytes;
                    all += bytes;
                }
                assertEquals(blocks[block].getLength(), all);
            }
        }
    }

    private static int bytesOf(int index) {
        return Math.min(CHUNK_BYTES, CONTENT.length - index * CHUNK_BYTES);
    }

    @Test
    void blocksThatHaveAPartOfAStretchAreTold() throws Exception {
        faults.hold();
        try (FarcacheFileSystem files = open("none", 5 * CHUNK_BYTES);
                AutoCloseable held = faults::release) {
            write(files);
            FileStatus status = files.getFileStatus(FILE);
            BlockLocation[] all = blocks(files);
            assertEquals(4, all.length);
            long next = 0;
            for (BlockLocation block : all) {
                assertEquals(next, block.getOffset());
                next += block.getLength();
            }
            assertEquals(CONTENT.length, next);
            BlockLocation[] middle = files.getFileBlockLocations(status, 5 * CHUNK_BYTES, 1);
            assertEquals(1, middle.length);
            assertEquals(all[1].toString(), middle[0].toString());
            assertArrayEquals(all[1].getTopologyPaths(), middle[0].getTopologyPaths());
            assertEquals(2, files.getFileBlockLocations(status, 5 * CHUNK_BYTES - 1, 2).length);
            assertEquals(0, files.getFileBlockLocations(status, CONTENT.length, 1).length);
        }
    }

    @Test
    void whatIsReadBelowIsWhereItWasStored() throws Exception {
        Files.createDirectories(below().getParent());
        Files.write(below(), CONTENT);
        try (FarcacheFileSystem files = open("none", CHUNK_BYTES)) {
            for (BlockLocation block : blocks(files)) {
                assertEquals(ANYWHERE, namesOf(block));
            }
            String line = lineOnceRead(files);
            assertPlaced(blocks(files), "cached:" + line.split(" ")[2] + ":", 1);
        }
    }

    /** Reads the file until the servers know it: the clock below must have ticked before. */
    private String lineOnceRead(FileSystem files) throws IOException {
        String key = "file:" + new String(Files.readAllBytes(names.resolve(".farcache/id")),
                StandardCharsets.US_ASCII).trim() + ":" + Identity.of(below()).inode;
        do {
            try (FSDataInputStream stream = files.open(FILE)) {
                stream.readFully(new byte[CONTENT.length]);
            }
        } while (serversWith(key).isEmpty());
        return new String(mostOf(key), StandardCharsets.US_ASCII);
    }

    @Test
    void aFileThatIsNotFoundInTheServersMayBeAnywhere() throws Exception {
        try (FarcacheFileSystem files = open("none", CHUNK_BYTES)) {
            write(files);
        }
        try (FarcacheFileSystem files = open("none", CHUNK_BYTES)) {
            FileStatus status = files.getFileStatus(FILE);
            assertNotEquals(ANYWHERE, namesOf(blocks(files)[0]));
            fleet.killAll();
            for (int look = 0; look < 2; look++) {
                for (BlockLocation block : files.getFileBlockLocations(status, 0, 1 << 20)) {
                    assertEquals(ANYWHERE, namesOf(block));
                }
                Files.deleteIfExists(below());
            }
        }
    }

    @Test
    void jobsKnowTheHostsOfServers() throws Exception {
        assertEquals("node7", ServerNames.hostOf("node7:11211"));
        assertEquals("10.0.0.1", ServerNames.hostOf("10.0.0.1:11211"));
        assertEquals("fe80::1", ServerNames.hostOf("[fe80::1]:11211"));
        assertEquals("localhost", ServerNames.hostOf("/run/farcached.sock"));
        try (FarcacheClient client = FarcacheClient.connect("127.0.0.1:1,node7:2,[::1]:3")) {
            ServerNames servers = new ServerNames(client);
            assertEquals(3, servers.servers());
            assertEquals("localhost", servers.host(0));
            assertEquals("node7", servers.host(1));
            assertEquals("node7:2", servers.name(1));
            assertEquals("[::1]:3", servers.name(2));
        }
    }
}
