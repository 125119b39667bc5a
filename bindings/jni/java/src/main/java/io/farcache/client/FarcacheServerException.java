package io.farcache.client;

/** The server refused: too large, no memory, not a number, unknown operation. */
public class FarcacheServerException extends FarcacheException {
    private static final long serialVersionUID = 1L;

    FarcacheServerException(Status status, String message) {
        super(status, message);
    }
}
