package io.farcache.hadoop;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.AbstractFileSystem;
import org.apache.hadoop.fs.FCStatisticsBaseTest;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileContextCreateMkdirBaseTest;
import org.apache.hadoop.fs.FileContextMainOperationsBaseTest;
import org.apache.hadoop.fs.FileContextPermissionBase;
import org.apache.hadoop.fs.FileContextURIBase;
import org.apache.hadoop.fs.FileContextUtilBase;
import org.apache.hadoop.fs.FileSystem;
import org.junit.After;
import org.junit.Before;
import org.junit.runner.RunWith;
import org.junit.runners.Suite;

import static org.junit.Assert.assertEquals;

/** Hadoop's own tests of what can be done by way of {@code FileContext}. */
@RunWith(Suite.class)
@Suite.SuiteClasses({
    FileContextTest.CreateMkdir.class,
    FileContextTest.MainOperations.class,
    FileContextTest.Permission.class,
    FileContextTest.Uri.class,
    FileContextTest.Util.class,
    FileContextTest.Statistics.class,
})
public class FileContextTest {
    private static final Configuration CONFIGURATION = new Configuration();
    private static AbstractFileSystem files;

    /** One for each test: it has a working directory. */
    private static synchronized FileContext context() {
        try {
            if (files == null) {
                FarcacheContract contract = new FarcacheContract(CONFIGURATION);
                contract.init();
                files = AbstractFileSystem.get(URI.create("farcache://test/"),
                        contract.getConf());
            }
            return FileContext.getFileContext(files, CONFIGURATION);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** See the class that it extends. */
    public static class CreateMkdir extends FileContextCreateMkdirBaseTest {
        @Override
        public void setUp() throws Exception {
            fc = context();
            super.setUp();
        }
    }

    /** See the class that it extends. */
    public static class MainOperations extends FileContextMainOperationsBaseTest {
        @Override
        public void setUp() throws Exception {
            fc = context();
            super.setUp();
        }

        @Override
        protected boolean listCorruptedBlocksSupported() {
            return false;
        }
    }

    /** See the class that it extends. */
    public static class Permission extends FileContextPermissionBase {
        @Override
        protected FileContext getFileContext() {
            return context();
        }
    }

    /** See the class that it extends. */
    public static class Uri extends FileContextURIBase {
        @Override
        public void setUp() throws Exception {
            fc1 = context();
            fc2 = fc1;
            super.setUp();
        }
    }

    /** See the class that it extends. */
    public static class Util extends FileContextUtilBase {
        @Override
        public void setUp() throws Exception {
            fc = context();
            super.setUp();
        }
    }

    /** See the class that it extends. */
    public static class Statistics extends FCStatisticsBaseTest {
        @Before
        public void setUp() throws Exception {
            fc = context();
            // Others have read and written before.
            FileContext.clearStatistics();
            fc.mkdir(fileContextTestHelper.getTestRootPath(fc, "test"),
                    FileContext.DEFAULT_PERM, true);
        }

        @After
        public void tearDown() throws Exception {
            fc.delete(fileContextTestHelper.getTestRootPath(fc, "test"), true);
        }

        @Override
        protected void verifyReadBytes(FileSystem.Statistics stats) {
            // 512 each by read, positioned and not.
            assertEquals(2 * blockSize, stats.getBytesRead());
        }

        @Override
        protected void verifyWrittenBytes(FileSystem.Statistics stats) {
            assertEquals(blockSize, stats.getBytesWritten());
        }

        @Override
        protected URI getFsUri() {
            return URI.create("farcache://test");
        }
    }
}
