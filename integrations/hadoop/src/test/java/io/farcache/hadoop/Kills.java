package io.farcache.hadoop;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;

/**
 * Jobs of which one server of three is killed (signal 9) at a random moment. They succeed, and each
 * byte that they have written is right. As a program ({@link #main}) it does that many times.
 */
public final class Kills {
    /** In the middle of what. */
    enum Moment {
        WRITE, READ, SORT
    }

    static final int SERVERS = 3;
    static final List<String> REDUNDANCIES = Arrays.asList("replicate:2", "ec:2,1");
    /** So slow that what is read or sorted is still in the servers. */
    private static final String BANDWIDTH = "20m";
    private static final String DFSIO = "/jobs/dfsio/io_data";

    private final Random random;
    private final Path folder;
    private final int megabytes;
    /** How long each part of a job took the last time, in milliseconds. */
    private final Map<Moment, Long> took = new EnumMap<>(Moment.class);
    /** Kills that came before the job had ended. */
    private int within;

    /**
     * Runs to be.
     *
     * @param folder for names and for what is only for a job
     * @param megabytes that each job writes
     */
    Kills(long seed, Path folder, int megabytes) {
        this.random = new Random(seed);
        this.folder = folder;
        this.megabytes = megabytes;
    }

    /** How many kills came before what was to be interrupted had ended. */
    int within() {
        return within;
    }

    /** One job, with one kill; what happened. */
    String run(Moment moment, String redundancy) throws Exception {
        Path names = Files.createTempDirectory(folder, "names-");
        Path scratch = Files.createTempDirectory(folder, "scratch-");
        try (Fleet fleet = new Fleet(SERVERS, "-m", "256", "-M", "--evict-expiring")) {
            Configuration configuration = new Configuration();
            configuration.set(FarcacheFileSystem.SERVERS, fleet.addresses());
            configuration.set(FarcacheFileSystem.NAMES_DIRECTORY, names.toString());
            configuration.set(FarcacheFileSystem.REDUNDANCY, redundancy);
            configuration.set(FarcacheFileSystem.CLOSE, Close.REDUNDANT.toString());
            configuration.set(FarcacheFileSystem.PERSIST_BANDWIDTH, BANDWIDTH);
            Jobs jobs = Jobs.onFarcache(configuration, scratch, megabytes);
            String told = run(moment, jobs, fleet, configuration);
            jobs.persist("persist");
            check(moment, jobs, names);
            return String.format(Locale.ROOT, "%-5s %-11s %s", moment.toString().toLowerCase(
                    Locale.ROOT), redundancy, told);
        } finally {
            remove(names);
            remove(scratch);
        }
    }

    private String run(Moment moment, Jobs jobs, Fleet fleet, Configuration configuration)
            throws Exception {
        switch (moment) {
            case WRITE:
                return killDuring(moment, fleet, () -> jobs.dfsio("-write"));
            case READ:
                jobs.dfsio("-write");
                return killDuring(moment, fleet, () -> {
                    jobs.dfsio("-read");
                    readAll(configuration);
                });
            default:
                jobs.randomWriter();
                return killDuring(moment, fleet, jobs::sortOnly);
        }
    }

    /** Part of a job. */
    private interface Part {
        void run() throws Exception;
    }

    private String killDuring(Moment moment, Fleet fleet, Part part) throws Exception {
        int server = random.nextInt(SERVERS);
        long delay = (long) (random.nextDouble() * took.getOrDefault(moment, 1000L));
        Callable<Long> kill = () -> {
            TimeUnit.MILLISECONDS.sleep(delay);
            fleet.kill(server);
            return System.nanoTime();
        };
        FutureTask<Long> killing = new FutureTask<>(kill);
        long begin = System.nanoTime();
        new Thread(killing, "killer").start();
        part.run();
        long end = System.nanoTime();
        boolean isWithin = killing.get() < end;
        within += isWithin ? 1 : 0;
        took.put(moment, TimeUnit.NANOSECONDS.toMillis(end - begin));
        return String.format(Locale.ROOT, "server %d killed %s at %.2f of %.2f s", server,
                isWithin ? "within" : "behind", delay / 1e3, (end - begin) / 1e9);
    }

    /** Each byte of what TestDFSIO has written, by way of the servers that are left. */
    private void readAll(Configuration configuration) throws IOException {
        FileSystem files = FileSystem.get(URI.create("farcache://any"), configuration);
        FileStatus[] all = files.listStatus(new org.apache.hadoop.fs.Path(DFSIO));
        require(all.length == Jobs.FILES, all.length + " files");
        for (FileStatus one : all) {
            try (InputStream stream = files.open(one.getPath())) {
                checkZeros(one.getPath().toString(), stream);
            }
        }
    }

    /** All is below, as ordinary files, and right. */
    private void check(Moment moment, Jobs jobs, Path names) throws Exception {
        if (moment == Moment.SORT) {
            jobs.validateSort();
            // The next run has servers of its own.
            jobs.persist("persist");
        }
        try (Stream<Path> walk = Files.walk(names.resolve("jobs"))) {
            for (Path file : walk.filter(Files::isRegularFile).collect(Collectors.toList())) {
                require(Reference.of(file) == null, file + " is not persisted");
                if (file.toString().contains(DFSIO)) {
                    try (InputStream stream = Files.newInputStream(file)) {
                        checkZeros(file.toString(), stream);
                    }
                }
            }
        }
    }

    /** TestDFSIO writes nothing else. */
    private void checkZeros(String name, InputStream stream) throws IOException {
        byte[] bytes = new byte[1 << 20];
        long length = 0;
        for (int read = stream.read(bytes); read >= 0; read = stream.read(bytes)) {
            for (int index = 0; index < read; index++) {
                require(bytes[index] == 0, name + ": a wrong byte");
            }
            length += read;
        }
        require(length == (long) megabytes / Jobs.FILES << 20, name + ": " + length + " bytes");
    }

    private static void require(boolean holds, String what) throws IOException {
        if (!holds) {
            throw new IOException(what);
        }
    }

    private static void remove(Path folder) throws IOException {
        try (Stream<Path> walk = Files.walk(folder)) {
            for (Path path : walk.sorted(Comparator.reverseOrder()).collect(Collectors.toList())) {
                Files.delete(path);
            }
        }
    }

    /**
     * Prints a line for each run.
     *
     * @param arguments a directory, megabytes, how many runs, a seed
     */
    public static void main(String[] arguments) {
        int status = 1;
        try {
            int runs = Integer.parseInt(arguments[2]);
            long seed = Long.parseLong(arguments[3]);
            Kills kills = new Kills(seed, Paths.get(arguments[0]), Integer.parseInt(arguments[1]));
            int all = Moment.values().length * REDUNDANCIES.size();
            for (int run = 0; run < runs; run++) {
                Moment moment = Moment.values()[run % Moment.values().length];
                String redundancy = REDUNDANCIES.get(run % all / Moment.values().length);
                System.out.println("told " + kills.run(moment, redundancy));
            }
            System.out.println("told " + runs + " jobs succeeded, and all bytes are right; "
                    + kills.within() + " kills before the part had ended");
            status = 0;
        } catch (Exception e) {
            e.printStackTrace();
        } finally {
            // The local runner leaves threads behind.
            System.exit(status);
        }
    }
}
