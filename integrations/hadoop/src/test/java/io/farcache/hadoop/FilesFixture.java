package io.farcache.hadoop;

import io.farcache.client.FarcacheClient;
import io.farcache.client.TestServer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

/** A server, a directory of names, and what tests do with file systems on both. */
final class FilesFixture implements AutoCloseable {
    static final URI URI_OF_ANY = URI.create("farcache://any/");
    /** What tests write, in six chunks, and where. */
    static final byte[] CONTENT = Content.of(3_000_000);
    static final Path FILE = new Path("/folder/file");

    private final java.nio.file.Path names;
    private final String[] options;
    private TestServer server;

    /** With a server that has these options. */
    FilesFixture(java.nio.file.Path names, String... options) throws Exception {
        this.names = names;
        this.options = options;
        start();
    }

    /** Another server, which has nothing; the former one is dead. */
    void start() throws Exception {
        server = new TestServer(options);
    }

    @Override
    public void close() {
        server.close();
    }

    TestServer server() {
        return server;
    }

    /** A property after the other: its name, its value. */
    Configuration configuration(String... properties) {
        return configuration(names, server.address(), properties);
    }

    static Configuration configuration(java.nio.file.Path names, String servers,
            String... properties) {
        Configuration configuration = new Configuration();
        configure(configuration, servers, names);
        for (int index = 0; index < properties.length; index += 2) {
            configuration.set(properties[index], properties[index + 1]);
        }
        return configuration;
    }

    /** A file system with time for a busy machine. */
    static void configure(Configuration configuration, String servers,
            java.nio.file.Path names) {
        configuration.set(FarcacheFileSystem.SERVERS, servers);
        configuration.set(FarcacheFileSystem.NAMES_DIRECTORY, names.toString());
        configuration.set(FarcacheFileSystem.TIMEOUT, TestServer.PATIENCE_SECONDS + "s");
        configuration.setBoolean("fs.farcache.impl.disable.cache", true);
        configuration.set("fs.AbstractFileSystem.farcache.impl",
                FarcacheAbstractFileSystem.class.getName());
    }

    /** A file system, which its test has to close. */
    FarcacheFileSystem open(String... properties) throws IOException {
        return open(configuration(properties));
    }

    /** One that closes its files so, with these faults and this patience. */
    FarcacheFileSystem open(String close, Faults faults, String patience) throws IOException {
        FarcacheFileSystem files = open(FarcacheFileSystem.CLOSE, close,
                FarcacheFileSystem.PERSIST_PATIENCE, patience);
        files.watch = faults;
        return files;
    }

    static FarcacheFileSystem open(Configuration configuration) throws IOException {
        return (FarcacheFileSystem) FileSystem.get(URI_OF_ANY, configuration);
    }

    /** Where a file is in the directory of names. */
    java.nio.file.Path below(Path path) {
        return names.resolve(path.toUri().getPath().substring(1));
    }

    /** What is remembered of files. */
    java.nio.file.Path hidden(String name) {
        return names.resolve(".farcache").resolve(name);
    }

    /** The first bytes of what tests write. */
    static byte[] content(int bytes) {
        return Arrays.copyOf(CONTENT, bytes);
    }

    static void write(FileSystem files, Path path, int bytes) throws IOException {
        try (FSDataOutputStream stream = files.create(path, true)) {
            stream.write(CONTENT, 0, bytes);
        }
    }

    /** All of a file. */
    static byte[] read(FileSystem files, Path path) throws IOException {
        byte[] content = new byte[(int) files.getFileStatus(path).getLen()];
        try (FSDataInputStream stream = files.open(path)) {
            stream.readFully(content);
            assertEquals(-1, stream.read());
        }
        return content;
    }

    /** That the server has. */
    long items() {
        try (FarcacheClient client = FarcacheClient.connect(server.address())) {
            return Long.parseLong(client.statistics(0, "").get("curr_items"));
        }
    }

    /** These folders of what is remembered of files are empty. */
    void assertNothingIsLeft(String... folders) throws IOException {
        for (String folder : folders) {
            try (Stream<java.nio.file.Path> left = Files.list(hidden(folder))) {
                assertEquals(0, left.count(), folder);
            }
        }
    }

    /** All is persisted, and the server keeps nothing. */
    void assertNothingIsPending() throws IOException {
        assertNothingIsLeft("pending", "heads", "times");
        assertEquals(0, items());
    }

    /** Waits for a condition that comes true by itself. */
    static void await(Callable<Boolean> condition, Callable<String> otherwise) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TestServer.PATIENCE_SECONDS);
        while (!condition.call()) {
            if (System.nanoTime() >= end) {
                fail(otherwise.call());
            }
            Thread.sleep(5);
        }
    }
}
