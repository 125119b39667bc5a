package io.farcache.hadoop;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.net.NetworkTopology;

/**
 * Where the blocks of a file lie. A block has many chunks, which the servers share as they share
 * keys; so the servers are told that have most of it.
 */
final class Blocks {
    /** Servers that are told of a block, as HDFS has three replicas of one. */
    private static final int SERVERS_MAX = 3;
    /** What Hadoop says of files that may be read anywhere. */
    private static final String[] ANYWHERE_NAMES = {"localhost:9866"};
    private static final String[] ANYWHERE_HOSTS = {"localhost"};

    private final Source source;
    private final ServerNames servers;
    private final long fileBytes;
    private final long blockBytes;

    /**
     * Of an open file.
     *
     * @param blockBytes by which jobs split it
     */
    Blocks(Source source, ServerNames servers, long fileBytes, long blockBytes) {
        this.source = source;
        this.servers = servers;
        this.fileBytes = fileBytes;
        this.blockBytes = blockBytes;
    }

    /** Of all blocks that have a part of this stretch, which begins within the file. */
    BlockLocation[] between(long start, long bytes) throws IOException {
        long end = start + Math.min(bytes, fileBytes - start);
        List<BlockLocation> blocks = new ArrayList<>();
        for (long begin = start - start % blockBytes; begin < end; begin += blockBytes) {
            blocks.add(block(begin, Math.min(blockBytes, fileBytes - begin)));
        }
        return blocks.toArray(new BlockLocation[0]);
    }

    private BlockLocation block(long begin, long bytes) throws IOException {
        long[] bytesOnServers = new long[servers.servers()];
        source.addBytesOnServers(begin, bytes, bytesOnServers);
        int[] most = IntStream.range(0, bytesOnServers.length)
                .filter(server -> bytesOnServers[server] > 0).boxed()
                .sorted((one, other) -> Long.compare(bytesOnServers[other], bytesOnServers[one]))
                .limit(SERVERS_MAX).mapToInt(Integer::intValue).toArray();
        if (most.length == 0) {
            return new BlockLocation(ANYWHERE_NAMES, ANYWHERE_HOSTS, begin, bytes);
        }
        String[] names = new String[most.length];
        String[] hosts = new String[most.length];
        String[] paths = new String[most.length];
        for (int place = 0; place < most.length; place++) {
            names[place] = servers.name(most[place]);
            hosts[place] = servers.host(most[place]);
            paths[place] = NetworkTopology.DEFAULT_RACK + "/" + names[place];
        }
        return new BlockLocation(names, hosts, paths, begin, bytes);
    }
}
