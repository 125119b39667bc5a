package io.farcache.client;

/** A value with what is stored beside it. */
public final class Item {
    private final byte[] value;
    private final int flags;
    private final long cas;

    Item(byte[] value, int flags, long cas) {
        this.value = value;
        this.flags = flags;
        this.cas = cas;
    }

    /**
     * The value.
     *
     * @return the item's own array
     */
    public byte[] value() {
        return value;
    }

    /**
     * The application's number, as stored.
     *
     * @return an unsigned number of 32 bits
     */
    public int flags() {
        return flags;
    }

    /**
     * The item's CAS token, for {@link StoreOptions#withCas}.
     *
     * @return a number that changes with every change of the item
     */
    public long cas() {
        return cas;
    }
}
