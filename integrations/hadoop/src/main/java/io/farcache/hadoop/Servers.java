package io.farcache.hadoop;

import io.farcache.client.FarcacheBlobs;
import io.farcache.client.FarcacheClient;
import io.farcache.client.FarcacheConnectionException;
import io.farcache.client.FarcacheException;
import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.BitSet;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;

/** The connections to the servers, and whether they can keep what closing a file promises. */
final class Servers implements Closeable {
    private static final String NO_REDUNDANCY = "none";
    /** Goes before what a client is told, if it is set. */
    private static final String REDUNDANCY_VARIABLE = "FARCACHE_REDUNDANCY";
    /** What closing a file waits for. */
    final Close mode;
    final FarcacheClient client;
    final FarcacheBlobs blobs;
    /** What schedulers of jobs call them. */
    final ServerNames names;
    private final boolean hasRedundancy;
    /** Those that are known to evict nothing. */
    private final BitSet checked = new BitSet();

    /**
     * As the properties of {@link FarcacheFileSystem} tell.
     *
     * @param usual the servers where no property names them
     * @throws IOException they do not answer, or the properties promise what cannot be
     */
    static Servers connect(Configuration configuration, String usual) throws IOException {
        try {
            return new Servers(configuration, usual);
        } catch (FarcacheException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    private Servers(Configuration configuration, String usual) throws IOException {
        String redundancy = configuration.getTrimmed(FarcacheFileSystem.REDUNDANCY, NO_REDUNDANCY);
        hasRedundancy = !redundancy.equals(NO_REDUNDANCY);
        mode = Close.of(configuration.getTrimmed(FarcacheFileSystem.CLOSE,
                Close.BUFFERED.toString()));
        if (mode == Close.REDUNDANT) {
            checkRedundant();
        }
        Duration timeout = milliseconds(configuration, FarcacheFileSystem.TIMEOUT, 30_000);
        FarcacheClient.Builder builder = FarcacheClient
                .builder(configuration.getTrimmed(FarcacheFileSystem.SERVERS, usual))
                .transport(configuration.getTrimmed(FarcacheFileSystem.TRANSPORT, "auto"))
                .timeout(timeout).connectTimeout(timeout)
                // How blobs lie on servers, and which of these are asked whether they evict.
                .option("cluster", "list");
        if (hasRedundancy) {
            builder.option("blob-redundancy", redundancy);
        }
        client = builder.build();
        names = new ServerNames(client);
        blobs = client.blobs((int) configuration.getLongBytes(FarcacheFileSystem.CHUNK_BYTES, 0),
                configuration.getLongBytes(FarcacheFileSystem.WINDOW_BYTES, 0),
                configuration.getLongBytes(FarcacheFileSystem.IN_FLIGHT_BYTES_MAX, 0),
                milliseconds(configuration, FarcacheFileSystem.WRITE_PATIENCE, 60_000));
    }

    private static Duration milliseconds(Configuration configuration, String name, long usual) {
        return Duration.ofMillis(
                configuration.getTimeDuration(name, usual, TimeUnit.MILLISECONDS));
    }

    private void checkRedundant() throws IOException {
        String promise = FarcacheFileSystem.CLOSE + "=" + mode + " cannot be promised";
        if (!hasRedundancy) {
            throw new IOException(promise + " without " + FarcacheFileSystem.REDUNDANCY);
        }
        if (System.getenv(REDUNDANCY_VARIABLE) != null) {
            throw new IOException(promise + ": " + REDUNDANCY_VARIABLE
                    + " in the environment goes before " + FarcacheFileSystem.REDUNDANCY);
        }
    }

    /**
     * What is only buffered must not be evicted; what closing waits for may fail instead.
     *
     * @throws IOException a server evicts
     */
    synchronized void check() throws IOException {
        for (int server = 0; mode != Close.PERSISTED && server < client.servers(); server++) {
            if (!checked.get(server) && evicts(server)) {
                throw new IOException(FarcacheFileSystem.CLOSE + "=" + mode
                        + " cannot be promised: server " + server
                        + " evicts; start it with --disable-evictions, or wait with "
                        + FarcacheFileSystem.CLOSE + "=" + Close.PERSISTED);
            }
        }
    }

    /** Whether a server evicts. One that is away is asked later, if the others can do without. */
    private boolean evicts(int server) {
        try {
            boolean evicts = !"off".equals(client.statistics(server, "settings").get("evictions"));
            checked.set(server, !evicts);
            return evicts;
        } catch (FarcacheConnectionException e) {
            if (!hasRedundancy) {
                throw e;
            }
            return false;
        }
    }

    @Override
    public void close() {
        blobs.close();
        client.close();
    }
}
