package io.farcache.hadoop;

import io.farcache.client.FarcacheClient;
import io.farcache.client.TestServer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Several servers, at addresses that they keep when they are killed and started again. */
final class Fleet implements AutoCloseable {
    private final List<TestServer> servers = new ArrayList<>();
    private final String[] options;

    Fleet(int count, String... options) throws Exception {
        this.options = options;
        for (int number = 0; number < count; number++) {
            servers.add(new TestServer(options));
        }
    }

    /** As the file system wants them. */
    String addresses() {
        return servers.stream().map(TestServer::address).collect(Collectors.joining(","));
    }

    /** How often the servers had no room. */
    long refusals() {
        long refusals = 0;
        try (FarcacheClient client = FarcacheClient.connect(addresses())) {
            for (int server = 0; server < servers.size(); server++) {
                refusals += Long.parseLong(client.statistics(server, "").get("store_no_memory"));
            }
        }
        return refusals;
    }

    void kill(int number) throws Exception {
        servers.get(number).kill();
    }

    void startAgain(int number) throws Exception {
        servers.set(number, new TestServer(servers.get(number).port(), options));
    }

    void killAll() throws Exception {
        for (int number = 0; number < servers.size(); number++) {
            kill(number);
        }
    }

    void startAllAgain() throws Exception {
        for (int number = 0; number < servers.size(); number++) {
            startAgain(number);
        }
    }

    @Override
    public void close() {
        servers.forEach(TestServer::close);
    }
}
