package io.farcache.hadoop;

import io.farcache.client.StoreOutcome;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;

/** A file whose content comes by, front to back, and goes into the servers as chunks. */
final class Keeping {
    private final Cache cache;
    private final String id = CachedCopy.freshId();
    private final int chunkBytes;
    private final Deque<CompletableFuture<StoreOutcome>> underWay = new ArrayDeque<>();
    private final int underWayMax;
    private byte[] chunk;
    private int filled;
    private long index;
    private boolean failed;

    Keeping(Cache cache, int chunkBytes, int underWayMax) {
        this.cache = cache;
        this.chunkBytes = chunkBytes;
        this.underWayMax = underWayMax;
    }

    /** More bytes, which are copied. */
    void add(byte[] bytes, int count) {
        int done = 0;
        while (done < count && !failed) {
            if (chunk == null) {
                chunk = new byte[chunkBytes];
            }
            int now = Math.min(count - done, chunkBytes - filled);
            System.arraycopy(bytes, done, chunk, filled, now);
            filled += now;
            done += now;
            if (filled == chunkBytes) {
                send();
            }
        }
    }

    private void send() {
        byte[] sent = filled == chunkBytes ? chunk : Arrays.copyOf(chunk, filled);
        chunk = null;
        filled = 0;
        underWay.add(cache.store(CachedCopy.key(id, index), sent));
        index++;
        settle(underWayMax);
    }

    private void settle(int left) {
        while (underWay.size() > left) {
            failed |= cache.await(underWay.remove()) == null;
        }
    }

    /** All that has come by; null where some of it is not in the servers. */
    CachedCopy end(Identity identity) {
        if (filled > 0 && !failed) {
            send();
        }
        settle(0);
        return failed ? null : CachedCopy.of(identity, id, chunkBytes);
    }
}
