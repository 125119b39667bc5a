package io.farcache.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.statistics.DurationStatisticSummary;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsContext;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.apache.hadoop.fs.statistics.StoreStatisticNames;
import org.apache.hadoop.fs.statistics.StreamStatisticNames;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static io.farcache.hadoop.FilesFixture.CONTENT;
import static io.farcache.hadoop.FilesFixture.FILE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What streams and file systems tell of what they have done, and what readers give up. */
class StatisticsTest {
    @TempDir
    java.nio.file.Path names;
    private FilesFixture fixture;
    private final Faults faults = new Faults();

    @BeforeEach
    void start() throws Exception {
        fixture = new FilesFixture(names, "-m", "256", "-M", "--evict-expiring");
        IOStatisticsContext.getCurrentIOStatisticsContext().reset();
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    private FarcacheFileSystem open() throws IOException {
        return fixture.open("persisted", faults, "60s");
    }

    private static void assertCounted(IOStatisticsSource source, String name, long count) {
        assertEquals(count, source.getIOStatistics().counters().get(name), name);
    }

    /** The stream itself, and after it is closed the file system and this thread. */
    private static void assertCountedByAll(IOStatisticsSource stream, FileSystem files,
            String name) {
        long count = stream.getIOStatistics().counters().get(name);
        assertTrue(count > 0, name);
        assertCounted((IOStatisticsSource) files, name, count);
        assertCounted(IOStatisticsContext.getCurrentIOStatisticsContext(), name, count);
    }

    private static void assertHas(StreamCapabilities stream, String... capabilities) {
        for (String capability : capabilities) {
            assertTrue(stream.hasCapability(capability), capability);
        }
    }

    @Test
    void whatIsReadIsCounted() throws Exception {
        try (FarcacheFileSystem files = open()) {
            FilesFixture.write(files, FILE, CONTENT.length);
            FSDataInputStream stream = files.open(FILE);
            assertHas(stream, StreamCapabilities.IOSTATISTICS, StreamCapabilities.UNBUFFER,
                    StreamCapabilities.IOSTATISTICS_CONTEXT);
            byte[] room = new byte[100];
            stream.readFully(room);
            stream.readFully(2_000_000, room);
            stream.seek(1000);
            stream.seek(10);
            stream.seek(10);
            List<FileRange> ranges = Arrays.asList(FileRange.createFileRange(0, 30),
                    FileRange.createFileRange(1_000_000, 70));
            stream.readVectored(ranges, ByteBuffer::allocate);
            for (FileRange range : ranges) {
                range.getData().get();
            }
            assertCounted(stream, StreamStatisticNames.STREAM_READ_BYTES, 300);
            assertCounted(stream, StreamStatisticNames.STREAM_READ_OPERATIONS, 2);
            assertCounted(stream, StreamStatisticNames.STREAM_READ_SEEK_OPERATIONS, 3);
            assertCounted(stream, StreamStatisticNames.STREAM_READ_SEEK_FORWARD_OPERATIONS, 1);
            assertCounted(stream, StreamStatisticNames.STREAM_READ_SEEK_BYTES_SKIPPED, 900);
            assertCounted(stream, StreamStatisticNames.STREAM_READ_SEEK_BACKWARD_OPERATIONS, 1);
            assertCounted(stream, StreamStatisticNames.STREAM_READ_SEEK_BYTES_BACKWARDS, 990);
            assertCounted(stream, StreamStatisticNames.STREAM_READ_VECTORED_OPERATIONS, 1);
            assertCounted(stream, StreamStatisticNames.STREAM_READ_VECTORED_INCOMING_RANGES, 2);
            stream.close();
            stream.close();
            for (String name : new String[] {StreamStatisticNames.STREAM_READ_BYTES,
                StreamStatisticNames.STREAM_READ_SEEK_OPERATIONS,
                StreamStatisticNames.STREAM_READ_VECTORED_OPERATIONS}) {
                assertCountedByAll(stream, files, name);
            }
        }
    }

    @Test
    void whatIsWrittenIsCountedAndSynchronisingIsTimed() throws Exception {
        try (FarcacheFileSystem files = open()) {
            FSDataOutputStream stream = files.create(FILE);
            assertHas(stream, StreamCapabilities.IOSTATISTICS, "hsync", "hflush",
                    StreamCapabilities.IOSTATISTICS_CONTEXT);
            stream.write(CONTENT, 0, 1000);
            stream.hflush();
            stream.write(CONTENT, 1000, CONTENT.length - 1000);
            stream.hsync();
            stream.write(1);
            stream.hsync();
            assertCounted(stream, StreamStatisticNames.STREAM_WRITE_BYTES, CONTENT.length + 1);
            assertCounted(stream, StoreStatisticNames.OP_HFLUSH, 1);
            IOStatistics told = stream.getIOStatistics();
            DurationStatisticSummary hsync = DurationStatisticSummary.fetchSuccessSummary(told,
                    StoreStatisticNames.OP_HSYNC);
            assertEquals(2, hsync.getCount());
            assertEquals(2, hsync.getMean().getSamples());
            stream.close();
            for (String name : new String[] {StreamStatisticNames.STREAM_WRITE_BYTES,
                StoreStatisticNames.OP_HFLUSH, StoreStatisticNames.OP_HSYNC}) {
                assertCountedByAll(stream, files, name);
            }
        }
    }

    @Test
    void whatFailsIsCounted() throws Exception {
        try (FarcacheFileSystem files = fixture.open("buffered", faults, "1ms")) {
            FSDataOutputStream stream = files.create(FILE);
            stream.write(CONTENT);
            faults.failAfter(0);
            assertThrows(IOException.class, stream::hsync);
            faults.mend();
            assertThrows(IOException.class, stream::close);
            assertCounted(stream, StreamStatisticNames.STREAM_WRITE_EXCEPTIONS, 1);
            assertCounted(stream, StoreStatisticNames.OP_HSYNC, 1);
            assertCounted(stream, StoreStatisticNames.OP_HSYNC + ".failures", 1);
            assertCountedByAll(stream, files, StreamStatisticNames.STREAM_WRITE_EXCEPTIONS);
        }
    }

    @Test
    void whatAFileSystemDoesIsCounted() throws Exception {
        try (FarcacheFileSystem files = open()) {
            FilesFixture.write(files, FILE, 10);
            files.append(FILE).close();
            files.truncate(FILE, 5);
            files.getFileStatus(FILE);
            files.listStatus(FILE.getParent());
            files.mkdirs(FILE.suffix("-folder"));
            files.open(FILE).close();
            files.rename(FILE, FILE.suffix("-renamed"));
            files.delete(FILE.suffix("-renamed"), false);
            assertThrows(IOException.class, () -> files.open(FILE));
            for (String name : new String[] {StoreStatisticNames.OP_CREATE,
                StoreStatisticNames.OP_APPEND, StoreStatisticNames.OP_TRUNCATE,
                StoreStatisticNames.OP_GET_FILE_STATUS, StoreStatisticNames.OP_LIST_STATUS,
                StoreStatisticNames.OP_MKDIRS, StoreStatisticNames.OP_RENAME,
                StoreStatisticNames.OP_DELETE, StoreStatisticNames.OP_OPEN + ".failures"}) {
                assertCounted(files, name, 1);
            }
            assertCounted(files, StoreStatisticNames.OP_OPEN, 2);
        }
    }

    /** Reads the first bytes of a file; how many bytes come from the servers for that. */
    private static long bytesFromServers(FarcacheFileSystem files, FSDataInputStream stream)
            throws IOException {
        byte[] room = new byte[100];
        long before = files.cache().bytesRead.get();
        stream.readFully(0, room);
        assertArrayEquals(FilesFixture.content(room.length), room);
        return files.cache().bytesRead.get() - before;
    }

    @Test
    void aReaderOfChunksGivesThemUpAndAsksForThemAnew() throws Exception {
        try (FarcacheFileSystem files = fixture.open(FarcacheFileSystem.CACHE_SETTLE, "0s")) {
            Files.createDirectories(fixture.below(FILE).getParent());
            Files.write(fixture.below(FILE), CONTENT);
            // By reading it: another program has written it.
            FilesFixture.await(() -> {
                assertArrayEquals(CONTENT, FilesFixture.read(files, FILE));
                return fixture.items() == CONTENT.length / (512 << 10) + 2;
            }, () -> fixture.items() + " items");
            try (FSDataInputStream stream = files.open(FILE)) {
                assertEquals(512 << 10, bytesFromServers(files, stream));
                assertEquals(0, bytesFromServers(files, stream));
                stream.unbuffer();
                assertEquals(512 << 10, bytesFromServers(files, stream));
                assertCounted(stream, StreamStatisticNames.STREAM_READ_UNBUFFERED, 1);
            }
        }
    }

    @Test
    void aReaderOfABlobGivesUpWhatItHasReadAhead() throws Exception {
        try (FarcacheFileSystem files = fixture.open(FarcacheFileSystem.CLOSE, "buffered",
                FarcacheFileSystem.PERSIST_BANDWIDTH, "1k", FarcacheFileSystem.PERSIST_PATIENCE,
                "1ms", FarcacheFileSystem.TIMEOUT, "1s")) {
            FilesFixture.write(files, FILE, CONTENT.length);
            byte[] room = new byte[100];
            try (FSDataInputStream stream = files.open(FILE)) {
                stream.readFully(0, room);
                stream.unbuffer();
                stream.readFully(0, room);
                fixture.server().kill();
                stream.readFully(1000, room);
                assertArrayEquals(Arrays.copyOfRange(CONTENT, 1000, 1100), room);
                stream.unbuffer();
                assertThrows(IOException.class, () -> stream.readFully(1000, room));
                assertCounted(stream, StreamStatisticNames.STREAM_READ_EXCEPTIONS, 1);
            }
            assertThrows(IOException.class, files::close);
        }
    }
}
