package io.farcache.client;

/** The call cannot work as it is: a bad key, a bad setting, no servers. */
public class FarcacheArgumentException extends FarcacheException {
    private static final long serialVersionUID = 1L;

    FarcacheArgumentException(Status status, String message) {
        super(status, message);
    }
}
