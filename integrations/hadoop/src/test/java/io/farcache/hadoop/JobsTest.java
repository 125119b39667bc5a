package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitterConstants;
import org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitterFactory;
import org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.ManifestSuccessData;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Hadoop's benchmarks run on this file system, and what they write is right. */
@Tag("jobs")
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

    /** Whoever looks at rows that were sorted finds that something is wrong with them. */
    private static void assertChangesAreFound(Jobs jobs, Path file) throws Exception {
        byte[] content = Files.readAllBytes(file);
        byte[] changed = content.clone();
        int row = content.length / TeraCheck.ROW_BYTES / 2 * TeraCheck.ROW_BYTES;
        changed[row] ^= 0x7f;
        assertChangeIsFound(jobs, file, changed, "misorder");
        // Behind the key, which is all of a row that is in order.
        changed[row] = content[row];
        changed[row + TeraCheck.ROW_BYTES - 1] ^= 1;
        assertChangeIsFound(jobs, file, changed, "other rows");
        changed = Arrays.copyOf(content, content.length - TeraCheck.ROW_BYTES);
        assertChangeIsFound(jobs, file, changed, "not " + (MEGABYTES << 20) / TeraCheck.ROW_BYTES
                + " rows");
    }

    private static void assertChangeIsFound(Jobs jobs, Path file, byte[] changed, String how)
            throws Exception {
        Files.write(file, changed);
        IOException thrown = assertThrows(IOException.class, jobs::validateTera);
        assertTrue(thrown.getMessage().contains(how), thrown.toString());
    }

    @Test
    void hadoopsBenchmarksRun() throws Exception {
        // Less memory than is written in all.
        try (TestServer server = new TestServer("-m", "64", "-M", "--evict-expiring");
                Closeable opened = FileSystem::closeAll) {
            Configuration configuration = new Configuration();
            FilesFixture.configure(configuration, server.address(), names);
            // One file system for all, as jobs have it; the next test must not have it.
            configuration.setBoolean("fs.farcache.impl.disable.cache", false);
            Jobs jobs = Jobs.onFarcache(configuration, scratch, MEGABYTES);
            jobs.all();
            assertTrue(jobs.told().size() > 8, jobs.told().toString());
            assertChangesAreFound(jobs, names.resolve("jobs/rows-sorted/part-r-00000"));
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

    /** Tells in the file of success which files it has put there. */
    private static void assertCommitted(FileSystem files, String directory, int parts)
            throws IOException {
        ManifestSuccessData told = ManifestSuccessData.load(files,
                new org.apache.hadoop.fs.Path("/jobs", directory + "/_SUCCESS"));
        assertEquals(ManifestCommitterConstants.MANIFEST_COMMITTER_CLASSNAME,
                told.getCommitter());
        assertEquals(parts, told.getFilenames().size(), told.getFilenames().toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"buffered", "persisted"})
    void jobsEndWithTheManifestCommitter(String close) throws Exception {
        try (TestServer server = new TestServer("-m", "64", "-M", "--evict-expiring");
                Closeable opened = FileSystem::closeAll) {
            Configuration configuration = new Configuration();
            FilesFixture.configure(configuration, server.address(), names);
            configuration.setBoolean("fs.farcache.impl.disable.cache", false);
            configuration.set(FarcacheFileSystem.CLOSE, close);
            configuration.set("mapreduce.outputcommitter.factory.scheme.farcache",
                    ManifestCommitterFactory.class.getName());
            configuration.setBoolean(ManifestCommitterConstants.OPT_VALIDATE_OUTPUT, true);
            Jobs jobs = Jobs.onFarcache(configuration, scratch, MEGABYTES);
            jobs.sort();
            FileSystem files = FileSystem.get(configuration);
            assertCommitted(files, "random", 1);
            assertCommitted(files, "sorted", 2);
        }
    }
}
