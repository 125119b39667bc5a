package io.farcache.hadoop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * What TeraValidate has found: its status is 0 also where rows are out of order, or are not the
 * rows that were generated. That stands in its report only.
 */
final class TeraCheck {
    /** Of a row that TeraGen makes. */
    static final int ROW_BYTES = 100;
    private static final String CHECKSUM = "checksum";
    private final FileSystem files;
    private final String base;

    /** Of the jobs that have written below {@code base}. */
    TeraCheck(FileSystem files, String base) {
        this.files = files;
        this.base = base;
    }

    /**
     * That all of so many rows were sorted, and none else.
     *
     * @throws IOException that is not so
     */
    void require(long rows) throws IOException {
        requireRows("rows", rows);
        requireRows("rows-sorted", rows);
        String sorted = null;
        for (String line : lines("report")) {
            String[] parts = line.split("\t", 2);
            if (!parts[0].equals(CHECKSUM) || sorted != null) {
                throw new IOException("TeraValidate: " + line);
            }
            sorted = parts[1];
        }
        List<String> generated = lines(CHECKSUM);
        if (generated.size() != 1 || !generated.get(0).trim().equals(sorted)) {
            throw new IOException("other rows were sorted than generated: their checksums are "
                    + sorted + " and " + generated);
        }
    }

    private void requireRows(String folder, long rows) throws IOException {
        long bytes = 0;
        for (FileStatus part : parts(folder)) {
            bytes += part.getLen();
        }
        if (bytes != rows * ROW_BYTES) {
            throw new IOException(folder + " are " + bytes + " bytes, not " + rows + " rows");
        }
    }

    private FileStatus[] parts(String folder) throws IOException {
        return files.globStatus(new Path(base, folder + "/part-*"));
    }

    private List<String> lines(String folder) throws IOException {
        List<String> lines = new ArrayList<>();
        for (FileStatus part : parts(folder)) {
            try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                    files.open(part.getPath()), StandardCharsets.UTF_8))) {
                reader.lines().forEach(lines::add);
            }
        }
        return lines;
    }
}
