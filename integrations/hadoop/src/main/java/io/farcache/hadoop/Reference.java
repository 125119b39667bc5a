package io.farcache.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * What a file of the directory of names holds in place of the data: which blob has them, and how
 * many bytes they are. One line of text, always of the same length, so that it is written and read
 * at once:
 *
 * <pre>
 * farcache-file 1 BLOB LENGTH CHECKSUM
 * </pre>
 *
 * <p>BLOB are 32 hexadecimal digits, LENGTH 20 decimal ones, or {@code -1} behind eighteen zeros
 * while the file is being written; CHECKSUM is the CRC-32 of everything before it, in hexadecimal.
 */
final class Reference {
    private static final String MAGIC = "farcache-file ";
    private static final Pattern FORM = Pattern.compile(
            "(farcache-file 1 ([0-9a-f]{32}) (0{18}-1|0\\d{19}) )([0-9a-f]{8})\n");
    private static final long WRITING = -1;
    /** Bytes of every reference. */
    static final int BYTES = MAGIC.length() + 2 + 32 + 1 + 20 + 1 + 8 + 1;

    /** The blob's name. */
    final String blob;
    private final long length;

    private Reference(String blob, long length) {
        this.blob = blob;
        this.length = length;
    }

    /** Of a file that is going to be written, to a blob of its own. */
    static Reference fresh() {
        return new Reference(UUID.randomUUID().toString().replace("-", ""), WRITING);
    }

    /** Of the same file once it has been written. */
    Reference written(long bytes) {
        return new Reference(blob, bytes);
    }

    boolean isWritten() {
        return length != WRITING;
    }

    /** In bytes; 0 of a file that is being written. */
    long length() {
        return Math.max(length, 0);
    }

    byte[] bytes() {
        String digits = isWritten() ? String.format(Locale.ROOT, "%020d", length)
                : "000000000000000000-1";
        String text = MAGIC + "1 " + blob + " " + digits + " ";
        String all = text + checksum(text) + "\n";
        return all.getBytes(StandardCharsets.US_ASCII);
    }

    private static String checksum(String text) {
        CRC32 checksum = new CRC32();
        checksum.update(text.getBytes(StandardCharsets.US_ASCII));
        return String.format(Locale.ROOT, "%08x", checksum.getValue());
    }

    /** Writes it over what stands there, at once. */
    void write(FileChannel channel) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(bytes());
        int written = channel.write(bytes, 0);
        if (written != BYTES) {
            throw new IOException("wrote " + written + " bytes of a reference");
        }
    }

    /**
     * Reads what a file holds.
     *
     * @return null where it is no reference, but an ordinary file
     * @throws IOException it looks like a reference and is damaged, or cannot be read
     */
    static Reference read(Path file) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES + 1);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            while (bytes.hasRemaining() && channel.read(bytes) >= 0) {
                // More may follow.
            }
        }
        return parse(new String(bytes.array(), 0, bytes.position(), StandardCharsets.ISO_8859_1),
                file);
    }

    private static Reference parse(String text, Path file) throws IOException {
        if (!text.startsWith(MAGIC)) {
            return null;
        }
        Matcher parts = FORM.matcher(text);
        if (!parts.matches() || !checksum(parts.group(1)).equals(parts.group(4))) {
            throw new IOException(file + ": a damaged reference");
        }
        String digits = parts.group(3);
        return new Reference(parts.group(2), digits.endsWith("-1") ? WRITING
                : Long.parseLong(digits));
    }

    /** The reference that a file holds; null where there is none, or the file is gone. */
    static Reference of(Path file) throws IOException {
        return Files.isRegularFile(file) ? read(file) : null;
    }
}
