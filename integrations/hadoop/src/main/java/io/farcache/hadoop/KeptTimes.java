package io.farcache.hadoop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;

/**
 * The times of modification of files that are becoming ordinary ones. Writing their data into their
 * place changes their times, so what they were is kept in a file of its own meanwhile: its name is
 * the inode, for that is all that is known of a file just before it has its time again; its content
 * is the id of the file, its time of modification the time. It is there only while there is a
 * record of the file, so no other file has that inode.
 *
 * <p>Whoever sets a time sets that of the file first, then the kept one, then that of the file
 * again; whoever keeps or gives back a time looks afterwards whether it was set meanwhile. So a
 * time that was set is not lost, whichever of them is first.
 */
final class KeptTimes {
    private final Path folder;
    private final long device;
    private final Below.Watch watch;

    /**
     * Of the files of a directory.
     *
     * @param folder where times are kept
     * @param device on which the files are
     */
    KeptTimes(Path folder, long device, Below.Watch watch) throws IOException {
        this.folder = Files.createDirectories(folder);
        this.device = device;
        this.watch = watch;
    }

    private Path place(Object inode) {
        return folder.resolve(inode.toString());
    }

    private Path placeOf(Path file) throws IOException {
        return place(Files.getAttribute(file, "unix:ino"));
    }

    /** The time that is kept of a file; null where its own one is right. */
    FileTime of(Identity file) throws IOException {
        // A record is a second name of the file.
        boolean isRecorded = file != null && file.names > 1 && file.isOnSameDevice(device);
        return isRecorded ? timeOf(place(file.inode)) : null;
    }

    private static FileTime timeOf(Path kept) throws IOException {
        try {
            return Files.getLastModifiedTime(kept);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    /** Keeps the time of a recorded file which is about to be changed, if it is not kept yet. */
    void keep(Path file, String id) throws IOException {
        Path place = placeOf(file);
        if (isOf(place, id)) {
            return;
        }
        watch.before("time");
        Path fresh = fresh(id);
        Files.write(fresh, id.getBytes(StandardCharsets.US_ASCII));
        FileTime modified = Files.getLastModifiedTime(file);
        Files.setLastModifiedTime(fresh, modified);
        Files.move(fresh, place, StandardCopyOption.ATOMIC_MOVE,
                StandardCopyOption.REPLACE_EXISTING);
        FileTime now = Files.getLastModifiedTime(file);
        while (!now.equals(modified)) {
            modified = now;
            Files.setLastModifiedTime(place, modified);
            now = Files.getLastModifiedTime(file);
        }
    }

    /** Gives the time that is kept to the file, which nobody changes any more; that time. */
    FileTime giveBack(Path file) throws IOException {
        Path place = placeOf(file);
        FileTime modified = null;
        FileTime now = Files.getLastModifiedTime(place);
        while (!now.equals(modified)) {
            modified = now;
            Files.setLastModifiedTime(file, modified);
            now = Files.getLastModifiedTime(place);
        }
        return modified;
    }

    /** Keeps it no longer, before the record of the file goes. */
    void forget(Path file, String id) throws IOException {
        Files.deleteIfExists(fresh(id));
        Path place = placeOf(file);
        if (isOf(place, id)) {
            watch.before("no time");
            Files.deleteIfExists(place);
        }
    }

    private Path fresh(String id) {
        return folder.resolve(id + ".new");
    }

    /** Whether it is kept here of the file with this id: a dead writer may have left another. */
    private static boolean isOf(Path place, String id) throws IOException {
        try {
            return Arrays.equals(Files.readAllBytes(place), id.getBytes(StandardCharsets.US_ASCII));
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** Sets times of whatever has this name, in ms since 1970; less than 0 leaves one as it is. */
    void set(Path file, long modified, long accessed) throws IOException {
        set(file, time(modified), time(accessed));
    }

    private static FileTime time(long milliseconds) {
        return milliseconds < 0 ? null : FileTime.fromMillis(milliseconds);
    }

    private void set(Path file, FileTime modified, FileTime accessed) throws IOException {
        BasicFileAttributeView view = Files.getFileAttributeView(file,
                BasicFileAttributeView.class);
        // Where only the other one is wanted, this is set, too, to what it is below.
        FileTime wanted = modified == null ? of(Identity.of(file)) : modified;
        view.setTimes(wanted, accessed, null);
        Identity now = Identity.of(file);
        if (wanted == null || of(now) == null) {
            return;
        }
        try {
            Files.setLastModifiedTime(place(now.inode), wanted);
        } catch (NoSuchFileException e) {
            // The file has just got its time back, and may have got it after it was set here.
        }
        view.setTimes(wanted, accessed, null);
    }
}
