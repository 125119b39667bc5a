package io.farcache.hadoop;

import io.farcache.client.BlobReader;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/** A part of a file that is to be read, and room for it. */
final class Part {
    final long position;
    /** Between its position and its limit. */
    final ByteBuffer room;

    Part(long position, ByteBuffer room) {
        this.position = position;
        this.room = room;
    }

    /** Adds what each server has of a stretch of a blob. */
    static void addBytesOnServers(BlobReader reader, long position, long bytes,
            long[] bytesOnServers) {
        long[] found = reader.bytesOnServers(position, bytes, bytesOnServers.length);
        Arrays.setAll(bytesOnServers, server -> bytesOnServers[server] + found[server]);
    }

    /** Reads all of them out of a blob that begins at this place of the file. */
    static void read(BlobReader reader, long start, List<Part> parts) {
        long[] positions = parts.stream().mapToLong(part -> part.position - start).toArray();
        reader.readAll(positions, parts.stream().map(part -> part.room)
                .toArray(ByteBuffer[]::new));
    }
}
