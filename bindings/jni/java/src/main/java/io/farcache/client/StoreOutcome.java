package io.farcache.client;

/** What became of a value to store. */
public enum StoreOutcome {
    /** It is stored. */
    STORED,
    /** The condition of its {@link StoreMode} did not hold. */
    NOT_STORED,
    /** The item has another CAS token, or the key is there already. */
    EXISTS,
    /** There is no such key, and a CAS token was given. */
    NOT_FOUND
}
