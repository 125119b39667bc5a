package io.farcache.hadoop;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.contract.AbstractContractContentSummaryTest;
import org.apache.hadoop.fs.contract.AbstractContractCopyFromLocalTest;
import org.apache.hadoop.fs.contract.AbstractContractCreateTest;
import org.apache.hadoop.fs.contract.AbstractContractDeleteTest;
import org.apache.hadoop.fs.contract.AbstractContractGetFileStatusTest;
import org.apache.hadoop.fs.contract.AbstractContractMkdirTest;
import org.apache.hadoop.fs.contract.AbstractContractOpenTest;
import org.apache.hadoop.fs.contract.AbstractContractRenameTest;
import org.apache.hadoop.fs.contract.AbstractContractRootDirectoryTest;
import org.apache.hadoop.fs.contract.AbstractContractSeekTest;
import org.apache.hadoop.fs.contract.AbstractContractSetTimesTest;
import org.apache.hadoop.fs.contract.AbstractFSContract;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Suite;

import static org.apache.hadoop.fs.contract.ContractTestUtils.assertCapabilities;
import static org.apache.hadoop.fs.contract.ContractTestUtils.readUTF8;
import static org.apache.hadoop.test.LambdaTestUtils.intercept;

/** Hadoop's own tests of what a file system must do. */
@RunWith(Suite.class)
@Suite.SuiteClasses({
    ContractTest.ContentSummary.class,
    ContractTest.CopyFromLocal.class,
    ContractTest.Create.class,
    ContractTest.Delete.class,
    ContractTest.GetFileStatus.class,
    ContractTest.Mkdir.class,
    ContractTest.Open.class,
    ContractTest.Rename.class,
    ContractTest.RootDirectory.class,
    ContractTest.Seek.class,
    ContractTest.SetTimes.class,
})
public class ContractTest {
    /** See the class that it extends. */
    public static class ContentSummary extends AbstractContractContentSummaryTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class CopyFromLocal extends AbstractContractCopyFromLocalTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class Create extends AbstractContractCreateTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }

        /** Opening a file that is being written fails, rather than show no bytes. */
        @Override
        @Test
        public void testSyncable() throws Throwable {
            Path path = methodPath();
            try (FSDataOutputStream stream = getFileSystem().create(path, true)) {
                stream.write('a');
                assertCapabilities(stream, null, new String[] {StreamCapabilities.HFLUSH,
                    StreamCapabilities.HSYNC});
                intercept(IOException.class, "being written", () -> getFileSystem().open(path));
            }
            assertEquals("a", readUTF8(getFileSystem(), path, 1));
        }
    }

    /** See the class that it extends. */
    public static class Delete extends AbstractContractDeleteTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class GetFileStatus extends AbstractContractGetFileStatusTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class Mkdir extends AbstractContractMkdirTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class Open extends AbstractContractOpenTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class Rename extends AbstractContractRenameTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class RootDirectory extends AbstractContractRootDirectoryTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class Seek extends AbstractContractSeekTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class SetTimes extends AbstractContractSetTimesTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }
}
