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

    /**
     * How many bytes of a stretch each server has: a copy or, of erasure coding, a shard of the
     * chunks in which they lie. No server is asked whether it is up and still has them.
     *
     * @param position where the stretch begins
     * @param bytes how long it is; what lies behind the blob's end does not count
     * @param servers how many the client has
     * @return bytes, by the server's number
     */
    public long[] bytesOnServers(long position, long bytes, int servers) {
        if (position < 0 || bytes < 0) {
            throw new IndexOutOfBoundsException();
        }
        long[] told = new long[servers];
        handle.useAlone(reader -> NativeClient.checked(
                NativeBlobs.servers(reader, position, bytes, told)));
        return told;
    }

    /**
     * Fills several buffers, each between its position and its limit, neither of which changes. What
     * has to come from servers is asked for together, and only once where parts lie side by side.
     *
     * @param positions in the blob, one for each buffer
     * @param rooms direct buffers or ones with an array, which do not overlap
     * @throws IndexOutOfBoundsException some of that lies behind the end of the blob
     */
    public void readAll(long[] positions, ByteBuffer[] rooms) {
        ByteBuffer[] directs = new ByteBuffer[rooms.length];
        byte[][] arrays = new byte[rooms.length][];
        int[] places = new int[2 * rooms.length];
        long wanted = 0;
        for (int number = 0; number < rooms.length; number++) {
            ByteBuffer room = rooms[number];
            if (positions[number] < 0) {
                throw new IndexOutOfBoundsException();
            }
            directs[number] = room.isDirect() ? room : null;
            arrays[number] = room.isDirect() ? null : room.array();
            places[2 * number] = room.position() + (room.isDirect() ? 0 : room.arrayOffset());
            places[2 * number + 1] = room.remaining();
            wanted += room.remaining();
        }
        long read = handle.useAlone(reader -> NativeClient.checked(
                NativeBlobs.readAll(reader, positions, directs, arrays, places)));
        if (read < wanted) {
            throw new IndexOutOfBoundsException();
        }
    }

    /** Lets go of what was read ahead, and of its memory. A later read asks the servers again. */
    public void unbuffer() {
        handle.useAlone(reader -> NativeClient.checked(NativeBlobs.unbuffer(reader)));
    }

    /** May be called again. */
    @Override
    public void close() {
        handle.close();
    }
}
