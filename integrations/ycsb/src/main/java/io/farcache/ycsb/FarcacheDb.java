package io.farcache.ycsb;

import io.farcache.client.FarcacheClient;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Records in Farcache. Properties:
 *
 * <ul>
 * <li>{@code farcache.servers}: separated by commas; {@code 127.0.0.1:11211}
 * <li>{@code farcache.transport}: {@code auto}, {@code fabric} or {@code tcp}
 * <li>{@code farcache.outstanding}: operations that each thread has under way; 0, the default,
 * waits     for each
 * <li>{@code farcache.shared}: whether all threads share a client; {@code true}
 * <li>{@code farcache.options}: further options of the client, as {@code "spin-us=20
 * timeout-ms=900"}
 * </ul>
 *
 * <p>With operations under way, each call begins one and returns the status of an earlier one, at
 * the latest when the thread ends: throughput is measured so, and latency is not. Values are
 * decoded when they come, but YCSB does not get them; where it compares them ({@code
 * dataintegrity=true}), reads wait.
 */
public class FarcacheDb extends RecordDb {
    private static final Object LOCK = new Object();
    private static FarcacheClient shared;
    private static int sharers;

    private FarcacheClient client;
    private boolean shares;
    private int outstandingMax;
    private final ArrayDeque<CompletableFuture<Status>> outstanding = new ArrayDeque<>();

    /** Made by YCSB, one for each thread. */
    public FarcacheDb() {
    }

    @Override
    public void init() throws DBException {
        readProperties();
        Properties properties = getProperties();
        outstandingMax = Integer.parseInt(properties.getProperty("farcache.outstanding", "0"));
        shares = Boolean.parseBoolean(properties.getProperty("farcache.shared", "true"));
        try {
            client = shares ? share(properties) : connect(properties);
        } catch (RuntimeException e) {
            throw new DBException(e);
        }
    }

    private static FarcacheClient share(Properties properties) {
        synchronized (LOCK) {
            if (sharers == 0) {
                shared = connect(properties);
            }
            sharers++;
            return shared;
        }
    }

    private static FarcacheClient connect(Properties properties) {
        FarcacheClient.Builder builder = FarcacheClient
                .builder(properties.getProperty("farcache.servers", "127.0.0.1:11211"))
                .transport(properties.getProperty("farcache.transport", "auto"));
        for (String option : properties.getProperty("farcache.options", "").split(" ")) {
            int equals = option.indexOf('=');
            if (equals > 0) {
                builder.option(option.substring(0, equals), option.substring(equals + 1));
            } else if (!option.isEmpty()) {
                throw new IllegalArgumentException("farcache.options: " + option);
            }
        }
        return builder.build();
    }

    @Override
    public void cleanup() throws DBException {
        try {
            while (!outstanding.isEmpty()) {
                Status status = outstanding.remove().get();
                if (!status.isOk() && status != Status.NOT_FOUND) {
                    throw new DBException("an operation that was under way: " + status);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new DBException(e);
        } catch (ExecutionException e) {
            throw new DBException(e);
        } finally {
            end();
        }
    }

    private void end() {
        if (!shares) {
            client.close();
            return;
        }
        synchronized (LOCK) {
            sharers--;
            if (sharers == 0) {
                shared.close();
                shared = null;
            }
        }
    }

    /** Takes one more under way; the status of the one that has been so for longest. */
    private Status begun(CompletableFuture<Status> operation)
            throws InterruptedException, ExecutionException {
        outstanding.add(operation);
        return outstanding.size() > outstandingMax ? outstanding.remove().get()
                : Status.BATCHED_OK;
    }

    @Override
    Status read(String key, Set<String> fields, Map<String, ByteIterator> result)
            throws Exception {
        if (outstandingMax == 0 || isChecked()) {
            return super.read(key, fields, result);
        }
        return begun(client.async().get(key).thenApply(value -> {
            if (value == null) {
                return Status.NOT_FOUND;
            }
            Fields.decode(value);
            return Status.OK;
        }));
    }

    @Override
    byte[] get(String key) {
        return client.get(key);
    }

    @Override
    Status set(String key, byte[] value) throws Exception {
        if (outstandingMax == 0) {
            client.set(key, value, 0);
            return Status.OK;
        }
        return begun(client.async().set(key, value, 0).thenApply(done -> Status.OK));
    }

    @Override
    Status remove(String key) throws Exception {
        if (outstandingMax == 0) {
            return client.delete(key) ? Status.OK : Status.NOT_FOUND;
        }
        return begun(client.async().delete(key)
                .thenApply(done -> done ? Status.OK : Status.NOT_FOUND));
    }
}
