package io.farcache.client;

/** What goes with a value to store. Does not change; what changes something makes another one. */
public final class StoreOptions {
    /** For ever, flags 0, whatever the CAS token. */
    public static final StoreOptions DEFAULT = new StoreOptions(0, 0, 0);

    final int expirySeconds;
    final int flags;
    final long cas;

    private StoreOptions(int expirySeconds, int flags, long cas) {
        this.expirySeconds = expirySeconds;
        this.flags = flags;
        this.cas = cas;
    }

    /**
     * With an expiry.
     *
     * @param seconds up to 30 days from now, above that since 1970, 0 for ever; as an unsigned
     *     number of 32 bits
     * @return the options
     */
    public static StoreOptions expiry(int seconds) {
        return seconds == 0 ? DEFAULT : new StoreOptions(seconds, 0, 0);
    }

    /**
     * The same with a number of the application's.
     *
     * @param number stored with the value; as an unsigned number of 32 bits
     * @return other options
     */
    public StoreOptions withFlags(int number) {
        return new StoreOptions(expirySeconds, number, cas);
    }

    /**
     * The same, to be stored only where the item has this CAS token.
     *
     * @param token from {@link Item#cas}; 0 for no such condition
     * @return other options
     */
    public StoreOptions withCas(long token) {
        return new StoreOptions(expirySeconds, flags, token);
    }
}
