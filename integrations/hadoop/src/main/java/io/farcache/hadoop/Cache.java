package io.farcache.hadoop;

import io.farcache.client.BlobReader;
import io.farcache.client.FarcacheBlobs;
import io.farcache.client.FarcacheClient;
import io.farcache.client.FarcacheException;
import io.farcache.client.Item;
import io.farcache.client.Status;
import io.farcache.client.StoreMode;
import io.farcache.client.StoreOptions;
import io.farcache.client.StoreOutcome;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies of ordinary files in the servers, for those who read them. Nothing depends on them: they
 * may be evicted at any time, and where the servers do not answer, files are read below. So nothing
 * here throws.
 *
 * <p>{@code file:DIRECTORY:INODE} holds what is known of a file, a {@link CachedCopy}, and with it
 * of which content of the file it is a copy; its chunks have an id of their own. Whoever opens a
 * file looks whether it still has that content.
 */
final class Cache {
    private static final Logger LOG = LoggerFactory.getLogger(Cache.class);
    /** How long it is left alone after a server has not answered in time. */
    private static final long SUSPENDED_NANOSECONDS = TimeUnit.SECONDS.toNanos(10);
    /** How often servers are asked whether they evict, while some do not answer. */
    private static final long ASKED_NANOSECONDS = TimeUnit.SECONDS.toNanos(10);

    private final FarcacheClient client;
    private final FarcacheBlobs blobs;
    private final Settings settings;
    private final FileClock clock;
    private final String directory;
    private final long device;
    private final AtomicLong suspended = new AtomicLong(System.nanoTime());
    private Boolean evicts;
    private boolean isAskedAll;
    private long asked;
    /** The latest time known to have passed below. */
    private volatile long passed = Long.MIN_VALUE;
    /** Bytes that were read from the servers. */
    final AtomicLong bytesRead = new AtomicLong();

    /**
     * A cache of the files of a directory.
     *
     * @param directory tells it from other ones
     * @param device on which its files are; others are not cached
     */
    Cache(FarcacheClient client, FarcacheBlobs blobs, Settings settings, FileClock clock,
            String directory, long device) {
        this.client = client;
        this.blobs = blobs;
        this.settings = settings;
        this.clock = clock;
        this.directory = directory;
        this.device = device;
    }

    private String key(Identity identity) {
        return "file:" + directory + ":" + identity.inode;
    }

    /** Whether anything can be done with it now. */
    boolean isAwake() {
        return (settings.keeps || settings.readsThrough)
                && System.nanoTime() - suspended.get() >= 0 && evicts();
    }

    /**
     * Whether servers that are full give up what is here: it expires, so that is so of those that
     * evict nothing else, too.
     */
    private synchronized boolean evicts() {
        boolean isKnown = evicts != null
                && (isAskedAll || System.nanoTime() - asked < ASKED_NANOSECONDS);
        if (!isKnown) {
            isAskedAll = true;
            boolean all = true;
            for (int server = 0; server < client.servers(); server++) {
                all &= evicts(server);
            }
            evicts = all;
            asked = System.nanoTime();
        }
        return evicts;
    }

    /** One that does not answer is asked later. */
    private boolean evicts(int server) {
        try {
            Map<String, String> told = client.statistics(server, "settings");
            return "on".equals(told.get("evictions")) || "on".equals(told.get("evict_expiring"));
        } catch (FarcacheException e) {
            note(e);
            isAskedAll = false;
            return true;
        }
    }

    boolean readsThrough() {
        return settings.readsThrough;
    }

    int chunksAhead(int chunkBytes) {
        return (int) Math.max(1, settings.windowBytes / chunkBytes);
    }

    /** Of an ordinary file that may be cached; null of others. */
    Identity identity(Path place) {
        Identity identity = isAwake() ? Identity.of(place) : null;
        boolean isHere = identity != null && identity.isOnSameDevice(device)
                && identity.size > Reference.BYTES;
        return isHere ? identity : null;
    }

    /**
     * Where an ordinary file is read.
     *
     * @param before what it was before it was opened, as {@link #identity} tells
     */
    Source source(OrdinaryFile file, Identity before) {
        // Else it is another file that was opened, or somebody is changing it.
        if (before == null || !before.isSame(Identity.of(file.place))) {
            return file;
        }
        CachedCopy copy = find(before);
        if (copy == null || copy.blob == null) {
            return copy == null ? sourceBelow(file, before)
                    : new ChunkSource(file, this, before, copy);
        }
        BlobReader reader = open(copy.blob, before);
        return reader == null ? sourceBelow(file, before)
                : new KeptSource(file, this, before, reader);
    }

