package io.farcache.client;

/** The server cannot be reached, or was lost: see {@link #mayHaveBeenCarriedOut()}. */
public class FarcacheConnectionException extends FarcacheException {
    private static final long serialVersionUID = 1L;

    FarcacheConnectionException(Status status, String message) {
        super(status, message);
    }
}
