package io.farcache.hadoop;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What the servers have of files that are gone goes behind the back of who deletes them. */
class ForgettingTest {
    private static final int FILES = 5;
    private static final int FROZEN_MILLISECONDS = 500;

    @TempDir
    Path names;
    private FilesFixture fixture;

    @BeforeEach
    void start() throws Exception {
        fixture = new FilesFixture(names, "-m", "64", "-M", "--evict-expiring");
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    private static org.apache.hadoop.fs.Path name(int number) {
        return new org.apache.hadoop.fs.Path("/" + number);
    }

    @Test
    void deletingDoesNotWaitForServersAndClosingDoes() throws Exception {
        FarcacheFileSystem files = fixture.open(FarcacheFileSystem.CLOSE, "persisted");
        for (int number = 0; number < FILES; number++) {
            FilesFixture.write(files, name(number), 1000);
        }
        assertTrue(fixture.items() > 0);
        fixture.server().freeze(true);
        Thread thawing = new Thread(this::thawSoon);
        try {
            for (int number = 0; number < FILES; number++) {
                assertTrue(files.delete(name(number), false));
            }
        } finally {
            thawing.start();
            files.close();
            thawing.join();
        }
        assertEquals(0, fixture.items());
    }

    private void thawSoon() {
        try {
            Pause.of(FROZEN_MILLISECONDS);
            fixture.server().freeze(false);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aFileThatHasTheInodeOfOneThatIsGoneKeepsItsCopy() throws Exception {
        try (FarcacheFileSystem files = fixture.open(FarcacheFileSystem.CLOSE, "persisted")) {
            FilesFixture.write(files, name(0), 1000);
            long items = fixture.items();
            Identity now = Identity.of(names.resolve("0"));
            // Its device plays no part here.
            files.cache().forget(new Identity(0, now.inode, now.names, now.size, now.modified,
                    now.changed - 1));
            assertEquals(items, fixture.items());
            files.cache().forget(now);
            assertEquals(0, fixture.items());
        }
    }
}
