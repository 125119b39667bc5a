package io.farcache.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * The first bytes of files, where the reference still stands in their place: they are persisted
 * here. One with a length says that all of the file is persisted but for these bytes, so that
 * putting them into their place can be begun again. A line of text, and the bytes:
 *
 * <pre>
 * farcache-head 1 PART LENGTH CHECKSUM
 * </pre>
 *
 * <p>The numbers are those of a {@link Reference}; CHECKSUM is the CRC-32 of all the rest.
 */
final class Heads {
    /** What is known of one file. */
    static final class Head {
        /** The last blob of the file. */
        final int part;
        /** Of the whole file; -1 while more is to come. */
        final long length;
        final byte[] bytes;

        Head(int part, long length, byte[] bytes) {
            this.part = part;
            this.length = length;
            this.bytes = bytes;
        }
    }

    private static final Pattern FORM = Pattern.compile(
            "(farcache-head 1 ([0-7][0-9a-f]{7}) (0{18}-1|0\\d{19}) )([0-9a-f]{8})\n");
    private static final int LINE_BYTES = 16 + 8 + 1 + 20 + 1 + 8 + 1;
    private final Path folder;
    private final Below.Watch watch;

    Heads(Path folder, Below.Watch watch) throws IOException {
        this.folder = Files.createDirectories(folder);
        this.watch = watch;
    }

    /** Returns once it is on the disks, in the place of a former one. */
    void write(String id, Head head) throws IOException {
        String number = head.length < 0 ? "000000000000000000-1"
                : String.format(Locale.ROOT, "%020d", head.length);
        String line = String.format(Locale.ROOT, "farcache-head 1 %08x %s ", head.part, number);
        String checked = line + checksum(line, head.bytes) + "\n";
        Path fresh = folder.resolve(id + ".new");
        try (Below file = new Below(FileChannel.open(fresh, StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE), watch)) {
            byte[] first = checked.getBytes(StandardCharsets.US_ASCII);
            file.write(ByteBuffer.wrap(first), 0);
            file.write(ByteBuffer.wrap(head.bytes), first.length);
            file.force();
        }
        watch.before("head");
        Files.move(fresh, folder.resolve(id), StandardCopyOption.ATOMIC_MOVE,
                StandardCopyOption.REPLACE_EXISTING);
        Names.force(folder);
    }

    private static String checksum(String line, byte[] bytes) {
        CRC32 checksum = new CRC32();
        checksum.update(line.getBytes(StandardCharsets.US_ASCII));
        checksum.update(bytes);
        return String.format(Locale.ROOT, "%08x", checksum.getValue());
    }

    /**
     * What is known of a file.
     *
     * @return null where there is nothing
     * @throws IOException it is damaged or cannot be read
     */
    Head read(String id) throws IOException {
        byte[] all;
        try {
            all = Files.readAllBytes(folder.resolve(id));
        } catch (NoSuchFileException e) {
            return null;
        }
        int line = Math.min(all.length, LINE_BYTES);
        Matcher parts = FORM.matcher(new String(all, 0, line, StandardCharsets.ISO_8859_1));
        byte[] bytes = Arrays.copyOfRange(all, line, all.length);
        if (!parts.matches() || bytes.length > Reference.BYTES
                || !checksum(parts.group(1), bytes).equals(parts.group(4))) {
            throw new IOException(folder.resolve(id) + ": damaged");
        }
        String length = parts.group(3);
        return new Head(Integer.parseInt(parts.group(2), 16),
                length.endsWith("-1") ? -1 : Long.parseLong(length), bytes);
    }

    void remove(String id) throws IOException {
        watch.before("no head");
        Files.deleteIfExists(folder.resolve(id));
        Files.deleteIfExists(folder.resolve(id + ".new"));
    }
}
