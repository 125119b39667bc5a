package io.farcache.client;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A direct buffer whose memory the network knows. Large values in it are sent and received without
 * being registered each time; there is nothing else to say at an operation. Made by {@link
 * FarcacheClient#allocate}.
 */
public final class RegisteredBuffer implements AutoCloseable {
    private final Handles handles;
    private final ByteBuffer memory;
    private final Map<NativeClient, Long> registrations = new LinkedHashMap<>();

    RegisteredBuffer(Handles handles, ByteBuffer memory) {
        this.handles = handles;
        this.memory = memory;
    }

    void registerWith(NativeClient client) {
        registrations.put(client, client.register(memory));
    }

    /**
     * The memory. Parts of it ({@link ByteBuffer#slice}, {@link ByteBuffer#duplicate}) are as good.
     *
     * @return always the same buffer
     */
    public ByteBuffer buffer() {
        return memory;
    }

    /**
     * Ends the registration; the buffer stays usable. Closing the client does it too.
     *
     * @throws FarcacheException {@link Status#BUSY}, and it stays registered, while an operation
     *     uses it
     */
    @Override
    public void close() {
        synchronized (handles) {
            registrations.entrySet().removeIf(each -> each.getKey().unregister(each.getValue()));
            if (!registrations.isEmpty()) {
                throw FarcacheException.of(Status.BUSY, "an operation uses the buffer", 0);
            }
            handles.forget(this);
        }
    }
}
