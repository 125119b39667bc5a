package io.farcache.hadoop;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;

/**
 * An ordinary file below. What a reference would cover of it is remembered from when it was opened:
 * a writer that appends puts one there.
 */
final class OrdinaryFile implements Source {
    /** What is read beside what is wanted, rather than reading twice. */
    private static final long GAP_BYTES_MAX = 64 << 10;
    private static final long TOGETHER_BYTES_MAX = 4 << 20;
    private final FileChannel channel;
    /** The name by which it was opened. */
    final Path place;
    private final byte[] head;

    /**
     * A file that is open, and is an ordinary one.
     *
     * @param head its first bytes, as many as a reference has or the file
     */
    OrdinaryFile(FileChannel channel, Path place, byte[] head) {
        this.channel = channel;
        this.place = place;
        this.head = head;
    }

    @Override
    public long length() throws IOException {
        return channel.size();
    }

    @Override
    public int read(long position, byte[] array, int offset, int bytes) throws IOException {
        return read(channel, head, position, ByteBuffer.wrap(array, offset, bytes));
    }

    /**
     * Reads as many bytes of an open file as there is room for, or as there are; how many.
     *
     * @param head its first bytes, which are taken from here
     */
    static int read(FileChannel channel, byte[] head, long position, ByteBuffer room)
            throws IOException {
        int done = 0;
        if (position < head.length) {
            done = (int) Math.min(head.length - position, room.remaining());
            room.put(head, (int) position, done);
        }
        while (room.hasRemaining()) {
            int read = channel.read(room, position + done);
            if (read < 0) {
                break;
            }
            done += read;
        }
        return done;
    }

    /** Parts that lie side by side, or nearly so, are read at once. They come in order. */
    @Override
    public void read(List<Part> parts) throws IOException {
        int begin = 0;
        while (begin < parts.size()) {
            int end = begin + 1;
            while (end < parts.size() && areNear(parts.get(begin), parts.get(end - 1),
                    parts.get(end))) {
                end++;
            }
            readTogether(parts.subList(begin, end));
            begin = end;
        }
    }

    private static boolean areNear(Part first, Part last, Part next) {
        long gap = next.position - last.position - last.room.remaining();
        long all = next.position + next.room.remaining() - first.position;
        return gap <= GAP_BYTES_MAX && all <= TOGETHER_BYTES_MAX;
    }

    private void readTogether(List<Part> parts) throws IOException {
        Part first = parts.get(0);
        if (parts.size() == 1) {
            fill(first.position, first.room.duplicate());
            return;
        }
        Part last = parts.get(parts.size() - 1);
        long end = last.position + last.room.remaining();
        ByteBuffer all = ByteBuffer.allocate((int) (end - first.position));
        fill(first.position, all);
        for (Part part : parts) {
            int from = (int) (part.position - first.position);
            part.room.duplicate().put(all.array(), from, part.room.remaining());
        }
    }

    private void fill(long position, ByteBuffer room) throws IOException {
        read(channel, head, position, room);
        if (room.hasRemaining()) {
            throw new EOFException("the file is shorter than it was");
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
