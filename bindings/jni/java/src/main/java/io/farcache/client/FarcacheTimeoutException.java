package io.farcache.client;

/** No answer in time. Whether the operation was carried out is unknown. */
public class FarcacheTimeoutException extends FarcacheException {
    private static final long serialVersionUID = 1L;

    FarcacheTimeoutException(String message) {
        super(Status.TIMEOUT, message);
    }
}
