package io.farcache.client;

/**
 * How an operation ended. The same as {@code farcache_status} of the C interface, in this order.
 */
public enum Status {
    /** It did what was asked. */
    OK,
    /** The operation is not complete. */
    IN_PROGRESS,
    /** There is no such key. */
    NOT_FOUND,
    /** The condition for storing did not hold: appending to a key that is absent, say. */
    NOT_STORED,
    /** The key is there already, or its item has another CAS token. */
    EXISTS,
    /** The value is larger than the server takes. */
    TOO_LARGE,
    /** The server has no memory for it. */
    OUT_OF_MEMORY,
    /** The value to count with is not a number. */
    NOT_NUMERIC,
    /** The value does not fit into the room that was given for it, which is unchanged. */
    BUFFER_TOO_SMALL,
    /** The key is empty, longer than 250 bytes, or has a space or a control character. */
    INVALID_KEY,
    /** The call makes no sense. */
    INVALID_ARGUMENTS,
    /** No answer in time. Whether it was carried out is unknown. */
    TIMEOUT,
    /** The server has failed lately and is not tried again yet. Nothing was sent. */
    SERVER_DEAD,
    /** The server could not be connected to. Nothing was sent. */
    CONNECT,
    /** The connection ended before the answer. Whether it was carried out is unknown. */
    CONNECTION_LOST,
    /** The server wants other credentials, or any. */
    AUTH_FAILED,
    /** The fabric was demanded and is not to be had. */
    FABRIC_UNAVAILABLE,
    /** The server does not know this operation. */
    UNSUPPORTED,
    /** The server answers what the protocol does not allow. */
    PROTOCOL,
    /** The server refused in a way that has no name here. */
    SERVER,
    /** The client has no servers. */
    NO_SERVERS,
    /** The client's settings cannot work. */
    CONFIGURATION,
    /** Something else still needs it, or too much is under way. */
    BUSY,
    /** A chunk of a blob is gone: evicted, or lost with its server. */
    MISSING_CHUNK,
    /** A chunk or the manifest of a blob is not what was written. */
    DAMAGED,
    /** The blob was overwritten or removed after it had been opened. */
    REPLACED,
    /**
     * The client has been closed. Whether an operation that was under way was carried out is
     * unknown.
     */
    CLOSED;

    /** The native side's number for {@link #CLOSED}, which the C interface does not have. */
    private static final int CLOSED_CODE = -1;
    private static final Status[] BY_CODE = values();

    static Status of(long code) {
        if (code == CLOSED_CODE) {
            return CLOSED;
        }
        return code >= 0 && code < CLOSED.ordinal() ? BY_CODE[(int) code] : SERVER;
    }

    int code() {
        return this == CLOSED ? CLOSED_CODE : ordinal();
    }
}
