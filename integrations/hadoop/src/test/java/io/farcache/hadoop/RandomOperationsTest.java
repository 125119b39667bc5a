package io.farcache.hadoop;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A few of the operations that {@code scripts/hadoop-jobs --random} makes many of.
 *
 * <p>{@code -Dfarcache.test.operations=N} makes more of them, {@code -Dfarcache.test.seed=N} the
 * same again. Both reach the tests by {@code -Dfarcache.test.jvm="-Xmx512m -D..."}.
 */
class RandomOperationsTest {
    private static final int OPERATIONS = Integer.getInteger("farcache.test.operations", 300);

    @TempDir
    Path names;

    @ParameterizedTest
    @ValueSource(strings = {"none", "replicate:2", "ec:2,1"})
    void whateverIsDoneFilesAreWhatTheModelSays(String redundancy) throws Exception {
        long seed = Long.getLong("farcache.test.seed", System.nanoTime());
        new RandomOperations(names, RandomOperations.Scale.SMALL, seed).run(redundancy, OPERATIONS,
                System.out::println);
    }
}
