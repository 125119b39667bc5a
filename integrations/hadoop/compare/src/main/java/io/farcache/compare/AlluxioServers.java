package io.farcache.compare;

import alluxio.conf.Configuration;
import alluxio.conf.PropertyKey;
import alluxio.master.LocalAlluxioCluster;
import alluxio.master.LocalAlluxioJobCluster;

/**
 * Alluxio's servers in one process: a master, a worker with its blocks in memory, and what persists
 * behind the writers' backs, with the settings that a deployment has rather than those of its tests.
 */
public final class AlluxioServers {
    private AlluxioServers() {
    }

    /**
     * Runs until its standard input ends; prints {@code address HOST:PORT} once it can be used.
     *
     * @param arguments a directory of the file system below, a directory in memory, the size of
     *     what is kept there as Alluxio writes it ({@code 1GB})
     */
    public static void main(String[] arguments) throws Exception {
        LocalAlluxioCluster cluster = new LocalAlluxioCluster(1, false);
        cluster.initConfiguration("compare");
        Configuration.set(PropertyKey.MASTER_MOUNT_TABLE_ROOT_UFS, arguments[0]);
        Configuration.set(PropertyKey.WORKER_RAMDISK_SIZE, arguments[2]);
        Configuration.set(PropertyKey.Template.WORKER_TIERED_STORE_LEVEL_DIRS_PATH.format(0),
                arguments[1]);
        Configuration.set(PropertyKey.Template.WORKER_TIERED_STORE_LEVEL_DIRS_QUOTA.format(0),
                arguments[2]);
        Configuration.set(PropertyKey.USER_BLOCK_SIZE_BYTES_DEFAULT, "64MB");
        // What was closed is persisted at once, as here.
        Configuration.set(PropertyKey.MASTER_PERSISTENCE_INITIAL_INTERVAL_MS, "100ms");
        Configuration.set(PropertyKey.MASTER_PERSISTENCE_CHECKER_INTERVAL_MS, "100ms");
        Configuration.set(PropertyKey.MASTER_PERSISTENCE_SCHEDULER_INTERVAL_MS, "100ms");
        cluster.start();
        LocalAlluxioJobCluster jobs = new LocalAlluxioJobCluster();
        jobs.start();
        System.out.println("address " + cluster.getHostname() + ":" + cluster.getMasterRpcPort());
        while (System.in.read() >= 0) {
            // Whoever has started it is still there.
        }
        // Its own way of stopping waits for what nobody needs any more.
        Runtime.getRuntime().halt(0);
    }
}
