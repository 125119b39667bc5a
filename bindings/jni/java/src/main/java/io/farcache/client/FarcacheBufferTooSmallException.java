package io.farcache.client;

/** The value does not fit into the buffer that was given for it, which is unchanged. */
public class FarcacheBufferTooSmallException extends FarcacheArgumentException {
    private static final long serialVersionUID = 1L;

    /** How long the value is. */
    private final long valueBytes;

    FarcacheBufferTooSmallException(String message, long valueBytes) {
        super(Status.BUFFER_TOO_SMALL, message);
        this.valueBytes = valueBytes;
    }

    /**
     * How long the value is.
     *
     * @return in bytes
     */
    public long valueBytes() {
        return valueBytes;
    }
}
