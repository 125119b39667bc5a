package io.farcache.spymemcached;

import io.farcache.client.FarcacheClient;
import io.farcache.client.FarcacheException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/** The servers of a client, asked one after the other. */
final class Servers {
    private final FarcacheClient client;
    private final List<SocketAddress> addresses;

    /** Those of the client, in its order. */
    Servers(FarcacheClient client, List<InetSocketAddress> addresses) {
        this.client = client;
        this.addresses = new ArrayList<>(addresses);
    }

    /** As a client is told of them. */
    static String text(List<InetSocketAddress> servers) {
        return servers.stream().map(Servers::text).collect(Collectors.joining(","));
    }

    private static String text(InetSocketAddress server) {
        String host = server.getHostString();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + server.getPort();
    }

    private boolean answers(int server) {
        try {
            client.noop(server);
            return true;
        } catch (FarcacheException e) {
            return false;
        }
    }

    /** Those that answer now, or those that do not. */
    Collection<SocketAddress> answering(boolean wanted) {
        List<SocketAddress> found = new ArrayList<>();
        for (int server = 0; server < addresses.size(); server++) {
            if (answers(server) == wanted) {
                found.add(addresses.get(server));
            }
        }
        return found;
    }

    /** What each answers to a question. */
    <T> Map<SocketAddress, T> ofEach(IntFunction<T> question) {
        Map<SocketAddress, T> answers = new HashMap<>();
        for (int server = 0; server < addresses.size(); server++) {
            answers.put(addresses.get(server), question.apply(server));
        }
        return answers;
    }

    /** Ends when all of them have dropped their items, or have been told to do so later. */
    CompletableFuture<Void> flush(int delaySeconds) {
        CompletableFuture<?>[] each = new CompletableFuture<?>[addresses.size()];
        for (int server = 0; server < each.length; server++) {
            each[server] = client.async().flush(server, delaySeconds);
        }
        return CompletableFuture.allOf(each);
    }
}
