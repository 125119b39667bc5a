package io.farcache.client;

import java.nio.charset.StandardCharsets;
import java.util.Collection;

/** Keys as the server has them. */
final class Keys {
    static final int BYTES_MAX = 250;

    private Keys() {
    }

    /** A key's bytes in UTF-8; refuses what memcached's text protocol could not say. */
    static byte[] encode(String key) {
        byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length > BYTES_MAX) {
            throw invalid("a key has 1 to 250 bytes, not " + bytes.length);
        }
        for (byte each : bytes) {
            // Bytes above 127 are negative, and parts of other characters.
            if (each >= 0 && each <= ' ' || each == 127) {
                throw invalid("a key has no spaces and no control characters: \"" + key + "\"");
            }
        }
        return bytes;
    }

    static byte[][] encode(Collection<String> keys) {
        byte[][] encoded = new byte[keys.size()][];
        int index = 0;
        for (String key : keys) {
            encoded[index++] = encode(key);
        }
        return encoded;
    }

    private static FarcacheException invalid(String message) {
        return new FarcacheArgumentException(Status.INVALID_KEY, message);
    }
}
