package io.farcache.hadoop;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;

/**
 * A program that finishes what dead clients have left to persist, and waits for it. Every client
 * does that in the background, but only while it lives.
 */
public final class Recovery {
    private Recovery() {
    }

    /**
     * Runs with the configuration of the class path.
     *
     * @param arguments the URI of the file system
     * @throws IOException something is not persisted
     */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 1) {
            System.err.println("usage: hadoop " + Recovery.class.getName() + " URI");
            System.exit(2);
        }
        run(URI.create(arguments[0]), new Configuration());
    }

    static void run(URI uri, Configuration configuration) throws IOException {
        try (FarcacheFileSystem files = new FarcacheFileSystem()) {
            files.initialize(uri, configuration);
            files.awaitPersisted(Persister.RECOVERY);
        }
    }
}
