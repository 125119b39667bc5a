package io.farcache.hadoop;

import java.util.Locale;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;

/** What is told of an ordinary file, by which one content of it is told from every other one. */
final class EtagStatus extends FileStatus implements EtagSource {
    private static final long serialVersionUID = 1L;
    private final String etag;

    private EtagStatus(FileStatus status, String etag) {
        super(status.getLen(), status.isDirectory(), status.getReplication(),
                status.getBlockSize(), status.getModificationTime(), status.getAccessTime(),
                status.getPermission(), status.getOwner(), status.getGroup(), status.getPath());
        this.etag = etag;
    }

    /** With the tag of this file; without one where it is null, or no ordinary file. */
    static FileStatus of(FileStatus status, Identity identity) {
        boolean isPlain = identity == null || identity.size != status.getLen();
        return isPlain ? status : new EtagStatus(status, String.format(Locale.ROOT, "%x-%x-%x",
                identity.inode, identity.size, identity.modified));
    }

    @Override
    public String getEtag() {
        return etag;
    }

    // As the superclass, which Hadoop compares by path.
    @Override
    public boolean equals(Object other) {
        return super.equals(other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }

    /** The same with the places of its blocks. */
    static final class Located extends LocatedFileStatus implements EtagSource {
        private static final long serialVersionUID = 1L;
        private final String etag;

        private Located(EtagStatus status, BlockLocation[] blocks) {
            super(status, blocks);
            etag = status.etag;
        }

        static LocatedFileStatus of(FileStatus status, BlockLocation[] blocks) {
            return status instanceof EtagStatus ? new Located((EtagStatus) status, blocks)
                    : new LocatedFileStatus(status, blocks);
        }

        @Override
        public String getEtag() {
            return etag;
        }

        @Override
        public boolean equals(Object other) {
            return super.equals(other);
        }

        @Override
        public int hashCode() {
            return super.hashCode();
        }
    }
}
