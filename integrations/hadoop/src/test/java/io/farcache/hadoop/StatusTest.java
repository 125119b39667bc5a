package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.net.URI;
import java.util.concurrent.FutureTask;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** What is told of a file while it becomes an ordinary one. */
class StatusTest {
    private static final int FILES = 100;
    /** Less than a reference has, which stands in the file until then. */
    private static final byte[] CONTENT = Content.of(67);

    @TempDir
    java.nio.file.Path names;
    private FileSystem files;
    /** The file that has been synchronised last. */
    private volatile Path synchronised = new Path("/first");
    private volatile boolean isEnd;

    @Test
    void aFileHasItsLengthWhileItBecomesAnOrdinaryOne() throws Exception {
        try (TestServer server = new TestServer("-m", "64", "-M", "--evict-expiring")) {
            Configuration configuration = new Configuration();
            FilesFixture.configure(configuration, server.address(), names);
            try (FileSystem opened = FileSystem.get(URI.create("farcache://any/"),
                    configuration)) {
                files = opened;
                write(synchronised);
                FutureTask<Long> looking = new FutureTask<>(this::look);
                new Thread(looking, "looks").start();
                try {
                    for (int number = 0; number < FILES && !looking.isDone(); number++) {
                        write(new Path("/" + number));
                    }
                } finally {
                    isEnd = true;
                    looking.get();
                }
            }
        }
    }

    private void write(Path path) throws Exception {
        try (FSDataOutputStream stream = files.create(path)) {
            stream.write(CONTENT);
            stream.hsync();
            synchronised = path;
        }
    }

    private long look() throws Exception {
        long looks = 0;
        for (; !isEnd; looks++) {
            Path path = synchronised;
            assertEquals(CONTENT.length, files.getFileStatus(path).getLen(), path.toString());
            try (FSDataInputStream stream = files.open(path)) {
                stream.readFully(0, new byte[CONTENT.length]);
            }
        }
        return looks;
    }
}
