package io.farcache.hadoop;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * What the servers know of an ordinary file: where there is a copy of its content, and of which
 * content. A line of text, of chunks that were read below, or of the blob that was persisted:
 *
 * <pre>
 * farcache-cached 1 ID CHUNK SIZE MODIFIED CHANGED CHECKSUM
 * farcache-cached 2 BLOB SIZE MODIFIED CHANGED CHECKSUM
 * </pre>
 *
 * <p>ID are 32 hexadecimal digits, CHUNK the bytes of a chunk, BLOB is the name of a blob; SIZE,
 * MODIFIED and CHANGED are those of the {@link Identity}, in decimal; CHECKSUM is the CRC-32 of what
 * stands before, in hexadecimal.
 */
final class CachedCopy {
    private static final int CHUNK_BYTES_MAX = 1 << 30;
    private static final Pattern FORM = Pattern.compile("(farcache-cached "
            + "(?:1 ([0-9a-f]{32}) ([1-9]\\d{0,9})|2 ([0-9a-f]{32}-\\d{1,10})) "
            + "(\\d{1,18}) (-?\\d{1,19}) (-?\\d{1,19}) )([0-9a-f]{8})\n");
    /** Of chunks; null where there is a blob. */
    private final String id;
    /** The name of the blob; null where there are chunks. */
    final String blob;
    final int chunkBytes;
    private final long size;
    private final long modified;
    private final long changed;

    private CachedCopy(String id, int chunkBytes, String blob, long size, long modified,
            long changed) {
        this.id = id;
        this.blob = blob;
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
        return new CachedCopy(id, chunkBytes, null, identity.size, identity.modified,
                identity.changed);
    }

    static CachedCopy ofBlob(Identity identity, String blob) {
        return new CachedCopy(null, 0, blob, identity.size, identity.modified, identity.changed);
    }

    /** The same of a file that has kept its content. */
    CachedCopy moved(Identity now) {
        return blob == null ? of(now, id, chunkBytes) : ofBlob(now, blob);
    }

    /** Whether it is a copy of this very content. */
    boolean isOf(Identity identity) {
        return identity.size == size && identity.modified == modified
                && identity.changed == changed;
    }

    /** Whether it is of a file that got this inode only after that one was gone. */
    boolean isLaterThan(Identity identity) {
        return changed > identity.changed;
    }

    /** None of a blob, which has its own. */
    long chunks() {
        return blob != null ? 0 : (size + chunkBytes - 1) / chunkBytes;
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
        String copy = blob == null ? "1 " + id + " " + chunkBytes : "2 " + blob;
        String text = String.format(Locale.ROOT, "farcache-cached %s %d %d %d ", copy, size,
                modified, changed);
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
        if (!parts.matches() || !checksum(parts.group(1)).equals(parts.group(8))) {
            return null;
        }
        try {
            long chunkBytes = parts.group(3) == null ? 0 : Long.parseLong(parts.group(3));
            return chunkBytes > CHUNK_BYTES_MAX ? null : new CachedCopy(parts.group(2),
                    (int) chunkBytes, parts.group(4), Long.parseLong(parts.group(5)),
                    Long.parseLong(parts.group(6)), Long.parseLong(parts.group(7)));
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
