package io.farcache.hadoop;

import io.farcache.client.FarcacheClient;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.regex.Pattern;

/** What schedulers of jobs call the servers: the names of their hosts. */
final class ServerNames {
    /** An IPv4 or IPv6 address, of which jobs know a name instead. */
    private static final Pattern ADDRESS = Pattern.compile(
            "[0-9.]+|[0-9a-fA-F.]*:[0-9a-fA-F:.]*");
    /** That of a server which is reached by a unix socket. */
    private static final String HERE = "localhost";

    private final FarcacheClient client;
    private final String[] hosts;

    ServerNames(FarcacheClient client) {
        this.client = client;
        this.hosts = new String[client.servers()];
    }

    int servers() {
        return hosts.length;
    }

    /** As it is configured, with its port. */
    String name(int server) {
        return client.serverName(server);
    }

    /** The host's name; the resolver is asked once for each server that is given by address. */
    synchronized String host(int server) {
        if (hosts[server] == null) {
            hosts[server] = resolved(hostOf(name(server)));
        }
        return hosts[server];
    }

    /** What stands before the port. */
    static String hostOf(String name) {
        int port = name.lastIndexOf(':');
        if (name.startsWith("/") || port < 0) {
            return HERE;
        }
        String host = name.substring(0, port);
        boolean isBracketed = host.startsWith("[") && host.endsWith("]");
        return isBracketed ? host.substring(1, host.length() - 1) : host;
    }

    private static String resolved(String host) {
        try {
            return ADDRESS.matcher(host).matches()
                    ? InetAddress.getByName(host).getCanonicalHostName() : host;
        } catch (UnknownHostException e) {
            return host;
        }
    }
}
