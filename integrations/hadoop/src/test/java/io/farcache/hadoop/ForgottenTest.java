package io.farcache.hadoop;

import io.farcache.client.FarcacheClient;
import io.farcache.client.TestServer;
import java.net.URI;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.AbstractFileSystem;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** A {@code FileContext} cannot be closed; what it holds ends with it. */
class ForgottenTest {
    private static final Logger CLIENTS = Logger.getLogger("io.farcache.client");

    private static final org.apache.hadoop.fs.Path FILE = new org.apache.hadoop.fs.Path("/file");

    @TempDir
    Path names;
    private final Warnings warnings = new Warnings();

    /** What the client's library has logged. */
    private static final class Warnings extends Handler {
        private final List<String> messages = new CopyOnWriteArrayList<>();

        @Override
        public void publish(LogRecord entry) {
            messages.add(entry.getMessage());
        }

        @Override
        public void flush() {
        }

        @Override
        public void close() {
        }
    }

    private static long sessions(FarcacheClient client) {
        return Long.parseLong(client.statistics(0, "").get("curr_connections"));
    }

    private static void use(Configuration configuration) throws Exception {
        AbstractFileSystem files =
                AbstractFileSystem.get(URI.create("farcache://any/"), configuration);
        FileContext context = FileContext.getFileContext(files, configuration);
        byte[] content = Content.of(10_000);
        EnumSet<CreateFlag> flags = EnumSet.of(CreateFlag.CREATE);
        try (FSDataOutputStream stream = context.create(FILE, flags)) {
            stream.write(content);
        }
    }

    @Test
    @Timeout(60)
    void itsConnectionsEndWithoutAWordOfComplaint() throws Exception {
        CLIENTS.addHandler(warnings);
        try (TestServer server = new TestServer("-m", "64", "-M");
                FarcacheClient client = FarcacheClient.connect(server.address())) {
            long before = sessions(client);
            Configuration configuration = new Configuration();
            FilesFixture.configure(configuration, server.address(), names);
            use(configuration);
            assertTrue(sessions(client) > before);
            while (sessions(client) > before) {
                System.gc();
                Pause.of(10);
            }
        } finally {
            CLIENTS.removeHandler(warnings);
        }
        assertEquals(0, warnings.messages.size(), warnings.messages.toString());
    }
}
