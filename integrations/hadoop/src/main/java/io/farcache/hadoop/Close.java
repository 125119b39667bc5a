package io.farcache.hadoop;

import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;

/** What closing a file waits for. */
enum Close {
    /** That it is in the servers, and what is to be persisted is recorded below. */
    BUFFERED,
    /** The same, on several servers; {@code hflush} waits for no more than that, either. */
    REDUNDANT,
    /** That it is an ordinary file below. */
    PERSISTED;

    static Close of(String name) throws IOException {
        for (Close mode : values()) {
            if (mode.toString().equals(name)) {
                return mode;
            }
        }
        throw new IOException(FarcacheFileSystem.CLOSE + " is one of " + Arrays.toString(values())
                + ", not " + name);
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
