package io.farcache.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Locale;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * What stands at the beginning of a file that is not persisted yet: where its data are. One line of
 * text, always of the same length, so that it is written and read at once:
 *
 * <pre>
 * farcache-file 1 ID PART START LENGTH CHECKSUM
 * </pre>
 *
 * <p>ID are 32 hexadecimal digits, PART 8, START and LENGTH 20 decimal ones, LENGTH {@code -1}
 * behind eighteen zeros while the file is being written; CHECKSUM is the CRC-32 of everything
 * before it, in hexadecimal. The first START bytes of the file are persisted: those that the line
 * covers in the {@link Heads}, the others at their places. The rest is the blob ID-PART.
 */
final class Reference {
    static final String MAGIC = "farcache-file ";
    private static final Pattern FORM = Pattern.compile("(farcache-file 1 ([0-9a-f]{32}) "
            + "([0-7][0-9a-f]{7}) (0\\d{19}) (0{18}-1|0\\d{19}) )([0-9a-f]{8})\n");
    private static final long WRITING = -1;
    /** Bytes of every reference. */
    static final int BYTES = 14 + 2 + 32 + 1 + 8 + 1 + 20 + 1 + 20 + 1 + 8 + 1;
    /** Looks at a line that may be half written, and the time between two of them. */
    private static final int LOOKS = 5;
    private static final int LOOK_MILLISECONDS = 2;

    /** Tells the file from all others, wherever it is renamed to. */
    final String id;
    /** Which blob of this file it is, from 0. */
    final int part;
    /** Bytes in front of the blob, which are persisted. */
    final long start;
    private final long length;

    private Reference(String id, int part, long start, long length) {
        this.id = id;
        this.part = part;
        this.start = start;
        this.length = length;
    }

    /** Of a file that is going to be written. */
    static Reference fresh() {
        return new Reference(UUID.randomUUID().toString().replace("-", ""), 0, 0, WRITING);
    }

    /** Of an ordinary file of so many bytes that is going to be appended to. */
    static Reference appending(String id, long bytes) {
        return new Reference(id, 0, bytes, WRITING);
    }

    /** Of the same file while it is written, once so many bytes are persisted. */
    Reference persisted(long bytes) {
        return new Reference(id, part + 1, bytes, WRITING);
    }

    /** Of the same file once it has been written. */
    Reference written(long bytes) {
        return new Reference(id, part, start, bytes);
    }

    static String blob(String id, int part) {
        return id + "-" + part;
    }

    /** The name of the blob with the bytes from {@link #start} on. */
    String blob() {
        return blob(id, part);
    }

    boolean isWritten() {
        return length != WRITING;
    }

    /** In bytes; of a file that is being written those that are persisted. */
    long length() {
        return isWritten() ? length : start;
    }

    byte[] bytes() {
        String digits = isWritten() ? String.format(Locale.ROOT, "%020d", length)
                : "000000000000000000-1";
        String text = String.format(Locale.ROOT, "%s1 %s %08x %020d %s ", MAGIC, id, part, start,
                digits);
        return (text + checksum(text) + "\n").getBytes(StandardCharsets.US_ASCII);
    }

    private static String checksum(String text) {
        CRC32 checksum = new CRC32();
        checksum.update(text.getBytes(StandardCharsets.US_ASCII));
        return String.format(Locale.ROOT, "%08x", checksum.getValue());
    }

    /** Writes it over what stands there, at once, and for good. */
    void write(Below file) throws IOException {
        file.write(ByteBuffer.wrap(bytes()), 0);
        file.force();
    }

    /** Whether these first bytes of a file would be taken for a reference. */
    static boolean isLike(byte[] head, int bytes) {
        int compared = MAGIC.length();
        return bytes >= compared
                && new String(head, 0, compared, StandardCharsets.ISO_8859_1).equals(MAGIC);
    }

    /**
     * Reads what a file begins with.
     *
     * @return null where it is no reference, but an ordinary file
     * @throws IOException it looks like a reference and is damaged, or cannot be read
     */
    static Reference read(FileChannel channel) throws IOException {
        IOException damage = null;
        for (int look = 0; look < LOOKS; look++) {
            try {
                return parse(text(channel));
            } catch (DamagedException e) {
                damage = e;
                Pause.of(LOOK_MILLISECONDS);
            }
        }
        throw damage;
    }

    private static String text(FileChannel channel) throws IOException {
        return new String(headOf(channel), StandardCharsets.ISO_8859_1);
    }

    /** What a file begins with: as many bytes as a reference has, or as there are. */
    static byte[] headOf(FileChannel channel) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES);
        while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) >= 0) {
            // More may follow.
        }
        return Arrays.copyOf(bytes.array(), bytes.position());
    }

    /**
     * What an ordinary file begins with, as {@link #headOf}; null where it begins with a reference.
     * It is looked at until it stays the same, as somebody may be changing one into the other.
     */
    static byte[] ordinaryHeadOf(FileChannel channel) throws IOException {
        byte[] head = headOf(channel);
        while (true) {
            byte[] again = headOf(channel);
            if (Arrays.equals(head, again)) {
                return isLike(head, head.length) ? null : head;
            }
            head = again;
        }
    }

    static Reference read(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            return read(channel);
        } catch (DamagedException e) {
            throw new DamagedException(file + ": " + e.getMessage());
        }
    }

    /** Something that begins like a reference and is none. */
    static final class DamagedException extends IOException {
        private static final long serialVersionUID = 1L;

        DamagedException(String message) {
            super(message);
        }
    }

    private static Reference parse(String text) throws DamagedException {
        if (!text.startsWith(MAGIC)) {
            return null;
        }
        Matcher parts = FORM.matcher(text);
        if (!parts.matches() || !checksum(parts.group(1)).equals(parts.group(6))) {
            throw new DamagedException("a damaged reference");
        }
        String digits = parts.group(5);
        return new Reference(parts.group(2), Integer.parseInt(parts.group(3), 16),
                Long.parseLong(parts.group(4)),
                digits.endsWith("-1") ? WRITING : Long.parseLong(digits));
    }

    /** The reference that a file holds; null where there is none, or the file is gone. */
    static Reference of(Path file) throws IOException {
        return Files.isRegularFile(file) ? read(file) : null;
    }
}
