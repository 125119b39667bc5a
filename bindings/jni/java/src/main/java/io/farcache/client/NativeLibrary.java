package io.farcache.client;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;

/**
 * Loads the native library: the one that the property {@code farcache.native.path} names, else the
 * jar's own, which is taken out for a moment into a new folder that nobody else may enter.
 */
final class NativeLibrary {
    static final String PATH_PROPERTY = "farcache.native.path";
    static final String FOLDER_PROPERTY = "farcache.native.folder";
    private static final String FILE = "libfarcache_jni.so";
    private static boolean loaded;

    private NativeLibrary() {
    }

    /**
     * Loads it unless that has been done: a second copy would have its own threads and messages,
     * and calls for the handles of one would reach the other.
     *
     * @throws UnsatisfiedLinkError with what to do, where it cannot be loaded
     */
    static synchronized void load() {
        if (!loaded) {
            find();
            loaded = true;
        }
    }

    private static void find() {
        String path = System.getProperty(PATH_PROPERTY);
        if (path != null) {
            System.load(Paths.get(path).toAbsolutePath().toString());
            return;
        }
        String platform = platform(System.getProperty("os.name"), System.getProperty("os.arch"));
        try (InputStream library = NativeLibrary.class.getResourceAsStream("native/" + platform
                + "/" + FILE)) {
            if (library == null) {
                throw new UnsatisfiedLinkError("farcache-client has no native library for "
                        + platform + "; build "
                        + FILE + " and name it with -D" + PATH_PROPERTY);
            }
            loadCopy(library);
        } catch (IOException e) {
            throw failed("cannot be taken out of the jar", e);
        }
    }

    /** The name of a system's folder in the jar. */
    static String platform(String system, String processor) {
        String name = processor.equals("amd64") ? "x86_64" : processor;
        return system.toLowerCase(Locale.ROOT).replace(' ', '-') + "-" + name;
    }

    private static void loadCopy(InputStream library) throws IOException {
        String wanted = System.getProperty(FOLDER_PROPERTY, System.getProperty("java.io.tmpdir"));
        // Made for this process alone, with a name that did not exist: nobody can put anything
        // there.
        Path folder = Files.createTempDirectory(Paths.get(wanted), "farcache-",
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path copy = folder.resolve(FILE);
        try {
            Files.copy(library, copy);
            System.load(copy.toAbsolutePath().toString());
        } catch (UnsatisfiedLinkError e) {
            throw failed("cannot be loaded", e);
        } finally {
            // What is loaded stays without its file.
            Files.deleteIfExists(copy);
            Files.deleteIfExists(folder);
        }
    }

    private static UnsatisfiedLinkError failed(String what, Throwable cause) {
        UnsatisfiedLinkError error = new UnsatisfiedLinkError("farcache-client: the native library "
                + what
                + "; -D" + FOLDER_PROPERTY
                        + " names a folder to which it can be written and from which programs may"
                + " run: " + cause.getMessage());
        error.initCause(cause);
        return error;
    }
}
