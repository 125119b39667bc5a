package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Hadoop's benchmarks run on this file system, and what they write is right. */
class JobsTest {
    private static final int MEGABYTES = 8;

    @TempDir
    Path names;
    @TempDir
    Path scratch;

    /** As TestDFSIO writes it, which is nothing but zeros. */
    private static void assertWritten(Path file) throws Exception {
        byte[] content = Files.readAllBytes(file);
        assertEquals(MEGABYTES / Jobs.FILES << 20, content.length, file.toString());
        assertArrayEquals(new byte[content.length], content, file.toString());
    }

    @Test
    void hadoopsBenchmarksRun() throws Exception {
        // Less memory than is written in all.
        try (TestServer server = new TestServer("-m", "64", "-M", "--evict-expiring")) {
            Configuration configuration = new Configuration();
            FarcacheContract.configure(configuration, server, names);
            // One file system for all, as jobs have it.
            configuration.setBoolean("fs.farcache.impl.disable.cache", false);
            Jobs jobs = Jobs.onFarcache(configuration, scratch, MEGABYTES);
            jobs.all();
            assertTrue(jobs.told().size() > 8, jobs.told().toString());
        }
        try (Stream<Path> files = Files.list(names.resolve("jobs/dfsio/io_data"))) {
            List<Path> written = files.collect(Collectors.toList());
            assertEquals(Jobs.FILES, written.size());
            for (Path file : written) {
                assertWritten(file);
            }
        }
        assertTrue(Files.size(names.resolve("jobs/sorted/part-r-00001")) > 0);
        assertTrue(Files.size(names.resolve("jobs/rows-sorted/part-r-00000")) > 0);
    }
}
