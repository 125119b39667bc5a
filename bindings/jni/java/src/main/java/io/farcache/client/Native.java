package io.farcache.client;

import java.nio.ByteBuffer;

/**
 * The native methods, on top of libfarcache. All operations share their first and last arguments:
 *
 * <p>{@code pending} is told the end of an operation that nobody waits for; where it is null, the
 * call waits. {@code outcome} takes four numbers: status, length of the value, CAS token, flags or
 * the number counted to; of an operation that has only begun, the status and its number for {@link
 * #giveUp}. Handles, places and lengths are checked before. Less than 0 in place of a handle is a
 * status, negated, and {@link #message} says more.
 */
final class Native {
    static final int TOUCH = 0;
    static final int DELETE = 1;
    static final int INCREMENT = 2;
    static final int DECREMENT = 3;

    static final int VERSION = 0;
    static final int NOOP = 1;
    static final int FLUSH = 2;
    static final int STATISTICS = 3;

    static {
        NativeLibrary.load();
    }

    private Native() {
    }

    /** Options are names and values in turn. */
    static native long open(String servers, String[] options);

    static native void close(long client);

    static native boolean giveUp(long client, long operation);

    static native String message();

    static native String statusText(int status);

    static native String version();

    static native int servers(long client);

    static native long serverOfKey(long client, byte[] key);

    static native String serverName(long client, int server);

    static native String lanes(long client, int server);

    static native long register(long client, ByteBuffer direct, int bytes);

    static native boolean unregister(long registration);

    /**
     * Less than 0 for {@code touch} keeps the expiry; a null {@code room} has an array returned.
     */
    static native Object get(long client, Pending<?> pending, byte[] key, long touch,
            ByteBuffer room, int offset, int bytes, long[] outcome);

    /** {@code items} takes three numbers for each key: CAS token, flags, status. */
    static native Object getMany(long client, Pending<?> pending, byte[][] keys, long[] outcome,
            long[] items);

    static native void store(long client, Pending<?> pending, int mode, byte[] key, byte[] array,
            ByteBuffer direct, int offset, int bytes, int expirySeconds, int flags, long cas,
            long[] outcome);

    static native void change(long client, Pending<?> pending, int kind, byte[] key, long delta,
            long initial, boolean hasInitial, int expirySeconds, long cas, long[] outcome);

    /** Texts: the version, or names and values of statistics in turn. */
    static native Object ask(long client, Pending<?> pending, int kind, int server, String group,
            int delaySeconds, long[] outcome);
}
