package io.farcache.client;

/** In which case a value is stored. */
public enum StoreMode {
    /** In any case. */
    SET,
    /** Where the key is absent. */
    ADD,
    /** Where the key is present. */
    REPLACE,
    /** Behind the value that is there, which keeps its flags and its expiry. */
    APPEND,
    /** In front of the value that is there. */
    PREPEND
}
