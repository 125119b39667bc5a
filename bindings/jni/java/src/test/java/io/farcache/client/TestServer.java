package io.farcache.client;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A real server on a port of 127.0.0.1: the one that FARCACHED names, else the debug build.
 */
public final class TestServer implements AutoCloseable {
    /** How long anything may take on a machine that is busy with other things. */
    public static final long PATIENCE_SECONDS = 60;
    private static final Pattern PORT = Pattern.compile("TCP INET: (\\d+)");

    private final Process process;
    private final int port;

    /** On a free port. */
    public TestServer(String... options) throws Exception {
        this(-1, options);
    }

    /** On the port of one that was killed; -1 for a free one. */
    public TestServer(int wanted, String... options) throws Exception {
        Path folder = Files.createTempDirectory("farcache-java-test-");
        Path ports = folder.resolve("ports");
        Path log = folder.resolve("log");
        List<String> command = new ArrayList<>(Arrays.asList(binary(), "-l", "127.0.0.1", "-p",
                Integer.toString(wanted)));
        if (System.getProperty("user.name").equals("root")) {
            command.addAll(Arrays.asList("-u", "root"));
        }
        command.addAll(Arrays.asList(options));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectInput(new File("/dev/null")).redirectOutput(log.toFile());
        builder.environment().put("MEMCACHED_PORT_FILENAME", ports.toString());
        process = builder.start();
        try {
            port = waitForPort(ports);
        } catch (Exception | Error e) {
            process.destroyForcibly();
            throw new IllegalStateException(command + " does not start: " + text(log), e);
        } finally {
            for (Path file : new Path[] {ports, log, folder}) {
                Files.deleteIfExists(file);
            }
        }
    }

    private static String binary() {
        String named = System.getenv("FARCACHED");
        Path built = Paths.get(System.getProperty("farcache.root"), "target", "debug", "farcached");
        return named != null ? named : built.toString();
    }

    private static String text(Path file) throws IOException {
        return Files.exists(file) ? new String(Files.readAllBytes(file), StandardCharsets.UTF_8)
                : "";
    }

    private int waitForPort(Path ports) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (process.isAlive() && System.nanoTime() < end) {
            Matcher told = PORT.matcher(text(ports));
            if (told.find()) {
                return Integer.parseInt(told.group(1));
            }
            Thread.sleep(5);
        }
        throw new IllegalStateException("no port");
    }

    /** As clients name it. */
    public String address() {
        return "127.0.0.1:" + port;
    }

    public int port() {
        return port;
    }

    /** Ends it at once. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Stops it from answering when this returns, or lets it go on: its connections stay. */
    public void freeze(boolean frozen) throws Exception {
        String id = processId();
        Process kill = new ProcessBuilder("kill", frozen ? "-STOP" : "-CONT", id).start();
        if (kill.waitFor() != 0) {
            throw new IllegalStateException("kill " + id);
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (frozen && !isFrozen(id)) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("the server does not stop");
            }
            Thread.sleep(1);
        }
    }

    /** Whether each of its threads stands still: the signal reaches them one by one. */
    private static boolean isFrozen(String id) throws IOException {
        for (File thread : new File("/proc/" + id + "/task").listFiles()) {
            String status = text(thread.toPath().resolve("stat"));
            if (status.charAt(status.lastIndexOf(')') + 2) != 'T') {
                return false;
            }
        }
        return true;
    }

    private String processId() throws Exception {
        // Process.pid is Java 9's.
        Object id = Process.class.getMethod("pid").invoke(process);
        return id.toString();
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                kill();
                throw new IllegalStateException("the server does not end");
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            throw new IllegalStateException(e);
        }
    }
}
