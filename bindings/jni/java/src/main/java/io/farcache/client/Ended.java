package io.farcache.client;

/** How an operation has ended, and what it has brought. */
final class Ended {
    final Status status;
    final long valueBytes;
    final long cas;
    /** Flags, or the number that was counted to. */
    final long extra;
    /** What the native method returns; null where there is nothing. */
    final Object value;
    /** Of each item of a multi-get CAS token, flags and status. */
    final long[] items;
    /** Why it failed; null where it did not, or where the native side has not been asked. */
    private final String message;

    Ended(long status, long valueBytes, long cas, long extra, Object value, long[] items,
            String message) {
        this.status = Status.of(status);
        this.valueBytes = valueBytes;
        this.cas = cas;
        this.extra = extra;
        this.value = value;
        this.items = items;
        this.message = message;
    }

    /** Whether it did what was asked; an exception unless it did or ended with one of these. */
    boolean isDone(Status... otherwise) {
        if (status == Status.OK) {
            return true;
        }
        for (Status expected : otherwise) {
            if (status == expected) {
                return false;
            }
        }
        throw FarcacheException.of(status, message, valueBytes);
    }

    boolean isFound() {
        // Looked at without an array of what is expected.
        return status == Status.OK || (status != Status.NOT_FOUND && isDone());
    }

    /** What became of a value. */
    StoreOutcome stored() {
        if (isDone(Status.NOT_STORED, Status.EXISTS, Status.NOT_FOUND)) {
            return StoreOutcome.STORED;
        }
        switch (status) {
            case EXISTS:
                return StoreOutcome.EXISTS;
            case NOT_FOUND:
                return StoreOutcome.NOT_FOUND;
            default:
                return StoreOutcome.NOT_STORED;
        }
    }

    /** Nothing; an exception where it did not do what was asked. */
    Void done() {
        isDone();
        return null;
    }
}
