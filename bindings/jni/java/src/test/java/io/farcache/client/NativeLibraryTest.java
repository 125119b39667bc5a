package io.farcache.client;

import java.io.File;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Scanner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** How the library gets out of the jar. */
class NativeLibraryTest {
    /** Says the library's version, in a machine of its own. */
    public static final class Version {
        public static void main(String[] arguments) {
            System.out.println("version " + FarcacheClient.libraryVersion());
        }
    }

    @Test
    void nothingIsLeftWhereTheLibraryWasTakenOut(@TempDir Path folder) throws Exception {
        List<Process> processes = new ArrayList<>();
        for (int index = 0; index < 4; index++) {
            processes.add(start("-D" + NativeLibrary.FOLDER_PROPERTY + "=" + folder));
        }
        for (Process process : processes) {
            assertSaysVersion(output(process));
            assertEquals(0, process.waitFor());
        }
        assertEquals(0, folder.toFile().list().length, Arrays.toString(folder.toFile().list()));
    }

    @Test
    void aLibraryOfOnesOwnIsNamed(@TempDir Path folder) throws Exception {
        String platform = NativeLibrary.platform(System.getProperty("os.name"),
                System.getProperty("os.arch"));
        Path copy = folder.resolve("own.so");
        try (InputStream library = NativeLibrary.class.getResourceAsStream(
                "native/" + platform + "/libfarcache_jni.so")) {
            Files.copy(library, copy);
        }
        Process process = start("-D" + NativeLibrary.PATH_PROPERTY + "=" + copy);
        assertSaysVersion(output(process));
    }

    @Test
    void aFolderThatCannotBeWrittenToIsNamedInTheError(@TempDir Path folder) throws Exception {
        Process process = start("-D" + NativeLibrary.FOLDER_PROPERTY + "="
                + folder.resolve("absent"));
        String said = output(process);
        assertNotEquals(0, process.waitFor());
        assertTrue(said.contains(NativeLibrary.FOLDER_PROPERTY), said);
    }

    @Test
    void allClassesShareOneCopy() throws Exception {
        FarcacheClient.libraryVersion();
        NativeBlobs.free(0);
        List<String> maps = Files.readAllLines(Paths.get("/proc/self/maps"));
        long copies = maps.stream().filter(line -> line.contains("/libfarcache_jni.so"))
                .map(line -> line.substring(line.indexOf('/'))).distinct().count();
        assertEquals(1, copies);
    }

    @Test
    void everySystemHasAFolder() {
        assertEquals("linux-x86_64", NativeLibrary.platform("Linux", "amd64"));
        assertEquals("linux-aarch64", NativeLibrary.platform("Linux", "aarch64"));
        assertEquals("mac-os-x-x86_64", NativeLibrary.platform("Mac OS X", "x86_64"));
    }

    /** Later machines warn of native code before. */
    private static void assertSaysVersion(String said) {
        assertTrue(said.trim().endsWith("version " + FarcacheClient.libraryVersion()), said);
    }

    private static Process start(String option) throws Exception {
        String java = Paths.get(System.getProperty("java.home"), "bin", "java").toString();
        String classes = System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
        return new ProcessBuilder(java, "-cp", classes, option, Version.class.getName())
                .redirectErrorStream(true).redirectInput(new File("/dev/null")).start();
    }

    private static String output(Process process) {
        try (Scanner scanner = new Scanner(process.getInputStream(), "UTF-8").useDelimiter("\\A")) {
            return scanner.hasNext() ? scanner.next() : "";
        }
    }
}
