package io.farcache.hadoop;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Paths;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * How many names a second one thread makes, renames and deletes, of files that are persisted, on
 * this file system and on the bare one below, in turns.
 */
public final class NameRates {
    private static final int[] SIZES = {0, 1024};
    private final String kind;
    private final FileSystem files;
    private final Path folder;
    private final int count;

    private NameRates(String kind, FileSystem files, Path folder, int count) {
        this.kind = kind;
        this.files = files;
        this.folder = folder;
        this.count = count;
    }

    /**
     * Prints a line for each: operation, kind, bytes of a file, operations a second.
     *
     * @param arguments a directory on the file system below, how many files, how many turns
     */
    public static void main(String[] arguments) throws Exception {
        java.nio.file.Path below = Paths.get(arguments[0]);
        int count = Integer.parseInt(arguments[1]);
        Configuration bare = new Configuration();
        bare.setClass("fs.file.impl", Jobs.Bare.class, FileSystem.class);
        try (FilesFixture fixture = new FilesFixture(below, "-m", "256", "-M", "--evict-expiring");
                FileSystem local = FileSystem.newInstance(URI.create("file:///"), bare)) {
            for (int turn = 0; turn < Integer.parseInt(arguments[2]); turn++) {
                for (int bytes : SIZES) {
                    NameRates bareNames = new NameRates("bare", local, new Path(below + "/bare"),
                            count);
                    bareNames.create(bytes);
                    bareNames.change(bytes);
                    // Closing waits until all is persisted.
                    try (FileSystem files = fixture.open()) {
                        new NameRates("farcache", files, new Path("/names"), count).create(bytes);
                    }
                    try (FileSystem files = fixture.open()) {
                        new NameRates("farcache", files, new Path("/names"), count).change(bytes);
                    }
                }
            }
        }
        System.exit(0);
    }

    /** What is done with one name. */
    private interface Operation {
        void of(int number) throws IOException;
    }

    private void create(int bytes) throws IOException {
        files.mkdirs(folder);
        byte[] content = Content.of(bytes);
        rate("create", bytes, number -> {
            try (OutputStream stream = files.create(name("old", number), true)) {
                stream.write(content);
            }
        });
    }

    private void change(int bytes) throws IOException {
        // What is only done once, such as connecting, is no part of what follows.
        files.rename(name("old", 0), name("warm", 0));
        files.rename(name("warm", 0), name("old", 0));
        rate("rename", bytes, number -> files.rename(name("old", number), name("new", number)));
        rate("delete", bytes, number -> files.delete(name("new", number), false));
        files.delete(folder, true);
    }

    private Path name(String prefix, int number) {
        return new Path(folder, prefix + number);
    }

    private void rate(String operation, int bytes, Operation each) throws IOException {
        long begin = System.nanoTime();
        for (int number = 0; number < count; number++) {
            each.of(number);
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        System.out.printf(Locale.ROOT, "told %s-%s %d %.0f%n", operation, kind, bytes,
                count / seconds);
    }
}
