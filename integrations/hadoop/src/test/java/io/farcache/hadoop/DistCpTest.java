package io.farcache.hadoop;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.contract.AbstractFSContract;
import org.apache.hadoop.tools.contract.AbstractContractDistCpTest;

/** Hadoop's own tests of {@code distcp}, between local files and this file system. */
public class DistCpTest extends AbstractContractDistCpTest {
    @Override
    protected AbstractFSContract createContract(Configuration configuration) {
        return new FarcacheContract(configuration);
    }
}
