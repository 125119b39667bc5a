package io.farcache.hadoop;

import io.farcache.client.TestServer;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Random operations, compared with a model in memory, as fsx does it. With redundancy a server is
 * killed in each round; it comes back, with nothing, when the files of that round are persisted.
 *
 * <p>{@code -Dfarcache.test.operations=N} makes more of them, {@code -Dfarcache.test.seed=N} the
 * same again. Both reach the tests by {@code -Dfarcache.test.jvm="-Xmx512m -D..."}.
 */
class RandomOperationsTest {
    private static final int OPERATIONS = Integer.getInteger("farcache.test.operations", 300);
    private static final int OPERATIONS_OF_A_ROUND = 60;
    private static final int SERVERS = 3;
    private static final int FILE_BYTES_MAX = 400_000;
    private static final String[] FOLDERS = {"/a", "/b", "/b/c"};

    @TempDir
    java.nio.file.Path names;
    private final Map<String, byte[]> model = new TreeMap<>();
    private final long seed = Long.getLong("farcache.test.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private int number;

    @ParameterizedTest
    @ValueSource(strings = {"none", "replicate:2", "ec:2,1"})
    void whateverIsDoneFilesAreWhatTheModelSays(String redundancy) throws Exception {
        boolean kills = !redundancy.equals("none");
        try (Fleet fleet = new Fleet(SERVERS, "-m", "64", "-M", "--evict-expiring")) {
            while (number < OPERATIONS) {
                int killed = random.nextInt(SERVERS);
                int at = number + random.nextInt(OPERATIONS_OF_A_ROUND);
                int end = number + OPERATIONS_OF_A_ROUND;
                try (FileSystem files = open(fleet, redundancy)) {
                    for (; number < end; number++) {
                        if (kills && number == at) {
                            fleet.kill(killed);
                        }
                        operate(files);
                    }
                }
                if (kills) {
                    fleet.startAgain(killed);
                }
                checkBelow();
            }
        } catch (Exception | Error e) {
            throw new AssertionError("seed " + seed + ", operation " + number, e);
        }
    }

    private FileSystem open(Fleet fleet, String redundancy) throws IOException {
        Configuration configuration = new Configuration();
        configuration.set(FarcacheFileSystem.SERVERS, fleet.addresses());
        configuration.set(FarcacheFileSystem.NAMES_DIRECTORY, names.toString());
        configuration.set(FarcacheFileSystem.TIMEOUT, TestServer.PATIENCE_SECONDS + "s");
        configuration.set(FarcacheFileSystem.CHUNK_BYTES, "48k");
        configuration.set(FarcacheFileSystem.REDUNDANCY, redundancy);
        configuration.set(FarcacheFileSystem.CLOSE,
                redundancy.equals("none") ? "buffered" : "redundant");
        // Some of it is still in the servers when it is read.
        configuration.set(FarcacheFileSystem.PERSIST_BANDWIDTH, "20m");
        configuration.setBoolean("fs.farcache.impl.disable.cache", true);
        FileSystem files = FileSystem.get(URI.create("farcache://any/"), configuration);
        for (String folder : FOLDERS) {
            files.mkdirs(new Path(folder));
        }
        return files;
    }

    private String anyName() {
        return FOLDERS[random.nextInt(FOLDERS.length)] + "/" + random.nextInt(4);
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
        int bound = random.nextInt(4) == 0 ? 3 * Reference.BYTES : FILE_BYTES_MAX;
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
        int bound = random.nextBoolean() ? 3 * Reference.BYTES : FILE_BYTES_MAX / 4;
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
        assertTrue(number > 0);
    }
}