    /** Where a file is read that the servers do not have: what is read may be stored there. */
    Source sourceBelow(OrdinaryFile file, Identity identity) {
        return settings.readsThrough ? new ChunkSource(file, this, identity, null) : file;
    }

    /** Null where there is no such blob. */
    private BlobReader open(String blob, Identity identity) {
        try {
            BlobReader reader = blobs.open(blob);
            if (reader != null && reader.length() != identity.size) {
                reader.close();
                return null;
            }
            return reader;
        } catch (FarcacheException e) {
            note(e);
            return null;
        }
    }

    /** The copy of just this content; null where there is none. */
    private CachedCopy find(Identity identity) {
        return copyOf(identity, client.async().getItem(key(identity)));
    }

    private CachedCopy copyOf(Identity identity, CompletableFuture<Item> asked) {
        Item item = await(asked);
        CachedCopy copy = item == null ? null : CachedCopy.parse(item.value());
        return copy != null && copy.isOf(identity) ? copy : null;
    }

    /**
     * Lets a server that needs room evict the blob of a file that is persisted.
     *
     * @return false where that cannot be: the blob is to be removed then
     */
    boolean keep(String blob) {
        try {
            return blobs.expire(blob, settings.expirySeconds);
        } catch (FarcacheException e) {
            note(e);
            return false;
        }
    }

    /** Whether a file of so many bytes is to be kept once it is persisted. */
    boolean keeps(long length) {
        return settings.keeps && length > Reference.BYTES && isAwake();
    }

    FileClock clock() {
        return clock;
    }

    /**
     * The blob that is kept of a file may be found from now on, if nobody has changed the file
     * meanwhile.
     *
     * @param written what it was when the content was that of the blob
     * @return false where it may not be found
     */
    boolean publish(String blob, Identity written) {
        Identity now = written == null ? null : written.ofOpen();
        // Whoever changes it from now on gives it a time of modification that is not before the
        // last change that it has had. So it will differ, however coarse the clock is.
        if (now == null || !now.hasSameContent(written) || now.changed <= now.modified
                || !now.isOnSameDevice(device)) {
            return false;
        }
        byte[] line = CachedCopy.ofBlob(now, blob).bytes();
        return await(store(key(now), line)) == StoreOutcome.STORED;
    }

    /**
     * Begins a copy of a file that is read.
     *
     * @return null where that cannot be: it has changed, or only just before
     */
    CachedCopy begin(Path place, Identity identity) {
        if (!isSettled(identity) || !identity.isSame(Identity.of(place))) {
            return null;
        }
        CachedCopy copy = CachedCopy.of(identity, CachedCopy.freshId(), settings.chunkBytes);
        Item former = await(client.async().getItem(key(identity)));
        CachedCopy other = former == null ? null : CachedCopy.parse(former.value());
        // A blob of this content has lost something: else it would be read.
        if (other != null && other.isOf(identity) && other.blob == null) {
            return other;
        }
        StoreOptions options = StoreOptions.expiry(settings.expirySeconds);
        StoreOutcome outcome = await(former == null
                ? client.async().store(StoreMode.ADD, key(identity), copy.bytes(), options)
                : client.async().store(StoreMode.SET, key(identity), copy.bytes(),
                        options.withCas(former.cas())));
        if (outcome == StoreOutcome.STORED) {
            remove(other);
            return copy;
        }
        // Another reader may have been faster.
        CachedCopy found = find(identity);
        return found == null || found.blob != null ? null : found;
    }

    /** Removes what is left of a blob that no file has any more; null is fine. */
    private void remove(CachedCopy copy) {
        if (copy != null && copy.blob != null) {
            try {
                blobs.remove(copy.blob);
            } catch (FarcacheException e) {
                note(e);
            }
        }
    }

    /** Whether the last change lies so far back that no further one can have the same time. */
    private boolean isSettled(Identity identity) {
        long settled = identity.changed + settings.settleNanoseconds;
        if (passed <= settled) {
            try {
                passed = clock.now();
            } catch (IOException e) {
                LOG.debug("the clock below: {}", e.toString());
            }
        }
        return passed > settled;
    }

