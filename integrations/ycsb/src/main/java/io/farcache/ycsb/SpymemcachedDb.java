package io.farcache.ycsb;

import java.io.IOException;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import net.spy.memcached.AddrUtil;
import net.spy.memcached.CachedData;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.transcoders.Transcoder;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * The same records with spymemcached, for comparison. Properties:
 *
 * <ul>
 * <li>{@code spymemcached.servers}: separated by spaces; {@code 127.0.0.1:11211}
 * <li>{@code spymemcached.protocol}: {@code text} or {@code binary}; {@code text}, which is faster
 * <li>{@code spymemcached.shared}: whether all threads share a client; {@code true}
 * </ul>
 */
public class SpymemcachedDb extends RecordDb {
    private static final long TIMEOUT_SECONDS = 60;
    private static final Object LOCK = new Object();
    private static final Bytes BYTES = new Bytes();
    private static MemcachedClient shared;
    private static int sharers;

    private MemcachedClient client;
    private boolean shares;

    /** Made by YCSB, one for each thread. */
    public SpymemcachedDb() {
    }

    /** Neither copies nor compresses. */
    private static final class Bytes implements Transcoder<byte[]> {
        @Override
        public boolean asyncDecode(CachedData data) {
            return false;
        }

        @Override
        public CachedData encode(byte[] value) {
            return new CachedData(0, value, getMaxSize());
        }

        @Override
        public byte[] decode(CachedData data) {
            return data.getData();
        }

        @Override
        public int getMaxSize() {
            return CachedData.MAX_SIZE;
        }
    }

    @Override
    public void init() throws DBException {
        readProperties();
        Properties properties = getProperties();
        shares = Boolean.parseBoolean(properties.getProperty("spymemcached.shared", "true"));
        try {
            client = shares ? share(properties) : connect(properties);
        } catch (IOException | RuntimeException e) {
            throw new DBException(e);
        }
    }

    private static MemcachedClient share(Properties properties) throws IOException {
        synchronized (LOCK) {
            if (sharers == 0) {
                shared = connect(properties);
            }
            sharers++;
            return shared;
        }
    }

    private static MemcachedClient connect(Properties properties) throws IOException {
        String protocol = properties.getProperty("spymemcached.protocol", "text");
        ConnectionFactoryBuilder builder = new ConnectionFactoryBuilder()
                .setProtocol(protocol.equals("binary") ? Protocol.BINARY : Protocol.TEXT)
                .setOpTimeout(TimeUnit.SECONDS.toMillis(TIMEOUT_SECONDS));
        String servers = properties.getProperty("spymemcached.servers", "127.0.0.1:11211");
        return new MemcachedClient(builder.build(), AddrUtil.getAddresses(servers));
    }

    @Override
    public void cleanup() {
        if (!shares) {
            client.shutdown();
            return;
        }
        synchronized (LOCK) {
            sharers--;
            if (sharers == 0) {
                shared.shutdown();
                shared = null;
            }
        }
    }

    @Override
    byte[] get(String key) {
        return client.get(key, BYTES);
    }

    @Override
    Status set(String key, byte[] value) throws Exception {
        return client.set(key, 0, value, BYTES).get() ? Status.OK : Status.ERROR;
    }

    @Override
    Status remove(String key) throws Exception {
        return client.delete(key).get() ? Status.OK : Status.NOT_FOUND;
    }
}
