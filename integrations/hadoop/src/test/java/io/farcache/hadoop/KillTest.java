package io.farcache.hadoop;

import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A few of the runs that {@code scripts/hadoop-jobs --kill} makes many of. */
class KillTest {
    private static final int MEGABYTES = 16;

    @TempDir
    Path folder;

    static Stream<Arguments> runs() {
        return Stream.of(Kills.Moment.values()).flatMap(moment -> Kills.REDUNDANCIES.stream()
                .map(redundancy -> Arguments.of(moment, redundancy)));
    }

    @ParameterizedTest
    @MethodSource("runs")
    void aJobSucceedsWhenAServerIsKilled(Kills.Moment moment, String redundancy)
            throws Exception {
        long seed = System.nanoTime();
        System.out.println(new Kills(seed, folder, MEGABYTES).run(moment, redundancy));
    }
}
