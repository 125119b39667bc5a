package io.farcache.client;

/** What can be waited for, or have its end told. It keeps what it lends. */
abstract class Operation<T> {
    /** Of a multi-get: where its items' numbers go while somebody waits. */
    long[] items() {
        return null;
    }

    /** Calls the native method. */
    abstract Object carryOut(long client, Pending<?> pending, long[] outcome);

    /** What the application gets; or throws what it gets thrown. */
    abstract T result(Ended ended);
}
