package io.farcache.client;

/** The server wants other credentials, or any. */
public class FarcacheAuthenticationException extends FarcacheException {
    private static final long serialVersionUID = 1L;

    FarcacheAuthenticationException(String message) {
        super(Status.AUTH_FAILED, message);
    }
}
