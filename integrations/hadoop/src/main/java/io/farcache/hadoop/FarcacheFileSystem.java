package io.farcache.hadoop;

import io.farcache.client.FarcacheBlobs;
import io.farcache.client.FarcacheClient;
import io.farcache.client.FarcacheConnectionException;
import io.farcache.client.FarcacheException;
import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.HadoopIllegalArgumentException;
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
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.impl.PathCapabilitiesSupport;
import org.apache.hadoop.fs.permission.FsPermission;
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
public final class FarcacheFileSystem extends FileSystem {
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
    private static final String NO_REDUNDANCY = "none";
    /** Goes before what a client is told, if it is set. */
    private static final String REDUNDANCY_VARIABLE = "FARCACHE_REDUNDANCY";
    /** How often somebody may have changed a file while it was looked at. */
    private static final int CHANGES_MAX = 100;
    /** More would be a time since 1970. */
    private static final int CACHE_TIME_SECONDS_MAX = 30 * 86_400;

    /** Tests fail here what is done below. */
    volatile Below.Watch watch = change -> {
    };
    private URI uri;
    private Path workingDirectory;
    private Names names;
    private FarcacheClient client;
    private FarcacheBlobs blobs;
    private ServerNames serverNames;
    private FsPermission mask;
    private long blockBytes;
    private Close mode;
    private boolean hasRedundancy;
    /** Servers that are known to evict nothing. */
    private final BitSet checked = new BitSet();
    private boolean closed;
    private Heads heads;
    private KeptTimes times;
    private Sealing sealing;
    private Cache cache;
    private Pending pending;
    private Persistence persistence;
    private Persister persister;

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
        String redundancy = configuration.getTrimmed(REDUNDANCY, NO_REDUNDANCY);
        hasRedundancy = !redundancy.equals(NO_REDUNDANCY);
        mode = Close.of(configuration.getTrimmed(CLOSE, Close.BUFFERED.toString()));
        if (mode == Close.REDUNDANT) {
            checkRedundant();
        }
        names = new Names(Paths.get(directory));
        try {
            connect(configuration, redundancy);
        } catch (FarcacheException e) {
            throw new IOException(e.getMessage(), e);
        }
        Below.Watch watched = change -> watch.before(change);
        sealing = new Sealing(names.hidden("pending"));
        heads = new Heads(names.hidden("heads"), watched);
        cache = new Cache(client, blobs, cacheSettings(configuration),
                new FileClock(names.hidden("clock")), names.id(), names.device());
        times = new KeptTimes(names.hidden("times"), names.device(), watched);
        persistence = new Persistence(blobs, heads, times, cache, new Pace(
                configuration.getLongBytes(PERSIST_BANDWIDTH, 0)));
        pending = Pending.create(names.hidden("pending"), watched);
        persister = new Persister(persistence, watched, configuration.getTimeDuration(
                PERSIST_PATIENCE, 60_000, TimeUnit.MILLISECONDS));
        persister.recover(names.hidden("pending"));
    }

    private static Cache.Settings cacheSettings(Configuration configuration) {
        Cache.Settings settings = new Cache.Settings();
        settings.keeps = configuration.getBoolean(CACHE_PERSISTED, true);
        settings.readsThrough = configuration.getBoolean(CACHE_READS, true);
        settings.chunkBytes = (int) configuration.getLongBytes(CHUNK_BYTES, 512L << 10);
        settings.windowBytes = configuration.getLongBytes(WINDOW_BYTES, 8L << 20);
        settings.expirySeconds = (int) Math.min(CACHE_TIME_SECONDS_MAX,
                configuration.getTimeDuration(CACHE_TIME, 7 * 86_400, TimeUnit.SECONDS));
        settings.settleNanoseconds = TimeUnit.MILLISECONDS.toNanos(
                configuration.getTimeDuration(CACHE_SETTLE, 2000, TimeUnit.MILLISECONDS));
        return settings;
    }

    /** What readers find in the servers. */
    Cache cache() {
        return cache;
    }

    /** Waits until a file, or what dead clients have left, is persisted. */
    void awaitPersisted(String id) throws IOException {
        persister.await(id);
    }

    private void checkRedundant() throws IOException {
        if (!hasRedundancy) {
            throw new IOException(CLOSE + "=" + mode + " cannot be promised without " + REDUNDANCY);
        }
        if (System.getenv(REDUNDANCY_VARIABLE) != null) {
            throw new IOException(CLOSE + "=" + mode + " cannot be promised: "
                    + REDUNDANCY_VARIABLE + " in the environment goes before " + REDUNDANCY);
        }
    }

    /** What is only buffered must not be evicted; what closing waits for may fail instead. */
    private synchronized void checkServers() throws IOException {
        for (int server = 0; mode != Close.PERSISTED && server < client.servers(); server++) {
            if (!checked.get(server) && evicts(server)) {
                throw new IOException(CLOSE + "=" + mode + " cannot be promised: server "
                        + server + " evicts; start it with --disable-evictions, or wait with "
                        + CLOSE + "=" + Close.PERSISTED);
            }
        }
    }

    /** Whether a server evicts. One that is away is asked later, if the others can do without. */
    private boolean evicts(int server) {
        try {
            boolean evicts = !"off".equals(client.statistics(server, "settings").get("evictions"));
            checked.set(server, !evicts);
            return evicts;
        } catch (FarcacheConnectionException e) {
            if (!hasRedundancy) {
                throw e;
            }
            return false;
        }
    }

    private void connect(Configuration configuration, String redundancy) {
        Duration timeout = milliseconds(configuration, TIMEOUT, 30_000);
        FarcacheClient.Builder builder = FarcacheClient
                .builder(configuration.getTrimmed(SERVERS, uri.getAuthority()))
                .transport(configuration.getTrimmed(TRANSPORT, "auto"))
                .timeout(timeout).connectTimeout(timeout);
        if (hasRedundancy) {
            builder.option("blob-redundancy", redundancy);
        }
        client = builder.build();
        serverNames = new ServerNames(client);
        blobs = client.blobs((int) configuration.getLongBytes(CHUNK_BYTES, 0),
                configuration.getLongBytes(WINDOW_BYTES, 0),
                configuration.getLongBytes(IN_FLIGHT_BYTES_MAX, 0),
                milliseconds(configuration, WRITE_PATIENCE, 60_000));
    }

    private static Duration milliseconds(Configuration configuration, String name, long usual) {
        return Duration.ofMillis(
                configuration.getTimeDuration(name, usual, TimeUnit.MILLISECONDS));
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
        for (Closeable part : new Closeable[] {super::close, persister, pending}) {
            try {
                if (part != null) {
                    part.close();
                }
            } catch (IOException e) {
                failure = failure == null ? e : failure;
            }
        }
        if (blobs != null) {
            blobs.close();
            client.close();
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
        return new FSDataInputStream(new FarcacheInputStream(source(path, place), statistics));
    }

    private Source source(Path path, java.nio.file.Path place) throws IOException {
        Identity before = cache.identity(place);
        FileChannel channel;
        try {
            channel = FileChannel.open(place, StandardOpenOption.READ);
        } catch (NoSuchFileException e) {
            throw absent(path);
        }
        Source source = null;
        try {
            // Once more where the file is persisted just now.
            for (int look = 0; source == null; look++) {
                source = source(channel, place, before, look);
            }
            return source;
        } catch (IOException | FarcacheException e) {
            throw new IOException(path + ": " + e.getMessage(), e);
        } finally {
            if (source == null) {
                channel.close();
            }
        }
    }

    private Source source(FileChannel channel, java.nio.file.Path place, Identity before,
            int look) throws IOException {
        byte[] head = Reference.ordinaryHeadOf(channel);
        if (head != null && head.length == 0 && sealing.isAwaited(place, look)) {
            return null;
        }
        if (head != null) {
            return cache.source(new OrdinaryFile(channel, place, head), before);
        }
        Reference reference = Reference.read(channel);
        return reference == null ? null
                : CachedSource.open(channel, reference, blobs, heads);
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
        checkParent(path, place);
        names.makeDirectories(place.getParent(), FsPermission.getDirDefault().applyUMask(mask));
        return begin(path, place, permission, overwrite);
    }

    @Override
    public FSDataOutputStream createNonRecursive(Path path, FsPermission permission,
            java.util.EnumSet<org.apache.hadoop.fs.CreateFlag> flags, int bufferBytes,
            short replication, long blockSize, Progressable progress) throws IOException {
        java.nio.file.Path place = place(path);
        checkParent(path, place);
        if (!names.isRoot(place) && !Files.exists(place.getParent())) {
            throw absent(path.getParent());
        }
        return begin(path, place, permission,
                flags.contains(org.apache.hadoop.fs.CreateFlag.OVERWRITE));
    }

    /** Nothing above it may be a file. */
    private void checkParent(Path path, java.nio.file.Path place) throws IOException {
        java.nio.file.Path above = place;
        while (!names.isRoot(above)) {
            above = above.getParent();
            if (Files.exists(above)) {
                if (!Files.isDirectory(above)) {
                    throw new ParentNotDirectoryException(path + ": under a file");
                }
                return;
            }
        }
    }

    /** Makes the name, and the stream to what is going to be its blob. */
    private FSDataOutputStream begin(Path path, java.nio.file.Path place, FsPermission permission,
            boolean overwrite) throws IOException {
        while (true) {
            if (Files.isDirectory(place)) {
                throw new FileAlreadyExistsException(path + ": a directory");
            }
            try {
                checkServers();
                FileChannel file = names.create(place, permission.applyUMask(mask));
                return new FSDataOutputStream(stream(file, place), statistics);
            } catch (FarcacheException e) {
                throw new IOException(e.getMessage(), e);
            } catch (java.nio.file.FileAlreadyExistsException e) {
                if (!overwrite) {
                    throw new FileAlreadyExistsException(path + ": a file");
                }
            }
            removeAll(place);
        }
    }

    private FarcacheOutputStream stream(FileChannel channel, java.nio.file.Path place)
            throws IOException {
        Below file = new Below(channel, change -> watch.before(change));
        try {
            Reference reference = Reference.fresh();
            pending.add(reference.id, place);
            reference.write(file);
            return new FarcacheOutputStream(blobs, persistence, persister, pending, file,
                    reference, mode);
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    /** The file is persisted before. Others cannot append to it until this stream is closed. */
    @Override
    public FSDataOutputStream append(Path path, int bufferBytes, Progressable progress)
            throws IOException {
        java.nio.file.Path place = ordinary(path);
        try {
            checkServers();
            Identity before = cache.identity(place);
            Appending begun = Appending.begin(place.toRealPath(), pending, heads, persister,
                    change -> watch.before(change));
            cache.forget(before);
            FarcacheOutputStream stream = new FarcacheOutputStream(blobs, persistence, persister,
                    pending, begun.file, begun.reference, mode);
            stream.goOn(begun.head);
            return new FSDataOutputStream(stream, statistics, begun.reference.start);
        } catch (IOException | FarcacheException e) {
            throw new IOException(path + ": " + e.getMessage(), e);
        }
    }

    /** Shortens a file at once; it is persisted before. */
    @Override
    public boolean truncate(Path path, long bytes) throws IOException {
        java.nio.file.Path place = ordinary(path);
        Identity before = cache.identity(place);
        try (Below file = new Below(FileChannel.open(place, StandardOpenOption.READ,
                StandardOpenOption.WRITE), change -> watch.before(change))) {
            if (bytes < 0 || bytes > file.channel().size()) {
                throw new HadoopIllegalArgumentException(path + ": cannot be truncated to " + bytes
                        + " bytes");
            }
            if (Reference.ordinaryHeadOf(file.channel()) == null) {
                throw new IOException(path + ": it is being written");
            }
            file.resize(bytes);
            file.force();
        }
        cache.forget(before);
        return true;
    }

    /** The place of a file, once it is an ordinary one. */
    private java.nio.file.Path ordinary(Path path) throws IOException {
        java.nio.file.Path place = place(path);
        if (!Files.isRegularFile(place)) {
            throw new FileNotFoundException(path + ": there is no such file");
        }
        try {
            persister.awaitOrdinary(place);
            return place;
        } catch (IOException e) {
            throw new IOException(path + ": " + e.getMessage(), e);
        }
    }

    @Override
    public boolean hasPathCapability(Path path, String capability) throws IOException {
        switch (PathCapabilitiesSupport.validatePathCapabilityArgs(path, capability)) {
            case CommonPathCapabilities.FS_APPEND:
            case CommonPathCapabilities.FS_TRUNCATE:
            case CommonPathCapabilities.FS_PERMISSIONS:
            case CommonPathCapabilities.ETAGS_AVAILABLE:
            case CommonPathCapabilities.ETAGS_PRESERVED_IN_RENAME:
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
        java.nio.file.Path source = place(from);
        java.nio.file.Path destination = place(to);
        if (names.isRoot(source) || !Files.exists(source)) {
            return false;
        }
        if (source.equals(destination)) {
            return !Files.isDirectory(source);
        }
        if (Files.isDirectory(destination)) {
            destination = destination.resolve(source.getFileName().toString());
        }
        if (destination.startsWith(source) || Files.exists(destination)
                || !Files.isDirectory(destination.getParent())) {
            return false;
        }
        try {
            Identity before = cache.identity(source);
            names.rename(source, destination);
            cache.follow(before, destination);
            return true;
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        java.nio.file.Path place = place(path);
        if (names.isRoot(place)) {
            return deleteBelowRoot(recursive);
        }
        if (!Files.exists(place)) {
            return false;
        }
        if (Files.isDirectory(place) && !recursive) {
            names.removeEmpty(place);
            return true;
        }
        return removeAll(place);
    }

    /** The root itself stays. */
    private boolean deleteBelowRoot(boolean recursive) throws IOException {
        List<java.nio.file.Path> below = names.list(place(new Path("/")));
        if (!recursive && !below.isEmpty()) {
            throw new PathIsNotEmptyDirectoryException("/");
        }
        for (java.nio.file.Path place : below) {
            removeAll(place);
        }
        return recursive || below.isEmpty();
    }

    /** Removes the name at once, then the blobs. */
    private boolean removeAll(java.nio.file.Path place) throws IOException {
        java.nio.file.Path kept = names.remove(place);
        if (kept == null) {
            return false;
        }
        names.forget(kept, this::removeBlob);
        return true;
    }

    private void removeBlob(java.nio.file.Path file) throws IOException {
        Reference reference = Files.isSymbolicLink(file) ? null : Reference.of(file);
        if (reference != null) {
            try {
                blobs.remove(reference.blob());
            } catch (FarcacheException e) {
                throw new IOException("blob " + reference.blob() + ": " + e.getMessage(), e);
            }
        } else if (!Files.isSymbolicLink(file)) {
            cache.forget(cache.identity(file));
        }
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        java.nio.file.Path place = place(path);
        checkParent(path, place);
        names.makeDirectories(place, permission.applyUMask(mask));
        return true;
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        try {
            return status(place(path), makeQualified(path));
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
        FileStatus own = getFileStatus(path);
        if (!own.isDirectory()) {
            return new FileStatus[] {own};
        }
        List<FileStatus> all = new ArrayList<>();
        try {
            for (java.nio.file.Path place : names.list(place(path))) {
                String name = place.getFileName().toString();
                try {
                    all.add(status(place, new Path(own.getPath(), name)));
                } catch (NoSuchFileException e) {
                    // Removed meanwhile.
                }
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            throw absent(path);
        }
        return all.toArray(new FileStatus[0]);
    }

    private FileStatus status(java.nio.file.Path place, Path path) throws IOException {
        FileStatus status = null;
        for (int look = 0; status == null; look++) {
            status = status(place, path, look);
        }
        return status;
    }

    /** Null where the file became an ordinary one meanwhile, or is becoming one. */
    private FileStatus status(java.nio.file.Path place, Path path, int look) throws IOException {
        Identity before = Identity.of(place);
        PosixFileAttributes attributes = Files.readAttributes(place, PosixFileAttributes.class);
        boolean isDirectory = attributes.isDirectory();
        long length = isDirectory ? 0 : attributes.size();
        Reference reference = isDirectory ? null : Reference.of(place);
        FileTime kept = times.of(before);
        if (reference != null) {
            length = persistence.lengthOf(reference);
        }
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
        FileTime modified = kept == null ? attributes.lastModifiedTime() : kept;
        String letters = PosixFilePermissions.toString(attributes.permissions());
        FileStatus status = new FileStatus(length, isDirectory, 1, isDirectory ? 0 : blockBytes,
                modified.toMillis(), attributes.lastAccessTime().toMillis(),
                FsPermission.valueOf("-" + letters), attributes.owner().getName(),
                attributes.group().getName(), path);
        return reference == null && kept == null ? EtagStatus.of(status, identity) : status;
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
            return new Blocks(source, serverNames, file.getLen(), blockBytes)
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
        getFileStatus(path);
        java.nio.file.Path place = place(path);
        Identity before = cache.identity(place);
        names.permit(place, permission);
        cache.follow(before, place);
    }

    /** Less than 0 leaves a time as it is. */
    @Override
    public void setTimes(Path path, long modified, long accessed) throws IOException {
        getFileStatus(path);
        times.set(place(path), time(modified), time(accessed));
    }

    private static FileTime time(long milliseconds) {
        return milliseconds < 0 ? null : FileTime.fromMillis(milliseconds);
    }
}
