package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Random operations, compared with a model in memory, as fsx does it. With redundancy a server is
 * killed (signal 9) in each round, and writing and reading go on with the others; without, one is
 * killed between two rounds. It comes back, with nothing, when the files of the round are
 * persisted. As a program ({@link #main}) it does very many.
 */
public final class RandomOperations {
    static final List<String> REDUNDANCIES = Arrays.asList("none", "replicate:2", "ec:2,1");
    private static final int SERVERS = 3;
    private static final String[] FOLDERS = {"/a", "/b", "/b/c"};
    private static final int NAMES_IN_A_FOLDER = 4;
    /** After so many rounds a program tells how far it has come. */
    private static final int TOLD_ROUNDS = 25;

    private final java.nio.file.Path names;
    private final Scale scale;
    private final Map<String, byte[]> model = new TreeMap<>();
    private final long seed;
    private final Random random;
    private long number;
    private int rounds;

    /** How large files are, and how long a round. */
    enum Scale {
        /** Files of several chunks; many rounds. */
        SMALL(60, 400_000, "48k", "20m"),
        /** Many operations in little time, most of them on files of one or two chunks. */
        LONG(1000, 60_000, "16k", "20m");

        private final int operationsOfARound;
        private final int fileBytesMax;
        private final String chunkBytes;
        /** So slow that some of it is still in the servers when it is read. */
        private final String persistBandwidth;

        Scale(int operationsOfARound, int fileBytesMax, String chunkBytes,
                String persistBandwidth) {
            this.operationsOfARound = operationsOfARound;
            this.fileBytesMax = fileBytesMax;
            this.chunkBytes = chunkBytes;
            this.persistBandwidth = persistBandwidth;
        }
    }

    /**
     * Operations to be.
     *
     * @param names an empty directory
     */
    RandomOperations(java.nio.file.Path names, Scale scale, long seed) {
        this.names = names;
        this.scale = scale;
        this.seed = seed;
        this.random = new Random(seed);
    }

    /**
     * Does at least so many operations, in whole rounds, and tells what was done after some rounds
     * and in the end.
     */
    void run(String redundancy, long operations, Consumer<String> tell) throws Exception {
        boolean isRedundant = !redundancy.equals("none");
        try (Fleet fleet = new Fleet(SERVERS, "-m", "64", "-M", "--evict-expiring")) {
            while (number < operations) {
                int killed = random.nextInt(SERVERS);
                long at = isRedundant ? number + random.nextInt(scale.operationsOfARound) : -1;
                round(fleet, redundancy, killed, at);
                if (!isRedundant) {
                    // All is persisted.
                    fleet.kill(killed);
                }
                rounds++;
                fleet.startAgain(killed);
                checkBelow();
                if (rounds % TOLD_ROUNDS == 0 || number >= operations) {
                    tell.accept(String.format(Locale.ROOT, "%-11s %d operations, %d kills, seed %d",
                            redundancy, number, rounds, seed));
                }
            }
        } catch (Exception | Error e) {
            throw new AssertionError(redundancy + ", seed " + seed + ", operation " + number, e);
        }
    }

    /** With one file system object; a server is killed before the operation with this number. */
    private void round(Fleet fleet, String redundancy, int killed, long at) throws Exception {
        long end = number + scale.operationsOfARound;
        try (FileSystem files = open(fleet, redundancy)) {
            for (; number < end; number++) {
                if (number == at) {
                    fleet.kill(killed);
                }
                operate(files);
            }
        }
    }

    private FileSystem open(Fleet fleet, String redundancy) throws IOException {
        Configuration configuration = new Configuration();
        configuration.set(FarcacheFileSystem.SERVERS, fleet.addresses());
        configuration.set(FarcacheFileSystem.NAMES_DIRECTORY, names.toString());
        configuration.set(FarcacheFileSystem.TIMEOUT, TestServer.PATIENCE_SECONDS + "s");
        configuration.set(FarcacheFileSystem.CHUNK_BYTES, scale.chunkBytes);
        configuration.set(FarcacheFileSystem.REDUNDANCY, redundancy);
        configuration.set(FarcacheFileSystem.CLOSE,
                redundancy.equals("none") ? "buffered" : "redundant");
        configuration.set(FarcacheFileSystem.PERSIST_BANDWIDTH, scale.persistBandwidth);
        configuration.setBoolean("fs.farcache.impl.disable.cache", true);
        FileSystem files = FileSystem.get(URI.create("farcache://any/"), configuration);
        for (String folder : FOLDERS) {
            files.mkdirs(new Path(folder));
        }
        return files;
    }

    private String anyName() {
        return FOLDERS[random.nextInt(FOLDERS.length)] + "/" + random.nextInt(NAMES_IN_A_FOLDER);
    }

    private void operate(FileSystem files) throws IOException {
        String name = anyName();
        switch (random.nextInt(11)) {
            case 0:
            case 1:
            case 2:
                write(files, name);
                break;
            case 3:
                rename(files, name, anyName());
                break;
            case 4:
                assertEquals(model.remove(name) != null, files.delete(new Path(name), false));
                break;
            case 8:
                append(files, name);
                break;
            case 9:
                truncate(files, name);
                break;
            case 10:
                readVectored(files, name);
                break;
            case 5:
                list(files, FOLDERS[random.nextInt(FOLDERS.length)]);
                break;
            default:
                read(files, name);
        }
    }

    private void write(FileSystem files, String name) throws IOException {
        int bound = random.nextInt(4) == 0 ? 3 * Reference.BYTES : scale.fileBytesMax;
        byte[] content = new byte[random.nextInt(bound)];
        random.nextBytes(content);
        model.remove(name);
        try (FSDataOutputStream stream = files.create(new Path(name), true)) {
            int written = 0;
            while (written < content.length) {
                int bytes = 1 + random.nextInt(content.length - written);
                stream.write(content, written, bytes);
                written += bytes;
                int flush = random.nextInt(6);
                if (flush == 0) {
                    stream.hsync();
                } else if (flush == 1) {
                    stream.hflush();
                }
                if (flush <= 1) {
                    model.put(name, Arrays.copyOf(content, written));
                    read(files, name);
                }
            }
        }
        model.put(name, content);
    }

    private void append(FileSystem files, String name) throws IOException {
        byte[] before = model.get(name);
        if (before == null) {
            assertThrows(FileNotFoundException.class, () -> files.append(new Path(name)));
            return;
        }
        int bound = random.nextBoolean() ? 3 * Reference.BYTES : scale.fileBytesMax / 4;
        byte[] more = new byte[random.nextInt(bound)];
        random.nextBytes(more);
        byte[] all = Arrays.copyOf(before, before.length + more.length);
        System.arraycopy(more, 0, all, before.length, more.length);
        try (FSDataOutputStream stream = files.append(new Path(name))) {
            int half = more.length / 2;
            stream.write(more, 0, half);
            if (random.nextBoolean()) {
                stream.hsync();
                model.put(name, Arrays.copyOf(all, before.length + half));
                read(files, name);
            }
            stream.write(more, half, more.length - half);
        }
        model.put(name, all);
    }

    private void truncate(FileSystem files, String name) throws IOException {
        byte[] before = model.get(name);
        if (before != null) {
            int length = random.nextInt(before.length + 1);
            assertTrue(files.truncate(new Path(name), length));
            model.put(name, Arrays.copyOf(before, length));
        }
    }

    /** Ranges that do not overlap, into buffers of both kinds. */
    private void readVectored(FileSystem files, String name) throws IOException {
        byte[] expected = model.get(name);
        if (expected == null) {
            return;
        }
        List<FileRange> ranges = new ArrayList<>();
        int next = 0;
        while (next < expected.length && ranges.size() < 8) {
            int start = next + random.nextInt(1 + (expected.length - next) / 3);
            int bytes = random.nextInt(1 + (expected.length - start) / 2);
            ranges.add(FileRange.createFileRange(start, bytes));
            next = start + bytes + 1;
        }
        Collections.shuffle(ranges, random);
        boolean isDirect = random.nextBoolean();
        try (FSDataInputStream stream = files.open(new Path(name))) {
            stream.readVectored(ranges, bytes -> isDirect ? ByteBuffer.allocateDirect(bytes)
                    : ByteBuffer.allocate(bytes));
            for (FileRange range : ranges) {
                byte[] found = new byte[range.getLength()];
                range.getData().join().get(found);
                int start = (int) range.getOffset();
                assertArrayEquals(Arrays.copyOfRange(expected, start, start + found.length), found);
            }
        }
    }

    private void rename(FileSystem files, String from, String to) throws IOException {
        boolean expected = model.containsKey(from) && (from.equals(to) || !model.containsKey(to));
        assertEquals(expected, files.rename(new Path(from), new Path(to)), from + " to " + to);
        if (expected) {
            model.put(to, model.remove(from));
        }
    }

    private void list(FileSystem files, String folder) throws IOException {
        TreeSet<String> found = new TreeSet<>();
        for (FileStatus one : files.listStatus(new Path(folder))) {
            if (one.isFile()) {
                String name = one.getPath().toUri().getPath();
                found.add(name);
                assertEquals(model.get(name).length, one.getLen(), name);
            }
        }
        TreeSet<String> expected = new TreeSet<>(model.keySet());
        expected.removeIf(name -> !new Path(name).getParent().toString().equals(folder));
        assertEquals(expected, found);
    }

    private void read(FileSystem files, String name) throws IOException {
        byte[] expected = model.get(name);
        if (expected == null) {
            assertThrows(FileNotFoundException.class, () -> files.open(new Path(name)));
            return;
        }
        assertEquals(expected.length, files.getFileStatus(new Path(name)).getLen(), name);
        try (FSDataInputStream stream = files.open(new Path(name))) {
            for (int reads = random.nextInt(3); reads >= 0 && expected.length > 0; reads--) {
                int start = random.nextInt(expected.length);
                byte[] room = new byte[1 + random.nextInt(expected.length - start)];
                stream.readFully(start, room);
                assertArrayEquals(Arrays.copyOfRange(expected, start, start + room.length), room);
            }
            byte[] all = new byte[expected.length];
            stream.readFully(0, all);
            assertArrayEquals(expected, all);
            stream.seek(expected.length);
            assertEquals(-1, stream.read());
        }
    }

    /** All is persisted: the files below are the model's, as any program reads them. */
    private void checkBelow() throws IOException {
        List<String> found = new ArrayList<>();
        for (String folder : FOLDERS) {
            try (java.util.stream.Stream<java.nio.file.Path> list = Files.list(
                    names.resolve(folder.substring(1)))) {
                list.filter(Files::isRegularFile).forEach(file -> found.add("/"
                        + names.relativize(file)));
            }
        }
        assertEquals(model.keySet(), new TreeSet<>(found));
        for (Map.Entry<String, byte[]> file : model.entrySet()) {
            byte[] below = Files.readAllBytes(names.resolve(file.getKey().substring(1)));
            assertArrayEquals(file.getValue(), below, file.getKey());
        }
    }

    /**
     * Prints what was done, of one redundancy after another.
     *
     * @param arguments an empty directory, how many operations, a seed
     */
    public static void main(String[] arguments) {
        int status = 1;
        try {
            java.nio.file.Path folder = Paths.get(arguments[0]);
            long operations = Long.parseLong(arguments[1]) / REDUNDANCIES.size() + 1;
            long seed = Long.parseLong(arguments[2]);
            for (String redundancy : REDUNDANCIES) {
                java.nio.file.Path names = Files.createTempDirectory(folder, "names-");
                new RandomOperations(names, Scale.LONG, seed++).run(redundancy, operations,
                        line -> System.out.println("told " + line));
            }
            status = 0;
        } catch (Exception | AssertionError e) {
            e.printStackTrace();
        } finally {
            System.exit(status);
        }
    }
}
