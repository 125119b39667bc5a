package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.contract.AbstractFSContract;

/** The file system on a server of its own, for Hadoop's contract tests. */
final class FarcacheContract extends AbstractFSContract {
    private static final TestServer SERVER = start();

    private static TestServer start() {
        try {
            TestServer server = new TestServer("-m", "256", "-M");
            Runtime.getRuntime().addShutdownHook(new Thread(server::close));
            return server;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    FarcacheContract(Configuration configuration) {
        super(configuration);
        addConfResource("contract/farcache.xml");
    }

    @Override
    public void init() throws IOException {
        super.init();
        Path names = Files.createTempDirectory("farcache-names-");
        FilesFixture.configure(getConf(), SERVER.address(), names);
    }

    @Override
    public FileSystem getTestFileSystem() throws IOException {
        return FileSystem.get(URI.create("farcache://test/"), getConf());
    }

    @Override
    public String getScheme() {
        return FarcacheFileSystem.SCHEME;
    }

    @Override
    public org.apache.hadoop.fs.Path getTestPath() {
        return new org.apache.hadoop.fs.Path("/test");
    }
}
