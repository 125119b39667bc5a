package io.farcache.hadoop;

import io.farcache.client.Item;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * An ordinary file whose chunks may be in the servers. What is not there is read below, and stored
 * where that is wanted. Chunks that follow one another are asked for ahead, the further the longer
 * that goes on.
 */
final class ChunkSource implements Source {
    private final OrdinaryFile file;
    private final Cache cache;
    private final Identity identity;
    /** What the servers have; null while that is nothing. */
    private CachedCopy copy;
    /** Whether nobody need try to store chunks: the file has changed, or it cannot be. */
    private boolean isPassive;
    /** The chunk that was wanted last; null where it is not in the servers. */
    private byte[] held;
    private long heldIndex = -1;
    /** Chunks that are asked for ahead of the one that is wanted. */
    private int run = 1;
    private final Map<Long, CompletableFuture<Item>> ahead = new HashMap<>();

    ChunkSource(OrdinaryFile file, Cache cache, Identity identity, CachedCopy copy) {
        this.file = file;
        this.cache = cache;
        this.identity = identity;
        this.copy = copy;
        this.isPassive = !cache.readsThrough();
    }

    @Override
    public long length() {
        return identity.size;
    }

    @Override
    public int read(long position, byte[] array, int offset, int bytes) throws IOException {
        int wanted = (int) Math.max(0, Math.min(bytes, length() - position));
        int done = 0;
        while (done < wanted) {
            int read = readPiece(position + done, array, offset + done, wanted - done);
            if (read == 0) {
                break;
            }
            done += read;
        }
        return done;
    }

    /** Some of the bytes, from one chunk or from below. */
    private int readPiece(long position, byte[] array, int offset, int bytes) throws IOException {
        if (!begin()) {
            return file.read(position, array, offset, bytes);
        }
        long index = position / copy.chunkBytes;
        int within = (int) (position % copy.chunkBytes);
        if (index != heldIndex) {
            boolean isLong = bytes >= copy.bytesOf(index) / 2;
            want(index, isLong || index == heldIndex + 1);
        }
        int there = Math.min(bytes, copy.bytesOf(index) - within);
        if (held == null) {
            return file.read(position, array, offset, there);
        }
        System.arraycopy(held, within, array, offset, there);
        return there;
    }

    /** All of what there is a copy of, of which the servers may have lost something. */
    @Override
    public void addBytesOnServers(long position, long bytes, long[] bytesOnServers) {
        if (copy == null) {
            return;
        }
        long end = Math.min(position + bytes, identity.size);
        long next = position;
        while (next < end) {
            long index = next / copy.chunkBytes;
            long behind = Math.min(end, (index + 1) * copy.chunkBytes);
            bytesOnServers[cache.serverOf(copy.key(index))] += behind - next;
            next = behind;
        }
    }

    /** Whether the servers have, or may have, something of it. */
    private boolean begin() {
        if (!cache.isAwake()) {
            return false;
        }
        if (copy == null && !isPassive) {
            copy = cache.begin(file.place, identity);
            isPassive = copy == null;
        }
        return copy != null;
    }

    private void want(long index, boolean mayFill) throws IOException {
        run = index == heldIndex + 1 ? Math.min(2 * run, cache.chunksAhead(copy.chunkBytes)) : 1;
        byte[] found = ask(index);
        heldIndex = index;
        held = found != null || isPassive || !mayFill ? found : fill(index);
    }

    /** The chunk as the servers have it; null where they do not. */
    private byte[] ask(long index) {
        long end = Math.min(index + run, copy.chunks());
        ahead.keySet().removeIf(asked -> asked < index || asked >= end);
        for (long next = index; next < end; next++) {
            ahead.computeIfAbsent(next, number -> cache.get(copy.key(number)));
        }
        Item item = cache.await(ahead.remove(index));
        if (item == null) {
            return null;
        }
        byte[] found = item.value();
        boolean isWhole = found.length == copy.bytesOf(index)
                && item.flags() == CachedCopy.checksum(found, found.length);
        if (isWhole) {
            cache.bytesRead.addAndGet(found.length);
        }
        return isWhole ? found : null;
    }

    /** Reads a chunk below and stores it, if the file is still what it was. */
    private byte[] fill(long index) throws IOException {
        byte[] chunk = new byte[copy.bytesOf(index)];
        int read = file.read(index * copy.chunkBytes, chunk, 0, chunk.length);
        if (read < chunk.length || !identity.isSame(Identity.of(file.place))) {
            isPassive = true;
            return null;
        }
        cache.store(copy.key(index), chunk);
        return chunk;
    }

    @Override
    public void unbuffer() {
        ahead.values().forEach(asked -> asked.cancel(false));
        ahead.clear();
        held = null;
        heldIndex = -1;
    }

    @Override
    public void close() throws IOException {
        unbuffer();
        file.close();
    }
}
