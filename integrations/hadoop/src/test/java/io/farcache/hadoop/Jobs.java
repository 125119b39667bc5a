package io.farcache.hadoop;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.RandomWriter;
import org.apache.hadoop.examples.Sort;
import org.apache.hadoop.examples.terasort.TeraChecksum;
import org.apache.hadoop.examples.terasort.TeraGen;
import org.apache.hadoop.examples.terasort.TeraSort;
import org.apache.hadoop.examples.terasort.TeraValidate;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.TestDFSIO;
import org.apache.hadoop.hdfs.NNBench;
import org.apache.hadoop.mapred.SortValidator;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Hadoop's own benchmarks, on this file system or on the bare one below, with its local runner or
 * on a cluster of YARN. As a program ({@link #main}) it tells how long each took.
 */
public final class Jobs {
    /** Files that TestDFSIO writes. */
    static final int FILES = 4;
    /** The system property that names a file: the configuration of YARN, if jobs run there. */
    private static final String CLUSTER = "farcache.jobs.cluster";
    /** Maps at a time, and files that each map of NNBench makes. */
    private static final int MAPS = 2;
    private static final int NAMES_PER_MAP = 200;
    private static final int NAME_BYTES = 1024;
    /** Where NNBench writes what it has measured: in the working directory. */
    private static final String NAMES_RESULT = "NNBench_results.log";
    /** As TestDFSIO tells the rate of a map. */
    private static final String RATE = "Throughput mb/sec";
    private static final String ALLUXIO_WRITE_TYPE = "alluxio.user.file.writetype.default";
    private static final String UNPERSISTED = "MUST_CACHE";
    private final Configuration configuration;
    private final String base;
    private final Path scratch;
    private final int megabytes;
    private final List<String> told = new ArrayList<>();
    /** Where files are found in the end that closing the file system does not wait for; or null. */
    private Path below;

    private Jobs(Configuration configuration, String base, Path scratch, int megabytes) {
        this.configuration = configuration;
        this.base = base;
        this.scratch = scratch;
        this.megabytes = megabytes;
        String cluster = System.getProperty(CLUSTER);
        if (cluster == null) {
            configuration.set("mapreduce.framework.name", "local");
            configuration.set("mapreduce.jobtracker.staging.root.dir", base + "/staging");
            configuration.setInt("mapreduce.local.map.tasks.maximum", MAPS);
        } else {
            configuration.addResource(new org.apache.hadoop.fs.Path(cluster));
        }
        configuration.set("hadoop.tmp.dir", scratch.toString());
        configuration.setInt("mapreduce.task.io.sort.mb", 64);
        configuration.set("test.build.data", base + "/dfsio");
    }

    /**
     * On this file system.
     *
     * @param configuration says where its servers and its directory are
     * @param scratch a local directory for what is only for a job
     * @param megabytes that each benchmark writes
     */
    static Jobs onFarcache(Configuration configuration, Path scratch, int megabytes) {
        configuration.set("fs.defaultFS", "farcache://any");
        return new Jobs(configuration, "/jobs", scratch, megabytes);
    }

    /** Local files as they are. */
    public static final class Bare extends LocalFileSystem {
        @Override
        public void initialize(URI uri, Configuration configuration) throws IOException {
            super.initialize(uri, configuration);
            setWriteChecksum(false);
            setVerifyChecksum(false);
        }
    }

    /** On the directory below, without checksums of Hadoop's. */
    static Jobs onBare(Path directory, Path scratch, int megabytes) {
        Configuration configuration = new Configuration();
        configuration.set("fs.defaultFS", "file:///");
        configuration.setClass("fs.file.impl", Bare.class, FileSystem.class);
        return new Jobs(configuration, directory.resolve("jobs").toString(), scratch, megabytes);
    }

    /**
     * On Alluxio, which persists into a directory behind the writers' backs, too, or not at all
     * where its client's system property says so.
     *
     * @param master its address
     * @param below the directory
     */
    static Jobs onAlluxio(String master, Path below, Path scratch, int megabytes) {
        Configuration configuration = new Configuration();
        configuration.set("fs.defaultFS", "alluxio://" + master);
        configuration.set("fs.alluxio.impl", "alluxio.hadoop.FileSystem");
        Jobs jobs = new Jobs(configuration, "/jobs", scratch, megabytes);
        boolean isPersisted = !UNPERSISTED.equals(System.getProperty(ALLUXIO_WRITE_TYPE));
        jobs.below = isPersisted ? below.resolve("jobs") : null;
        return jobs;
    }

    /** Lines of what was run: name, megabytes, seconds; or its rate, in MB/s of a map. */
    List<String> told() {
        return told;
    }

    private void run(String name, Tool tool, String... arguments) throws Exception {
        long begin = System.nanoTime();
        int status = ToolRunner.run(new Configuration(configuration), tool, arguments);
        tell(name, begin);
        if (status != 0) {
            throw new IOException(name + " ends with " + status);
        }
    }

    private void tell(String name, long begin) {
        told.add(String.format(Locale.ROOT, "%s %d %.2f", name, megabytes,
                (System.nanoTime() - begin) / 1e9));
    }

    /** Waits until all that was written is below; what is opened next is opened anew. */
    void persist(String name) throws IOException {
        long begin = System.nanoTime();
        if (below != null) {
            awaitBelow();
        }
        FileSystem.closeAll();
        tell(name, begin);
    }

    /** Alluxio does not tell when all is below: it is when each file is there, and whole. */
    private void awaitBelow() throws IOException {
        FileSystem files = FileSystem.get(configuration);
        org.apache.hadoop.fs.Path root = new org.apache.hadoop.fs.Path(base);
        RemoteIterator<LocatedFileStatus> all = files.listFiles(root, true);
        while (all.hasNext()) {
            LocatedFileStatus one = all.next();
            String name = root.toUri().relativize(URI.create(one.getPath().toUri().getPath()))
                    .getPath();
            Path place = below.resolve(name);
            while (!Files.exists(place) || Files.size(place) != one.getLen()) {
                Pause.of(5);
            }
        }
    }

    /** TestDFSIO, {@code -write} or {@code -read}. */
    void dfsio(String way) throws Exception {
        String name = "dfsio-" + way.substring(1);
        Path result = scratch.resolve("dfsio");
        run(name, new TestDFSIO(), way, "-nrFiles", "" + FILES, "-size",
                megabytes / FILES + "MB", "-resFile", result.toString());
        for (String line : Files.readAllLines(result)) {
            if (line.contains(RATE)) {
                told.add(name + "-rate " + megabytes + line.substring(line.indexOf(':') + 1));
            }
        }
        Files.delete(result);
    }

    void dfsioWrite() throws Exception {
        dfsio("-write");
        persist("dfsio-persist");
    }

    void dfsioRead() throws Exception {
        dfsio("-read");
    }

    /** Writes random data, sorts them, and compares both. */
    void sort() throws Exception {
        randomWriter();
        sortOnly();
        persist("sort-persist");
        validateSort();
    }

    void randomWriter() throws Exception {
        configuration.setInt("mapreduce.randomwriter.mapsperhost", 2);
        configuration.setLong("mapreduce.randomwriter.bytespermap", (long) megabytes << 19);
        run("random-writer", new RandomWriter(), base + "/random");
    }

    void sortOnly() throws Exception {
        run("sort", new Sort<>(), "-r", "2", base + "/random", base + "/sorted");
    }

    void validateSort() throws Exception {
        run("sort-validator", new SortValidator(), "-sortInput", base + "/random", "-sortOutput",
                base + "/sorted");
    }

    /** NNBench: makes, reads, renames and deletes many small files. */
    void names() throws Exception {
        names("create_write", MAPS * NAMES_PER_MAP);
        names("open_read", MAPS * NAMES_PER_MAP);
        names("rename", MAPS * NAMES_PER_MAP);
        // It deletes those of the names before.
        names("create_write", MAPS * NAMES_PER_MAP);
        names("delete", 0);
    }

    /** One of its operations; so many files are there afterwards. */
    private void names(String operation, int filesAfter) throws Exception {
        String directory = base + "/names";
        long nextSecond = System.currentTimeMillis() / 1000 + 1;
        run("names-" + operation, new NNBench(), "-operation", operation, "-maps", "" + MAPS,
                "-reduces", "1", "-startTime", "" + nextSecond, "-blockSize", "" + NAME_BYTES,
                "-bytesToWrite", "" + NAME_BYTES, "-numberOfFiles", "" + NAMES_PER_MAP,
                "-replicationFactorPerFile", "1", "-readFileAfterOpen", "true", "-baseDir",
                directory);
        Path result = Paths.get(NAMES_RESULT);
        for (String line : Files.readAllLines(result)) {
            requireNoException(line);
            if (line.contains("TPS: ") && !line.contains("RAW DATA")) {
                told.add("names-" + operation + "-rate " + filesAfter
                        + line.substring(line.lastIndexOf(':') + 1));
            }
        }
        Files.delete(result);
        FileSystem files = FileSystem.get(configuration);
        FileStatus[] there = files.listStatus(new org.apache.hadoop.fs.Path(directory, "data"));
        if (there.length != filesAfter) {
            throw new IOException(operation + " leaves " + there.length + " files");
        }
        for (FileStatus file : there) {
            if (file.getLen() != NAME_BYTES) {
                throw new IOException(file + " is not whole");
            }
        }
    }

    /** NNBench counts what fails, and goes on. */
    private static void requireNoException(String line) throws IOException {
        if (line.contains("# of exceptions") && !line.trim().endsWith(": 0")) {
            throw new IOException("NNBench: " + line.trim());
        }
    }

    /** Writes rows, sorts them, and looks whether these very rows are there in order. */
    void tera() throws Exception {
        run("tera-gen", new TeraGen(), "" + rows(), base + "/rows");
        run("tera-sort", new TeraSort(), base + "/rows", base + "/rows-sorted");
        persist("tera-persist");
        validateTera();
    }

    private long rows() {
        return ((long) megabytes << 20) / TeraCheck.ROW_BYTES;
    }

    void validateTera() throws Exception {
        FileSystem files = FileSystem.get(configuration);
        for (String former : new String[] {"/checksum", "/report"}) {
            files.delete(new org.apache.hadoop.fs.Path(base + former), true);
        }
        run("tera-checksum", new TeraChecksum(), base + "/rows", base + "/checksum");
        run("tera-validate", new TeraValidate(), base + "/rows-sorted", base + "/report");
        new TeraCheck(files, base).require(rows());
    }

    /** All of them, the second reading after the first. */
    void all() throws Exception {
        dfsioWrite();
        dfsioRead();
        sort();
        tera();
        names();
        persist("persist");
    }

    /**
     * Runs benchmarks and prints a line for each: name, megabytes, seconds.
     *
     * @param arguments {@code farcache|alluxio|bare}, the directory, servers, a local directory,
     *     megabytes, and the names of benchmarks: {@code write}, {@code read}, {@code sort},
     *     {@code sort-only}, {@code tera}, {@code names}
     */
    public static void main(String[] arguments) {
        int status = 1;
        try {
            runAll(arguments);
            status = 0;
        } catch (Exception e) {
            e.printStackTrace();
        } finally {
            // The local runner leaves threads behind.
            System.exit(status);
        }
    }

    private static void runAll(String[] arguments) throws Exception {
        Path directory = Paths.get(arguments[1]);
        Path scratch = Files.createDirectories(Paths.get(arguments[3]));
        int megabytes = Integer.parseInt(arguments[4]);
        Jobs jobs;
        if (arguments[0].equals("farcache")) {
            Configuration configuration = new Configuration();
            configuration.set(FarcacheFileSystem.SERVERS, arguments[2]);
            configuration.set(FarcacheFileSystem.NAMES_DIRECTORY, directory.toString());
            jobs = onFarcache(configuration, scratch, megabytes);
        } else if (arguments[0].equals("alluxio")) {
            jobs = onAlluxio(arguments[2], directory, scratch, megabytes);
        } else {
            jobs = onBare(directory, scratch, megabytes);
        }
        for (String name : Arrays.copyOfRange(arguments, 5, arguments.length)) {
            jobs.run(name);
        }
        jobs.persist("persist");
        jobs.told().forEach(line -> System.out.println("told " + line));
    }

    private void run(String name) throws Exception {
        switch (name) {
            case "write":
                dfsioWrite();
                break;
            case "read":
                dfsioRead();
                break;
            case "sort":
                sort();
                break;
            case "sort-only":
                randomWriter();
                sortOnly();
                persist("sort-persist");
                break;
            case "tera":
                tera();
                break;
            case "names":
                names();
                break;
            default:
                throw new IllegalArgumentException(name);
        }
    }
}
