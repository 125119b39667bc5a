package io.farcache.hadoop;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.contract.AbstractContractAppendTest;
import org.apache.hadoop.fs.contract.AbstractContractBulkDeleteTest;
import org.apache.hadoop.fs.contract.AbstractContractContentSummaryTest;
import org.apache.hadoop.fs.contract.AbstractContractCopyFromLocalTest;
import org.apache.hadoop.fs.contract.AbstractContractCreateTest;
import org.apache.hadoop.fs.contract.AbstractContractDeleteTest;
import org.apache.hadoop.fs.contract.AbstractContractEtagTest;
import org.apache.hadoop.fs.contract.AbstractContractGetEnclosingRoot;
import org.apache.hadoop.fs.contract.AbstractContractGetFileStatusTest;
import org.apache.hadoop.fs.contract.AbstractContractMkdirTest;
import org.apache.hadoop.fs.contract.AbstractContractOpenTest;
import org.apache.hadoop.fs.contract.AbstractContractRenameTest;
import org.apache.hadoop.fs.contract.AbstractContractRootDirectoryTest;
import org.apache.hadoop.fs.contract.AbstractContractSeekTest;
import org.apache.hadoop.fs.contract.AbstractContractSetTimesTest;
import org.apache.hadoop.fs.contract.AbstractContractStreamIOStatisticsTest;
import org.apache.hadoop.fs.contract.AbstractContractUnbufferTest;
import org.apache.hadoop.fs.contract.AbstractContractVectoredReadTest;
import org.apache.hadoop.fs.contract.AbstractFSContract;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Suite;

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
    ContractTest.VectoredRead.class,
    ContractTest.VectoredReadPersisted.class,
    ContractTest.GetEnclosingRoot.class,
    ContractTest.Etag.class,
    ContractTest.BulkDelete.class,
    ContractTest.Append.class,
    ContractTest.StreamStatistics.class,
    ContractTest.Unbuffer.class,
    ContractTest.UnbufferPersisted.class,
})
public class ContractTest {
    /** Nothing is persisted while the tests run. */
    private static final String SLOW = "1k";

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

    /** See the class that it extends. */
    public static class Append extends AbstractContractAppendTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class StreamStatistics extends AbstractContractStreamIOStatisticsTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** Of a file that is still in the servers alone. */
    public static class Unbuffer extends AbstractContractUnbufferTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            configuration.set(FarcacheFileSystem.PERSIST_BANDWIDTH, SLOW);
            return new FarcacheContract(configuration);
        }
    }

    /** Of an ordinary file, which the servers have or not. */
    public static class UnbufferPersisted extends AbstractContractUnbufferTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            configuration.set(FarcacheFileSystem.CLOSE, "persisted");
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class BulkDelete extends AbstractContractBulkDeleteTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class Etag extends AbstractContractEtagTest {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            configuration.set(FarcacheFileSystem.CLOSE, "persisted");
            return new FarcacheContract(configuration);
        }
    }

    /** See the class that it extends. */
    public static class GetEnclosingRoot extends AbstractContractGetEnclosingRoot {
        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            return new FarcacheContract(configuration);
        }
    }

    /** Of a file that is still in the servers alone. */
    @RunWith(Parameterized.class)
    public static class VectoredRead extends AbstractContractVectoredReadTest {
        /** With buffers of this kind. */
        public VectoredRead(String bufferType) {
            super(bufferType);
        }

        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            configuration.set(FarcacheFileSystem.PERSIST_BANDWIDTH, SLOW);
            return new FarcacheContract(configuration);
        }
    }

    /** Of an ordinary file, which the servers have or not. */
    @RunWith(Parameterized.class)
    public static class VectoredReadPersisted extends AbstractContractVectoredReadTest {
        /** With buffers of this kind. */
        public VectoredReadPersisted(String bufferType) {
            super(bufferType);
        }

        @Override
        protected AbstractFSContract createContract(Configuration configuration) {
            configuration.set(FarcacheFileSystem.CLOSE, "persisted");
            return new FarcacheContract(configuration);
        }
    }
}
