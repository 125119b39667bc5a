package io.farcache.yarn;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.v2.MiniMRYarnCluster;

/**
 * YARN's servers in one process: a resource manager, node managers, which run each task in a process
 * of its own, and MapReduce's job history. A {@code core-site.xml} on the class path tells them of
 * the file system.
 */
public final class YarnServers {
    /** Of each container, whatever runs there. */
    private static final int CONTAINER_MEGABYTES = 512;
    private static final String CONTAINER_HEAP = "-Xmx384m";
    /** Hadoop's web pages make classes in a way that Java 17 allows only then. */
    private static final String OPENED = " --add-opens=java.base/java.lang=ALL-UNNAMED";

    private YarnServers() {
    }

    /**
     * Runs until its standard input ends; prints {@code configuration FILE} once jobs can be run.
     *
     * @param arguments how many node managers; where the file with the cluster's configuration goes
     */
    public static void main(String[] arguments) {
        // What the servers log must not wait for whoever reads the one line.
        PrintStream told = System.out;
        System.setOut(System.err);
        int status = 1;
        try {
            run(arguments, told);
            status = 0;
        } catch (Exception e) {
            e.printStackTrace();
        } finally {
            // Servers that have not started leave threads behind.
            System.exit(status);
        }
    }

    private static void run(String[] arguments, PrintStream told) throws Exception {
        Configuration configuration = new Configuration();
        sizeContainers(configuration);
        int nodes = Integer.parseInt(arguments[0]);
        try (MiniMRYarnCluster cluster = new MiniMRYarnCluster("jobs", nodes)) {
            cluster.init(configuration);
            cluster.start();
            Path file = Paths.get(arguments[1]);
            try (OutputStream stream = Files.newOutputStream(file)) {
                cluster.getConfig().writeXml(stream);
            }
            told.println("configuration " + file);
            while (System.in.read() >= 0) {
                // Whoever has started it is still there.
            }
        }
    }

    private static void sizeContainers(Configuration configuration) {
        configuration.setInt("yarn.scheduler.minimum-allocation-mb", CONTAINER_MEGABYTES);
        for (String kind : new String[] {"map", "reduce"}) {
            configuration.setInt("mapreduce." + kind + ".memory.mb", CONTAINER_MEGABYTES);
            configuration.set("mapreduce." + kind + ".java.opts", CONTAINER_HEAP);
        }
        configuration.setInt("yarn.app.mapreduce.am.resource.mb", CONTAINER_MEGABYTES);
        configuration.set("yarn.app.mapreduce.am.command-opts", CONTAINER_HEAP + OPENED);
    }
}
