package io.farcache.client;

import java.nio.ByteBuffer;

/**
 * A blob that is being written. Full chunks are stored behind the caller's back; where as much is
 * under way as is allowed, {@link #write} waits. A failure of a chunk shows in the next call and in
 * every later one.
 */
public final class BlobWriter implements AutoCloseable {
    private final NativeHandle handle;

    BlobWriter(long writer) {
        handle = new NativeHandle(writer, NativeBlobs::freeWriter);
    }

    /**
     * Writes more bytes, which are copied.
     *
     * @param array that holds them
     * @param offset of the first one
     * @param bytes how many
     */
    public void write(byte[] array, int offset, int bytes) {
        if (offset < 0 || bytes < 0 || bytes > array.length - offset) {
            throw new IndexOutOfBoundsException();
        }
        handle.useAlone(writer -> NativeClient.checked(
                NativeBlobs.write(writer, array, offset, bytes)));
    }

    /**
     * Writes what is between position and limit, neither of which changes.
     *
     * @param bytes a direct buffer, or one with an array
     */
    public void write(ByteBuffer bytes) {
        if (!bytes.isDirect()) {
            write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
            return;
        }
        handle.useAlone(writer -> NativeClient.checked(
                NativeBlobs.writeDirect(writer, bytes, bytes.position(), bytes.remaining())));
    }

    /**
     * Waits until all full chunks are stored. Nobody sees them before {@link #publish} or
     * {@link #close}.
     */
    public void flush() {
        handle.useAlone(writer -> NativeClient.checked(NativeBlobs.flush(writer)));
    }

    /**
     * Stores what has been written so far: from now on there is a blob with these bytes, and stays
     * as it is if the writer is given up or dies. Who opens it sees no more of it than that.
     */
    public void publish() {
        handle.useAlone(writer -> NativeClient.checked(NativeBlobs.publish(writer)));
    }

    /**
     * Stores what is left, and then the manifest: the blob is there. May be called again, and then
     * does nothing, whatever the first call did.
     */
    @Override
    public void close() {
        handle.close(writer -> NativeClient.checked(NativeBlobs.closeWriter(writer)));
    }

    /**
     * Gives the blob up and removes what was stored and has not been published. Does nothing once it
     * has been closed.
     */
    public void abort() {
        handle.close();
    }
}
