package io.farcache.hadoop;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;

/**
 * The file system for those who use {@code FileContext}, YARN among them: {@code
 * fs.AbstractFileSystem.farcache.impl}. All of it is {@link FarcacheFileSystem}.
 */
public final class FarcacheAbstractFileSystem extends DelegateToFileSystem {
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

    /** The port is one of the servers', which have defaults of their own. */
    @Override
    public int getUriDefaultPort() {
        return -1;
    }
}
