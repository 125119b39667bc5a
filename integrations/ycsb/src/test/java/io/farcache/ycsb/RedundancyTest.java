package io.farcache.ycsb;

import io.farcache.client.TestServer;
import java.io.PrintWriter;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** YCSB as it is, its records coded over several servers by its environment alone. */
class RedundancyTest {
    private static final int SERVERS = 5;
    private static final int RECORDS = 40;
    private static final int OPERATIONS = 400;
    /** Of 10 fields: records are just long enough for shards, as YCSB is slow at comparing them. */
    private static final int FIELD_BYTES = 3300;

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "auto"})
    void noReadFailsWhileAServerDies(String transport) throws Exception {
        List<TestServer> servers = new ArrayList<>();
        try {
            for (int index = 0; index < SERVERS; index++) {
                servers.add(new TestServer("-m", "64", "-t", "1"));
            }
            YcsbClient.end(start("-load", transport, servers));
            long before = gets(servers.get(1));
            Process process = start("-t", transport, servers);
            // Half of the operations read, each from three of five servers.
            await(servers.get(1), before + OPERATIONS / 2 * 3 / SERVERS / 2, process);
            servers.get(0).kill();
            long killed = gets(servers.get(1));
            assertTrue(process.isAlive(), "the server died too late");
            String said = YcsbClient.end(process);
            assertTrue(gets(servers.get(1)) > killed, "nothing was read without the server");
            Map<String, Integer> ended = YcsbClient.ended(said);
            int reads = ended.getOrDefault("READ OK", 0);
            // YCSB compares what it has read with what belongs to the record.
            assertEquals(reads, ended.getOrDefault("VERIFY OK", 0), said);
            assertEquals(OPERATIONS, reads + ended.getOrDefault("UPDATE OK", 0)
                    + ended.getOrDefault("UPDATE ERROR", 0), said);
            assertTrue(reads > OPERATIONS / 3, said);
            // An update may be in doubt, where the server died in the middle of it.
            assertTrue(ended.getOrDefault("UPDATE ERROR", 0) <= 4, said);
        } finally {
            for (TestServer server : servers) {
                server.kill();
            }
        }
    }

    private static Process start(String phase, String transport, List<TestServer> servers)
            throws Exception {
        String addresses = servers.stream().map(TestServer::address)
                .collect(Collectors.joining(","));
        return YcsbClient.start(phase, "FarcacheDb",
                Collections.singletonMap("FARCACHE_REDUNDANCY", "ec:3,2"),
                "recordcount=" + RECORDS, "operationcount=" + OPERATIONS,
                "fieldlength=" + FIELD_BYTES, "dataintegrity=true",
                "farcache.servers=" + addresses, "farcache.transport=" + transport);
    }

    private static void await(TestServer server, long wanted, Process process) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TestServer.PATIENCE_SECONDS);
        while (gets(server) < wanted) {
            assertTrue(System.nanoTime() < end && process.isAlive(), "YCSB reads nothing");
            Thread.sleep(2);
        }
    }

    /** How many gets a server has answered. */
    private static long gets(TestServer server) throws Exception {
        try (Socket socket = new Socket("127.0.0.1", server.port());
                PrintWriter writer = new PrintWriter(socket.getOutputStream(), true);
                Scanner scanner = new Scanner(socket.getInputStream(), "US-ASCII")) {
            writer.print("stats\r\n");
            writer.flush();
            String line = scanner.nextLine();
            while (!line.startsWith("STAT cmd_get ")) {
                line = scanner.nextLine();
            }
            return Long.parseLong(line.split(" ")[2]);
        }
    }
}
