package io.farcache.hadoop;

import io.farcache.client.BlobReader;
import io.farcache.client.FarcacheException;
import java.io.IOException;
import java.util.List;

/**
 * An ordinary file that was persisted from a blob, which is still in the servers. Once some of that
 * is gone, or a server does not answer, the file is read below.
 */
final class KeptSource implements Source {
    private final OrdinaryFile file;
    private final Cache cache;
    private final Identity identity;
    private final BlobReader reader;
    /** Where all further reads go; null while the blob is whole. */
    private Source below;

    KeptSource(OrdinaryFile file, Cache cache, Identity identity, BlobReader reader) {
        this.file = file;
        this.cache = cache;
        this.identity = identity;
        this.reader = reader;
    }

    @Override
    public long length() {
        return identity.size;
    }

    @Override
    public int read(long position, byte[] array, int offset, int bytes) throws IOException {
        if (below == null && cache.isAwake()) {
            try {
                int read = reader.read(position, array, offset, bytes);
                cache.bytesRead.addAndGet(read);
                return read;
            } catch (FarcacheException e) {
                giveUp(e);
            }
        }
        return below().read(position, array, offset, bytes);
    }

    @Override
    public void read(List<Part> parts) throws IOException {
        if (below == null && cache.isAwake()) {
            try {
                Part.read(reader, 0, parts);
                parts.forEach(part -> cache.bytesRead.addAndGet(part.room.remaining()));
                return;
            } catch (FarcacheException e) {
                giveUp(e);
            }
        }
        below().read(parts);
    }

    @Override
    public void unbuffer() {
        reader.unbuffer();
        below().unbuffer();
    }

    @Override
    public void addBytesOnServers(long position, long bytes, long[] bytesOnServers) {
        Part.addBytesOnServers(reader, position, bytes, bytesOnServers);
    }

    private void giveUp(FarcacheException failure) {
        cache.note(failure);
        below = cache.sourceBelow(file, identity);
    }

    private Source below() {
        return below == null ? file : below;
    }

    @Override
    public void close() throws IOException {
        reader.close();
        below().close();
    }
}
