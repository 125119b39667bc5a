package io.farcache.client;

import java.time.Duration;

/**
 * Files, whole or not there, as chunks with a manifest. A blob has a name, of 1 to 200 bytes
 * without spaces and control characters, and any number of bytes; it is written once, front to
 * back, and read at any place.
 *
 * <p>Failures are {@link FarcacheException}s: {@link Status#MISSING_CHUNK}, {@link Status#DAMAGED}
 * and {@link Status#REPLACED} beside those of other operations. Any number of threads may use it.
 */
public final class FarcacheBlobs implements AutoCloseable {
    private final NativeHandle handle;

    private FarcacheBlobs(long blobs) {
        handle = new NativeHandle(blobs, NativeBlobs::free);
    }

    static FarcacheBlobs open(NativeClient client, int chunkBytes, long windowBytes,
            long inFlightBytesMax, Duration patience) {
        long entered = client.enter();
        try {
            long opened = NativeBlobs.open(entered, chunkBytes, windowBytes, inFlightBytesMax,
                    patience.toMillis());
            return new FarcacheBlobs(NativeClient.checked(opened));
        } finally {
            client.leave();
        }
    }

    /**
     * Begins to write a blob. It is there, whole, once {@link BlobWriter#close} has returned; until
     * then a former one of this name stays. Of several writers the one that closes last wins.
     *
     * @param name of the blob
     * @return a writer, to be closed
     */
    public BlobWriter create(String name) {
        return handle.use(blobs -> new BlobWriter(
                NativeClient.checked(NativeBlobs.create(blobs, checked(name)))));
    }

    /**
     * Opens a blob as it is now.
     *
     * @param name of the blob
     * @return a reader, to be closed; null where there is no such blob
     */
    public BlobReader open(String name) {
        return handle.use(blobs -> {
            long reader = NativeBlobs.openReader(blobs, checked(name));
            boolean absent = reader == -Status.NOT_FOUND.code();
            return absent ? null : new BlobReader(NativeClient.checked(reader));
        });
    }

    /**
     * Removes a blob.
     *
     * @param name of the blob
     * @return false where there is no such blob
     */
    public boolean remove(String name) {
        return handle.use(blobs -> {
            long removed = NativeBlobs.remove(blobs, checked(name));
            boolean absent = removed == -Status.NOT_FOUND.code();
            return !absent && NativeClient.checked(removed) == 0;
        });
    }

    /**
     * Gives a blob that is not being written an expiry: a server that needs room may evict any part
     * of it from then on. Where this fails, the blob is still there, and some of its chunks may have
     * the expiry.
     *
     * @param name of the blob
     * @param seconds up to 30 days
     * @return false where there is no such blob
     */
    public boolean expire(String name, int seconds) {
        return handle.use(blobs -> {
            long expired = NativeBlobs.expire(blobs, checked(name), seconds);
            boolean absent = expired == -Status.NOT_FOUND.code();
            return !absent && NativeClient.checked(expired) == 0;
        });
    }

    /** A name that C can say: the rest is looked at there. */
    private static String checked(String name) {
        if (name.indexOf(0) >= 0) {
            throw new FarcacheArgumentException(Status.INVALID_KEY, "a name with a zero character");
        }
        return name;
    }

    /** Frees what is native. Writers and readers stay open. May be called again. */
    @Override
    public void close() {
        handle.close();
    }
}
