package io.farcache.hadoop;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.util.List;

/** Where the bytes of a file that is read come from. */
interface Source extends Closeable {
    /** In bytes. */
    long length() throws IOException;

    /** Reads as many bytes as are wanted, or as there are; how many. */
    int read(long position, byte[] array, int offset, int bytes) throws IOException;

    /**
     * Adds, for each server, how many bytes of a stretch it has. Servers are not asked whether they
     * still have them.
     */
    default void addBytesOnServers(long position, long bytes, long[] bytesOnServers)
            throws IOException {
        // All of it is below.
    }

    /** Gives up what was read ahead; reads go on as before. */
    default void unbuffer() {
        // Nothing was.
    }

    /** Fills the rooms of all parts, which lie within the file. Positions do not change. */
    default void read(List<Part> parts) throws IOException {
        for (Part part : parts) {
            byte[] bytes = new byte[part.room.remaining()];
            if (read(part.position, bytes, 0, bytes.length) < bytes.length) {
                throw new EOFException("the file is shorter than it was");
            }
            part.room.duplicate().put(bytes);
        }
    }
}
