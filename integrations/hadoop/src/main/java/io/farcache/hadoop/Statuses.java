package io.farcache.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * What is told of files and directories: what the file system below tells, but for the length and
 * the time of a file that is not persisted yet.
 */
final class Statuses {
    /** How often somebody may have changed a file while it was looked at. */
    private static final int CHANGES_MAX = 100;
    private final Names names;
    private final Sealing sealing;
    private final KeptTimes times;
    private final Persistence persistence;
    private final long blockBytes;

    /**
     * Of the files of a directory.
     *
     * @param persistence knows the length of a file that is being written
     * @param blockBytes which all files are told to have blocks of
     */
    Statuses(Names names, Sealing sealing, KeptTimes times, Persistence persistence,
            long blockBytes) {
        this.names = names;
        this.sealing = sealing;
        this.times = times;
        this.persistence = persistence;
        this.blockBytes = blockBytes;
    }

    /**
     * Of what has this place, and is to be told by that path.
     *
     * @throws NoSuchFileException there is nothing
     */
    FileStatus of(java.nio.file.Path place, Path path) throws IOException {
        FileStatus status = null;
        for (int look = 0; status == null; look++) {
            status = of(place, path, look);
        }
        return status;
    }

    /** Of all that is in a directory, without what is removed meanwhile. */
    FileStatus[] list(java.nio.file.Path directory, Path path) throws IOException {
        List<FileStatus> all = new ArrayList<>();
        for (java.nio.file.Path place : names.list(directory)) {
            try {
                all.add(of(place, new Path(path, place.getFileName().toString())));
            } catch (NoSuchFileException e) {
                // Removed meanwhile.
            }
        }
        return all.toArray(new FileStatus[0]);
    }

    /** Null where the file became an ordinary one meanwhile, or is becoming one. */
    private FileStatus of(java.nio.file.Path place, Path path, int look) throws IOException {
        Identity before = Identity.of(place);
        PosixFileAttributes attributes = Files.readAttributes(place, PosixFileAttributes.class);
        Reference reference = attributes.isDirectory() ? null : Reference.of(place);
        FileTime kept = times.of(before);
        long length = reference == null ? attributes.size() : persistence.lengthOf(reference);
        Identity identity = null;
        // While a file is being persisted, its own times change.
        boolean isSteady = reference == null || kept == null && reference.isWritten();
        if (before != null && isSteady) {
            identity = Identity.of(place);
            boolean isChanging = !before.isSame(identity) && look < CHANGES_MAX;
            boolean isEmpty = reference == null && length == 0;
            if (isChanging || isEmpty && sealing.isAwaited(place, look)) {
                return null;
            }
        }
        FileStatus status = status(attributes, length, kept, path);
        boolean isOrdinary = reference == null && kept == null;
        return isOrdinary ? EtagStatus.of(status, identity) : status;
    }

    private FileStatus status(PosixFileAttributes attributes, long length, FileTime kept,
            Path path) {
        boolean isDirectory = attributes.isDirectory();
        FileTime modified = kept == null ? attributes.lastModifiedTime() : kept;
        String letters = PosixFilePermissions.toString(attributes.permissions());
        return new FileStatus(isDirectory ? 0 : length, isDirectory, 1,
                isDirectory ? 0 : blockBytes, modified.toMillis(),
                attributes.lastAccessTime().toMillis(), FsPermission.valueOf("-" + letters),
                attributes.owner().getName(), attributes.group().getName(), path);
    }
}
