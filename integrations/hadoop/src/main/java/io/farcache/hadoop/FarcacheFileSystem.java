package io.farcache.hadoop;

import io.farcache.client.FarcacheException;
import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.impl.PathCapabilitiesSupport;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.fs.statistics.IOStatistics;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;
import org.apache.hadoop.fs.statistics.StoreStatisticNames;
import org.apache.hadoop.util.Progressable;
import org.apache.hadoop.util.functional.RemoteIterators;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file system that writes into Farcache's servers, and behind the writers' backs into ordinary
 * files: {@code farcache://host:port/path}.
 *
 * <p>Names, permissions and times are those of a directory, {@link #NAMES_DIRECTORY}, which every
 * user of the file system sees at the same place: a directory of the parallel file system. A file
 * there begins with a reference to the blob with its data until it is persisted; then it is an
 * ordinary file.
 */
public final class FarcacheFileSystem extends FileSystem implements IOStatisticsSource {
    private static final Logger LOG = LoggerFactory.getLogger(FarcacheFileSystem.class);
    /** The scheme of its URIs. */
    public static final String SCHEME = "farcache";
    /** Property: the directory of names. It must be there. */
    public static final String NAMES_DIRECTORY = "fs.farcache.names.directory";
    /** Property: the servers, separated by commas; those of the URI where it is not set. */
    public static final String SERVERS = "fs.farcache.servers";
    /** Property: {@code auto}, {@code fabric} or {@code tcp}. */
    public static final String TRANSPORT = "fs.farcache.transport";
    /** Property: how long one request may take; 30 s. */
    public static final String TIMEOUT = "fs.farcache.timeout";
    /** Property: bytes of a chunk of what is written; 512 KiB. */
    public static final String CHUNK_BYTES = "fs.farcache.chunk.bytes";
    /** Property: bytes that one stream may have under way, or hold; 8 MiB. */
    public static final String WINDOW_BYTES = "fs.farcache.window.bytes";
    /** Property: the same for all streams together; 64 MiB. */
    public static final String IN_FLIGHT_BYTES_MAX = "fs.farcache.in-flight.bytes.max";
    /** Property: the size of a block that is told, by which jobs split files; 128 MiB. */
    public static final String BLOCK_BYTES = "fs.farcache.block.bytes";

    /** Property: on how many servers what is buffered lies; {@code none}. */
    public static final String REDUNDANCY = "fs.farcache.redundancy";
    /** Property: how long a writer waits where servers are full, or too few are up; 60 s. */
    public static final String WRITE_PATIENCE = "fs.farcache.write.patience";
    /** Property: bytes a second that are persisted at most; 0 for no limit. */
    public static final String PERSIST_BANDWIDTH = "fs.farcache.persist.bandwidth";
    /** Property: {@code buffered}, {@code redundant} or {@code persisted}: see {@link Close}. */
    public static final String CLOSE = "fs.farcache.close";
    /** Property: how long those who wait for data to be persisted wait while it fails; 60 s. */
    public static final String PERSIST_PATIENCE = "fs.farcache.persist.patience";
    /** Property: whether what is persisted stays in the servers, for readers; true. */
    public static final String CACHE_PERSISTED = "fs.farcache.cache.persisted";
    /** Property: whether what is read below is stored in the servers, for the next reader; true. */
    public static final String CACHE_READS = "fs.farcache.cache.reads";
    /** Property: how long it stays there at most; 7 days. */
    public static final String CACHE_TIME = "fs.farcache.cache.time";
    /** Property: how old the last change of a file must be before what is read is stored; 2 s. */
    public static final String CACHE_SETTLE = "fs.farcache.cache.settle";

    /** Tests fail here what is done below. */
    volatile Below.Watch watch = change -> {
    };
    private final Totals totals = new Totals();
    private URI uri;
    private Path workingDirectory;
    private Names names;
    private Servers servers;
    private FsPermission mask;
    private long blockBytes;
    private boolean closed;
    private KeptTimes times;
    private Cache cache;
    private Pending pending;
    private Persister persister;
    private Statuses statuses;
    private Opening opening;
    private Writing writing;
    private Naming naming;
    private Removal removal;

    /** To be initialised. */
    public FarcacheFileSystem() {
    }

    @Override
    public void initialize(URI name, Configuration configuration) throws IOException {
        super.initialize(name, configuration);
        setConf(configuration);
        uri = URI.create(name.getScheme() + "://" + name.getAuthority());
        workingDirectory = makeQualified(new Path("/user/" + System.getProperty("user.name")));
        blockBytes = configuration.getLongBytes(BLOCK_BYTES, 128L << 20);
        mask = FsPermission.getUMask(configuration);
        String directory = configuration.getTrimmed(NAMES_DIRECTORY, "");
        if (directory.isEmpty()) {
            throw new IOException(NAMES_DIRECTORY + " is not set");
        }
        names = new Names(Paths.get(directory));
        servers = Servers.connect(configuration, uri.getAuthority());
        begin(configuration);
    }

    /** Makes the parts that do the work, and has them finish what dead clients have left. */
    private void begin(Configuration configuration) throws IOException {
        Below.Watch watched = change -> watch.before(change);
        Sealing sealing = new Sealing(names.hidden("pending"));
        Heads heads = new Heads(names.hidden("heads"), watched);
        cache = new Cache(servers.client, servers.blobs, Cache.Settings.of(configuration),
                new FileClock(names.hidden("clock")), names.id(), names.device());
        times = new KeptTimes(names.hidden("times"), names.device(), watched);
        Persistence persistence = new Persistence(servers.blobs, heads, times, cache, new Pace(
                configuration.getLongBytes(PERSIST_BANDWIDTH, 0)));
        pending = Pending.create(names.hidden("pending"), watched);
        persister = new Persister(persistence, watched, configuration.getTimeDuration(
                PERSIST_PATIENCE, 60_000, TimeUnit.MILLISECONDS));
        statuses = new Statuses(names, sealing, times, persistence, blockBytes);
        opening = new Opening(servers, heads, sealing, cache);
        writing = new Writing(servers, names, heads, cache, pending, persistence, persister,
                watched, totals);
        naming = new Naming(names, cache);
        removal = new Removal(names, servers.blobs, cache);
        persister.recover(names.hidden("pending"));
    }

    /** What readers find in the servers. */
    Cache cache() {
        return cache;
    }

    /** Waits until a file, or what dead clients have left, is persisted. */
    void awaitPersisted(String id) throws IOException {
        persister.await(id);
    }

    /**
     * Waits until all files are persisted that were written by way of it.
     *
     * @throws IOException some are not; what is to be done for them is recorded, and done when
     *     another file system of the same directory is opened
     */
    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        closed = true;
        IOException failure = null;
        for (Closeable part : new Closeable[] {super::close, persister, pending, removal}) {
            try {
                if (part != null) {
                    part.close();
                }
            } catch (IOException e) {
                failure = failure == null ? e : failure;
            }
        }
        if (servers != null) {
            servers.close();
        }
        if (failure != null) {
            throw failure;
        }
    }

    @Override
    public String getScheme() {
        return SCHEME;
    }

    @Override
    public URI getUri() {
        return uri;
    }

    @Override
    public Path getWorkingDirectory() {
        return workingDirectory;
    }

    @Override
    public void setWorkingDirectory(Path directory) {
        workingDirectory = makeQualified(directory);
    }

    @Override
    public long getDefaultBlockSize(Path path) {
        return blockBytes;
    }

    private java.nio.file.Path place(Path path) throws IOException {
        return names.of(makeQualified(path).toUri().getPath());
    }

    @Override
    public FSDataInputStream open(Path path, int bufferBytes) throws IOException {
        java.nio.file.Path place = place(path);
        if (Files.isDirectory(place)) {
            throw new FileNotFoundException(path + ": a directory");
        }
        return totals.track(StoreStatisticNames.OP_OPEN, () -> new FSDataInputStream(
                new FarcacheInputStream(source(path, place),
                        new ReadStatistics(totals, statistics))));
    }

    private Source source(Path path, java.nio.file.Path place) throws IOException {
        try {
            return opening.source(place);
        } catch (NoSuchFileException e) {
            throw absent(path);
        } catch (IOException e) {
            throw new IOException(path + ": " + e.getMessage(), e);
        }
    }

    private static FileNotFoundException absent(Path path) {
        return new FileNotFoundException(path + ": there is no such file or directory");
    }

    @Override
    public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite,
            int bufferBytes, short replication, long blockSize, Progressable progress)
            throws IOException {
        java.nio.file.Path place = place(path);
        if (names.isRoot(place)) {
            throw new FileAlreadyExistsException(path + ": a directory");
        }
        names.requireNoFileAbove(place, path);
        return totals.track(StoreStatisticNames.OP_CREATE, () -> {
            names.makeDirectories(place.getParent(),
                    FsPermission.getDirDefault().applyUMask(mask));
            return create(path, place, permission, overwrite);
        });
    }

    @Override
    public FSDataOutputStream createNonRecursive(Path path, FsPermission permission,
            java.util.EnumSet<org.apache.hadoop.fs.CreateFlag> flags, int bufferBytes,
            short replication, long blockSize, Progressable progress) throws IOException {
        java.nio.file.Path place = place(path);
        names.requireNoFileAbove(place, path);
        if (!names.isRoot(place) && !Files.exists(place.getParent())) {
            throw absent(path.getParent());
        }
        return totals.track(StoreStatisticNames.OP_CREATE_NON_RECURSIVE, () -> create(path, place,
                permission, flags.contains(org.apache.hadoop.fs.CreateFlag.OVERWRITE)));
    }

    private FSDataOutputStream create(Path path, java.nio.file.Path place, FsPermission permission,
            boolean overwrite) throws IOException {
        return stream(writing.create(path, place, permission.applyUMask(mask),
                overwrite ? removal : null));
    }

    private FSDataOutputStream stream(FarcacheOutputStream stream) throws IOException {
        return new FSDataOutputStream(stream, statistics, stream.position());
    }

    /** The file is persisted before. Others cannot append to it until this stream is closed. */
    @Override
    public FSDataOutputStream append(Path path, int bufferBytes, Progressable progress)
            throws IOException {
        return totals.track(StoreStatisticNames.OP_APPEND,
                () -> stream(writing.append(path, place(path))));
    }

    /** Shortens a file at once; it is persisted before. */
    @Override
    public boolean truncate(Path path, long bytes) throws IOException {
        return totals.track(StoreStatisticNames.OP_TRUNCATE, () -> {
            writing.truncate(path, place(path), bytes);
            return true;
        });
    }

    @Override
    public boolean hasPathCapability(Path path, String capability) throws IOException {
        switch (PathCapabilitiesSupport.validatePathCapabilityArgs(path, capability)) {
            case CommonPathCapabilities.FS_APPEND:
            case CommonPathCapabilities.FS_TRUNCATE:
            case CommonPathCapabilities.FS_PERMISSIONS:
            case CommonPathCapabilities.ETAGS_AVAILABLE:
            case CommonPathCapabilities.ETAGS_PRESERVED_IN_RENAME:
            case StreamCapabilities.IOSTATISTICS_CONTEXT:
                return true;
            default:
                return super.hasPathCapability(path, capability);
        }
    }

    /**
     * As with HDFS, false where it cannot be: the source is not there, the destination is, or its
     * parent is not.
     */
    @Override
    public boolean rename(Path from, Path to) throws IOException {
        return totals.track(StoreStatisticNames.OP_RENAME,
                () -> naming.rename(place(from), place(to)));
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        return totals.track(StoreStatisticNames.OP_DELETE,
                () -> removal.remove(place(path), recursive));
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        java.nio.file.Path place = place(path);
        names.requireNoFileAbove(place, path);
        return totals.track(StoreStatisticNames.OP_MKDIRS, () -> {
            names.makeDirectories(place, permission.applyUMask(mask));
            return true;
        });
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        return totals.track(StoreStatisticNames.OP_GET_FILE_STATUS, () -> status(path));
    }

    private FileStatus status(Path path) throws IOException {
        try {
            return statuses.of(place(path), makeQualified(path));
        } catch (NoSuchFileException e) {
            throw absent(path);
        } catch (java.nio.file.FileSystemException e) {
            // Under a file there is nothing.
            if (!Files.exists(place(path))) {
                throw absent(path);
            }
            throw e;
        }
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        return totals.track(StoreStatisticNames.OP_LIST_STATUS, () -> list(path));
    }

    private FileStatus[] list(Path path) throws IOException {
        FileStatus own = status(path);
        if (!own.isDirectory()) {
            return new FileStatus[] {own};
        }
        try {
            return statuses.list(place(path), own.getPath());
        } catch (NoSuchFileException | NotDirectoryException e) {
            throw absent(path);
        }
    }

    @Override
    protected RemoteIterator<LocatedFileStatus> listLocatedStatus(Path path, PathFilter filter)
            throws IOException {
        return RemoteIterators.mappingRemoteIterator(
                RemoteIterators.filteringRemoteIterator(listStatusIterator(path),
                        status -> filter.accept(status.getPath())),
                status -> EtagStatus.Located.of(status, status.isFile()
                        ? getFileBlockLocations(status, 0, status.getLen()) : null));
    }

    /**
     * Which servers have most of each block; {@code localhost} of what is not in the servers, or
     * cannot be found there now.
     */
    @Override
    public BlockLocation[] getFileBlockLocations(FileStatus file, long start, long bytes)
            throws IOException {
        if (file == null || file.isDirectory() || start < 0 || bytes < 0
                || start >= file.getLen()) {
            return super.getFileBlockLocations(file, start, bytes);
        }
        try (Source source = source(file.getPath(), place(file.getPath()))) {
            return new Blocks(source, servers.names, file.getLen(), blockBytes)
                    .between(start, bytes);
        } catch (IOException | FarcacheException e) {
            LOG.debug("where {} lies: {}", file.getPath(), e.toString());
            return super.getFileBlockLocations(file, start, bytes);
        }
    }

    /** Space of the file system below, of which the servers take a part only until it is there. */
    @Override
    public FsStatus getStatus(Path path) throws IOException {
        return names.space();
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
        totals.track(StoreStatisticNames.OP_SET_PERMISSION, () -> {
            status(path);
            naming.permit(place(path), permission);
            return null;
        });
    }

    /** Less than 0 leaves a time as it is. */
    @Override
    public void setTimes(Path path, long modified, long accessed) throws IOException {
        totals.track(StoreStatisticNames.OP_SET_TIMES, () -> {
            status(path);
            times.set(place(path), modified, accessed);
            return null;
        });
    }

    /** Of its operations, and of its streams as they are closed. */
    @Override
    public IOStatistics getIOStatistics() {
        return totals.statistics();
    }
}