    /** Begins to ask what is known of a file; null where it may not be cached, or not now. */
    CompletableFuture<Item> ask(Identity identity) {
        return identity == null || !isAwake() ? null : client.async().getItem(key(identity));
    }

    /**
     * What was done to a file, by way of this file system, has left its content as it was.
     *
     * @param asked {@link #ask}, which may go on while it is done
     */
    void follow(Identity before, CompletableFuture<Item> asked, Path place) {
        CachedCopy copy = asked == null ? null : copyOf(before, asked);
        Identity now = copy == null ? null : Identity.of(place);
        if (now != null && now.hasSameContent(before)) {
            await(store(key(now), copy.moved(now).bytes()));
        }
    }

    /** A file is going to be removed, or is gone; null is fine. */
    void forget(Identity identity) {
        CompletableFuture<Item> asked = ask(identity);
        Item item = asked == null ? null : await(asked);
        CachedCopy copy = item == null ? null : CachedCopy.parse(item.value());
        if (copy == null || copy.isLaterThan(identity)) {
            return;
        }
        await(client.async().delete(key(identity)));
        remove(copy);
        for (long index = 0; index < copy.chunks() && isAwake(); index++) {
            CompletableFuture<Boolean> removed = client.async().delete(copy.key(index));
            if (index % settings.deletionsTogether == 0) {
                await(removed);
            }
        }
    }

    /** Stores a value of this cache. */
    CompletableFuture<StoreOutcome> store(String key, byte[] value) {
        StoreOptions options = StoreOptions.expiry(settings.expirySeconds)
                .withFlags(CachedCopy.checksum(value, value.length));
        return client.async().store(StoreMode.SET, key, value, options);
    }

    int serverOf(String key) {
        return client.serverOfKey(key);
    }

    CompletableFuture<Item> get(String key) {
        return client.async().getItem(key);
    }

    /** What became of it; null where it failed, or there is nothing. */
    <T> T await(CompletableFuture<T> future) {
        try {
            return future.get();
        } catch (ExecutionException | CancellationException e) {
            if (e.getCause() instanceof FarcacheException) {
                note((FarcacheException) e.getCause());
            }
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            future.cancel(false);
            return null;
        }
    }

    /** A server has failed: those that do not answer are left alone for a while. */
    void note(FarcacheException failure) {
        LOG.debug("the cache: {}", failure.toString());
        if (failure.status() == Status.TIMEOUT) {
            suspended.set(System.nanoTime() + SUSPENDED_NANOSECONDS);
        }
    }

    /** How it is used. */
    static final class Settings {
        /** More would be a time since 1970. */
        private static final int EXPIRY_SECONDS_MAX = 30 * 86_400;
        /** Whether what is persisted stays. */
        boolean keeps;
        /** Whether what is read below is stored. */
        boolean readsThrough;
        int chunkBytes;
        /** That one stream may have under way. */
        long windowBytes;
        int expirySeconds;
        /** How far back the last change of a file must lie before it is stored. */
        long settleNanoseconds;
        /** Deletions that are sent together. */
        final int deletionsTogether = 512;

        /** As the properties of {@link FarcacheFileSystem} tell. */
        static Settings of(Configuration configuration) {
            Settings settings = new Settings();
            settings.keeps = configuration.getBoolean(FarcacheFileSystem.CACHE_PERSISTED, true);
            settings.readsThrough = configuration.getBoolean(FarcacheFileSystem.CACHE_READS, true);
            settings.chunkBytes = (int) configuration.getLongBytes(FarcacheFileSystem.CHUNK_BYTES,
                    512L << 10);
            settings.windowBytes = configuration.getLongBytes(FarcacheFileSystem.WINDOW_BYTES,
                    8L << 20);
            settings.expirySeconds = (int) Math.min(EXPIRY_SECONDS_MAX,
                    configuration.getTimeDuration(FarcacheFileSystem.CACHE_TIME, 7 * 86_400,
                            TimeUnit.SECONDS));
            settings.settleNanoseconds = TimeUnit.MILLISECONDS.toNanos(
                    configuration.getTimeDuration(FarcacheFileSystem.CACHE_SETTLE, 2000,
                            TimeUnit.MILLISECONDS));
            return settings;
        }
    }
}
