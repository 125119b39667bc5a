package io.farcache.hadoop;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;

/**
 * The moment in which a file of fewer bytes than a {@link Reference} becomes an ordinary one: it is
 * emptied, and then gets its content. Who finds a file empty looks again while there is a record of
 * it.
 */
final class Sealing {
    /** Looks at a file that stays empty, and the time between two of them. */
    private static final int LOOKS = 250;
    private static final int LOOK_MILLISECONDS = 2;
    private final Path pending;

    /**
     * Of the files of a directory.
     *
     * @param pending where the records are
     */
    Sealing(Path pending) {
        this.pending = pending;
    }

    /**
     * Whether an ordinary file that was found empty is to be looked at again, after a moment where
     * it may be about to get its content.
     */
    boolean isAwaited(Path place, int look) throws IOException {
        boolean isRecorded = isRecorded(place);
        // Looked at after the record: that goes only once the file has its content.
        Identity now = Identity.of(place);
        if (now != null && now.size > 0) {
            return true;
        }
        if (isRecorded && look < LOOKS) {
            Pause.of(LOOK_MILLISECONDS);
            return true;
        }
        return false;
    }

    /** A record is a second name of the file. */
    private boolean isRecorded(Path place) throws IOException {
        Identity identity = Identity.of(place);
        if (identity == null || identity.names < 2) {
            return false;
        }
        try (DirectoryStream<Path> clients = Files.newDirectoryStream(pending)) {
            for (Path client : clients) {
                if (isRecordedBy(client, identity)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean isRecordedBy(Path client, Identity identity) throws IOException {
        try (DirectoryStream<Path> records = Files.newDirectoryStream(client)) {
            for (Path record : records) {
                if (identity.isSameFile(Identity.of(record))) {
                    return true;
                }
            }
        } catch (NotDirectoryException | java.nio.file.NoSuchFileException e) {
            // It has just ended.
        }
        return false;
    }
}
