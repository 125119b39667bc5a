package io.farcache.client;

import java.nio.ByteBuffer;

/** A blob as it was when it was opened. Reads that follow one another are read ahead. */
public final class BlobReader implements AutoCloseable {
    private final NativeHandle handle;
    private final long length;

    BlobReader(long reader) {
        handle = new NativeHandle(reader, NativeBlobs::freeReader);
        length = NativeBlobs.length(reader);
    }

    /**
     * Its length.
     *
     * @return in bytes
     */
    public long length() {
        return length;
    }

    /**
     * Reads as many bytes as are wanted, or as there are.
     *
     * @param position in the blob
     * @param array to read into
     * @param offset of the first byte in it
     * @param bytes how many are wanted
     * @return how many were read: 0 from the blob's end on
     */
    public int read(long position, byte[] array, int offset, int bytes) {
        if (position < 0 || offset < 0 || bytes < 0 || bytes > array.length - offset) {
            throw new IndexOutOfBoundsException();
        }
        return handle.useAlone(reader -> (int) NativeClient.checked(
                NativeBlobs.read(reader, position, array, offset, bytes)));
    }

    /**
     * Reads as many bytes as fit between position and limit of a buffer, neither of which changes.
     *
     * @param position in the blob
     * @param room a direct buffer, or one with an array
     * @return how many were read
     */
    public int read(long position, ByteBuffer room) {
        if (!room.isDirect()) {
            return read(position, room.array(), room.arrayOffset() + room.position(),
                    room.remaining());
        }
        if (position < 0) {
            throw new IndexOutOfBoundsException();
        }
        return handle.useAlone(reader -> (int) NativeClient.checked(
                NativeBlobs.readDirect(reader, position, room, room.position(),
                        room.remaining())));
    }

    /** May be called again. */
    @Override
    public void close() {
        handle.close();
    }
}
