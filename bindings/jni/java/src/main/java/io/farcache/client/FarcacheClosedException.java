package io.farcache.client;

/** The client has been closed, before the call or while the operation was under way. */
public class FarcacheClosedException extends FarcacheException {
    private static final long serialVersionUID = 1L;

    FarcacheClosedException() {
        super(Status.CLOSED, "the client is closed");
    }
}
