package io.farcache.client;

import java.nio.ByteBuffer;

/**
 * The native methods of blobs. Places and lengths are checked before; less than 0 is a status,
 * negated, and {@link Native#message} says more. Buffers are direct.
 */
final class NativeBlobs {
    static {
        NativeLibrary.load();
    }

    private NativeBlobs() {
    }

    /** 0 stands for the usual. */
    static native long open(long client, int chunkBytes, long windowBytes, long inFlightBytesMax,
            long patienceMilliseconds);

    static native void free(long blobs);

    static native long create(long blobs, String name);

    static native long write(long writer, byte[] array, int offset, int bytes);

    static native long writeDirect(long writer, ByteBuffer direct, int offset, int bytes);

    static native long flush(long writer);

    static native long publish(long writer);

    static native long closeWriter(long writer);

    static native void freeWriter(long writer);

    static native long openReader(long blobs, String name);

    static native long length(long reader);

    static native long read(long reader, long position, byte[] array, int offset, int bytes);

    static native long readDirect(long reader, long position, ByteBuffer direct, int offset,
            int bytes);

    static native long readAll(long reader, long[] positions, ByteBuffer[] directs,
            byte[][] arrays, int[] startsAndLengths);

    static native long servers(long reader, long position, long bytes, long[] bytesOnServers);

    static native long unbuffer(long reader);

    static native void freeReader(long reader);

    static native long remove(long blobs, String name);

    static native long expire(long blobs, String name, int seconds);
}
