package io.farcache.client;

/**
 * Why an operation failed. What memcached answers in the ordinary course of things (no such key,
 * not stored, exists) is no exception but a result.
 */
public class FarcacheException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** How it ended. */
    private final Status status;

    FarcacheException(Status status, String message) {
        super(message);
        this.status = status;
    }

    /**
     * How the operation ended.
     *
     * @return never {@link Status#OK}
     */
    public Status status() {
        return status;
    }

    /**
     * Whether the operation may have been carried out although it failed: it was sent, and no
     * answer came.
     *
     * @return true where nobody knows, false where it surely has not
     */
    public boolean mayHaveBeenCarriedOut() {
        switch (status) {
            case TIMEOUT:
            case CONNECTION_LOST:
            case PROTOCOL:
            case CLOSED:
                return true;
            default:
                return false;
        }
    }

    /** The exception of the class that goes with a status. */
    static FarcacheException of(Status status, String message, long valueBytes) {
        switch (status) {
            case TIMEOUT:
                return new FarcacheTimeoutException(message);
            case SERVER_DEAD:
            case CONNECT:
            case CONNECTION_LOST:
            case FABRIC_UNAVAILABLE:
                return new FarcacheConnectionException(status, message);
            case AUTH_FAILED:
                return new FarcacheAuthenticationException(message);
            case BUFFER_TOO_SMALL:
                return new FarcacheBufferTooSmallException(message, valueBytes);
            case INVALID_KEY:
            case INVALID_ARGUMENTS:
            case NO_SERVERS:
            case CONFIGURATION:
                return new FarcacheArgumentException(status, message);
            case CLOSED:
                return new FarcacheClosedException();
            case BUSY:
            case NOT_FOUND:
            case MISSING_CHUNK:
            case DAMAGED:
            case REPLACED:
                return new FarcacheException(status, message);
            default:
                return new FarcacheServerException(status, message);
        }
    }
}
