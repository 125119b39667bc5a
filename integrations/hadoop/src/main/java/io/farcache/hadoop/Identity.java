package io.farcache.hadoop;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * What the file system below tells of an ordinary file, by which one content of it is told from
 * every other one: whoever changes a file changes its times.
 */
final class Identity {
    private static final String ATTRIBUTES =
            "unix:dev,ino,nlink,size,lastModifiedTime,ctime,isRegularFile";
    /** A link for each file that this process has open, which leads to it whatever its name. */
    private static final Path OPEN_FILES = Paths.get("/proc/self/fd");
    private final long device;
    final long inode;
    /** How many the file has. */
    final int names;
    /** In bytes. */
    final long size;
    /** Time of the last change of the content, in nanoseconds since 1970. */
    final long modified;
    /** Time of the last change of anything: content, names, permissions, times. */
    final long changed;

    Identity(long device, long inode, int names, long size, long modified, long changed) {
        this.device = device;
        this.inode = inode;
        this.names = names;
        this.size = size;
        this.modified = modified;
        this.changed = changed;
    }

    /** Of the file that has this name now; null where it cannot be told. */
    static Identity of(Path place) {
        try {
            Map<String, Object> told = Files.readAttributes(place, ATTRIBUTES);
            if (!(Boolean) told.get("isRegularFile")) {
                return null;
            }
            return new Identity((Long) told.get("dev"), (Long) told.get("ino"),
                    (Integer) told.get("nlink"), (Long) told.get("size"),
                    nanoseconds(told.get("lastModifiedTime")), nanoseconds(told.get("ctime")));
        } catch (IOException e) {
            return null;
        }
    }

    private static long nanoseconds(Object time) {
        return ((FileTime) time).to(TimeUnit.NANOSECONDS);
    }

    /** Of the same file as it is now, which this process has open; null where it has not. */
    Identity ofOpen() {
        try (DirectoryStream<Path> links = Files.newDirectoryStream(OPEN_FILES)) {
            for (Path link : links) {
                Identity found = of(link);
                if (isSameFile(found)) {
                    return found;
                }
            }
        } catch (IOException e) {
            return null;
        }
        return null;
    }

    /** Whether both are names of one file. */
    boolean isSameFile(Identity other) {
        return other != null && other.device == device && other.inode == inode;
    }

    boolean isOnSameDevice(long other) {
        return device == other;
    }

    /** Whether nothing at all has changed. */
    boolean isSame(Identity other) {
        return hasSameContent(other) && other.changed == changed;
    }

    /** Whether nothing but names, permissions and the like has changed. */
    boolean hasSameContent(Identity other) {
        return isSameFile(other) && other.size == size && other.modified == modified;
    }
}
