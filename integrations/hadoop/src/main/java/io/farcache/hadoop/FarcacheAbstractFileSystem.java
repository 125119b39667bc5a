package io.farcache.hadoop;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file system for those who use {@code FileContext}, YARN among them: {@code
 * fs.AbstractFileSystem.farcache.impl}. All of it is {@link FarcacheFileSystem}.
 */
public final class FarcacheAbstractFileSystem extends DelegateToFileSystem {
    private static final Logger LOG = LoggerFactory.getLogger(FarcacheAbstractFileSystem.class);

    /**
     * Called by Hadoop.
     *
     * @param uri of the file system
     * @param configuration that of {@link FarcacheFileSystem}
     * @throws IOException the file system cannot be used
     * @throws URISyntaxException the URI is none of this scheme
     */
    public FarcacheAbstractFileSystem(URI uri, Configuration configuration)
            throws IOException, URISyntaxException {
        super(uri, new FarcacheFileSystem(), configuration, FarcacheFileSystem.SCHEME, false);
    }

    /**
     * Nobody closes a {@code FileContext}, nor what is below it: its connections end when it has been
     * forgotten. Closing may wait for servers, which finalization must not.
     */
    @Override
    protected void finalize() throws Throwable {
        try {
            Thread closing = new Thread(this::closeForgotten, "farcache-close");
            closing.setDaemon(true);
            closing.start();
        } finally {
            super.finalize();
        }
    }

    private void closeForgotten() {
        try {
            fsImpl.close();
        } catch (IOException e) {
            LOG.warn("closing a forgotten file system of {}: {}", getUri(), e.toString());
        }
    }

    /** The port is one of the servers', which have defaults of their own. */
    @Override
    public int getUriDefaultPort() {
        return -1;
    }
}
