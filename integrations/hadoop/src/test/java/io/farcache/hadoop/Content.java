package io.farcache.hadoop;

/** What the tests write: no two places near each other look alike. */
final class Content {
    private Content() {
    }

    static byte[] of(int bytes) {
        byte[] content = new byte[bytes];
        for (int index = 0; index < bytes; index++) {
            content[index] = (byte) (index * 31 + (index >>> 8) * 17 + (index >>> 16));
        }
        return content;
    }
}
