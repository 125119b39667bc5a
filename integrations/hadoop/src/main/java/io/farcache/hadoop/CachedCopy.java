package io.farcache.hadoop;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * What the servers know of an ordinary file: which chunks are copies of its content, and of which
 * content. A line of text:
 *
 * <pre>
 * farcache-cached 1 ID CHUNK SIZE MODIFIED CHANGED CHECKSUM
 * </pre>
 *
 * <p>ID are 32 hexadecimal digits, CHUNK the bytes of a chunk, SIZE, MODIFIED and CHANGED those of
 * the {@link Identity}, in decimal; CHECKSUM is the CRC-32 of what stands before, in hexadecimal.
 */
final class CachedCopy {
    private static final int CHUNK_BYTES_MAX = 1 << 30;
    private static final Pattern FORM = Pattern.compile("(farcache-cached 1 ([0-9a-f]{32}) "
            + "([1-9]\\d{0,9}) (\\d{1,18}) (-?\\d{1,19}) (-?\\d{1,19}) )([0-9a-f]{8})\n");
    private final String id;
    final int chunkBytes;
    private final long size;
    private final long modified;
    private final long changed;

    private CachedCopy(String id, int chunkBytes, long size, long modified, long changed) {
        this.id = id;
        this.chunkBytes = chunkBytes;
        this.size = size;
        this.modified = modified;
        this.changed = changed;
    }

    /** An id that nobody else has. */
    static String freshId() {
        return UUID.randomUUID().toString().replace("-", "");
    }

    static CachedCopy of(Identity identity, String id, int chunkBytes) {
        return new CachedCopy(id, chunkBytes, identity.size, identity.modified, identity.changed);
    }

    /** The same of a file that has kept its content. */
    CachedCopy moved(Identity now) {
        return of(now, id, chunkBytes);
    }

    /** Whether it is a copy of this very content. */
    boolean isOf(Identity identity) {
        return identity.size == size && identity.modified == modified
                && identity.changed == changed;
    }

    long chunks() {
        return (size + chunkBytes - 1) / chunkBytes;
    }

    int bytesOf(long index) {
        return (int) Math.min(chunkBytes, size - index * chunkBytes);
    }

    String key(long index) {
        return key(id, index);
    }

    static String key(String id, long index) {
        return "cached:" + id + ":" + index;
    }

    byte[] bytes() {
        String text = String.format(Locale.ROOT, "farcache-cached 1 %s %d %d %d %d ", id,
                chunkBytes, size, modified, changed);
        return (text + checksum(text) + "\n").getBytes(StandardCharsets.US_ASCII);
    }

    private static String checksum(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        return String.format(Locale.ROOT, "%08x", checksum(bytes, bytes.length));
    }

    /** CRC-32. */
    static int checksum(byte[] bytes, int count) {
        CRC32 checksum = new CRC32();
        checksum.update(bytes, 0, count);
        return (int) checksum.getValue();
    }

    /** Null where these bytes are something else. */
    static CachedCopy parse(byte[] bytes) {
        Matcher parts = FORM.matcher(new String(bytes, StandardCharsets.ISO_8859_1));
        if (!parts.matches() || !checksum(parts.group(1)).equals(parts.group(7))) {
            return null;
        }
        try {
            long chunkBytes = Long.parseLong(parts.group(3));
            return chunkBytes > CHUNK_BYTES_MAX ? null : new CachedCopy(parts.group(2),
                    (int) chunkBytes, Long.parseLong(parts.group(4)),
                    Long.parseLong(parts.group(5)), Long.parseLong(parts.group(6)));
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
