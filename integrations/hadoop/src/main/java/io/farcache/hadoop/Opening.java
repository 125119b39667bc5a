package io.farcache.hadoop;

import io.farcache.client.FarcacheException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Opens files for those who read them, wherever their data are now. */
final class Opening {
    private final Servers servers;
    private final Heads heads;
    private final Sealing sealing;
    private final Cache cache;

    /** Of the files of a directory. */
    Opening(Servers servers, Heads heads, Sealing sealing, Cache cache) {
        this.servers = servers;
        this.heads = heads;
        this.sealing = sealing;
        this.cache = cache;
    }

    /**
     * Of the file that has this place.
     *
     * @throws java.nio.file.NoSuchFileException there is none
     */
    Source source(Path place) throws IOException {
        Identity before = cache.identity(place);
        FileChannel channel = FileChannel.open(place, StandardOpenOption.READ);
        Source source = null;
        try {
            // Once more where the file is persisted just now.
            for (int look = 0; source == null; look++) {
                source = source(channel, place, before, look);
            }
            return source;
        } catch (FarcacheException e) {
            throw new IOException(e.getMessage(), e);
        } finally {
            if (source == null) {
                channel.close();
            }
        }
    }

    private Source source(FileChannel channel, Path place, Identity before, int look)
            throws IOException {
        byte[] head = Reference.ordinaryHeadOf(channel);
        if (head != null && head.length == 0 && sealing.isAwaited(place, look)) {
            return null;
        }
        if (head != null) {
            return cache.source(new OrdinaryFile(channel, place, head), before);
        }
        Reference reference = Reference.read(channel);
        return reference == null ? null
                : CachedSource.open(channel, reference, servers.blobs, heads);
    }
}
