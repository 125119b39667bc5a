package io.farcache.ycsb;

import java.io.File;
import java.io.IOException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** YCSB's own client, in a process of its own, as it ends by itself. */
final class YcsbClient {
    private static final Pattern ENDED = Pattern.compile("\\[([A-Z]+)\\], Return=(\\w+), (\\d+)");

    private YcsbClient() {
    }

    /** Starts a phase, {@code -load} or {@code -t}, with these properties of the core workload. */
    static Process start(String phase, String db, Map<String, String> environment,
            String... properties) throws IOException {
        String java = Paths.get(System.getProperty("java.home"), "bin", "java").toString();
        String classes = System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
        List<String> command = new ArrayList<>(Arrays.asList(java, "-Xmx256m", "-cp", classes,
                "site.ycsb.Client", phase, "-db", "io.farcache.ycsb." + db, "-threads", "4"));
        String[] common = {"workload=site.ycsb.workloads.CoreWorkload", "readproportion=0.5",
            "updateproportion=0.5", "writeallfields=true", "fieldlengthdistribution=constant",
            "farcache.options=timeout-ms=60000 connect-timeout-ms=60000"};
        for (String[] some : new String[][] {common, properties}) {
            for (String property : some) {
                command.addAll(Arrays.asList("-p", property));
            }
        }
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectInput(new File("/dev/null"));
        builder.environment().putAll(environment);
        return builder.start();
    }

    /** All that it says until it ends, which it has to do well. */
    static String end(Process process) throws InterruptedException {
        String said = new Scanner(process.getInputStream(), "UTF-8").useDelimiter("\\A").next();
        assertEquals(0, process.waitFor(), said);
        return said;
    }

    /** How many operations of a kind ended how: {@code "READ OK"}. */
    static Map<String, Integer> ended(String said) {
        Map<String, Integer> ended = new HashMap<>();
        Matcher matcher = ENDED.matcher(said);
        while (matcher.find()) {
            int count = Integer.parseInt(matcher.group(3));
            ended.merge(matcher.group(1) + " " + matcher.group(2), count, Integer::sum);
        }
        return ended;
    }
}
