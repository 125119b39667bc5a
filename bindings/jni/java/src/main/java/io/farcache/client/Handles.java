package io.farcache.client;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The native clients of one {@link FarcacheClient}: one whose operations are waited for, moved by
 * the threads that wait, and one whose ends are told, moved by a thread of its own. So a call that
 * waits shares nothing with what tells ends. The second is made when it is first wanted.
 */
final class Handles {
    private final String servers;
    private final Map<String, String> options;
    final NativeClient waiting;
    private volatile NativeClient telling;
    private boolean closed;
    private final List<RegisteredBuffer> buffers = new ArrayList<>();

    Handles(String servers, Map<String, String> options) {
        this.servers = servers;
        this.options = new TreeMap<>(options);
        this.waiting = new NativeClient(servers, with("off"));
    }

    private Map<String, String> with(String progressThread) {
        Map<String, String> all = new TreeMap<>(options);
        all.put("progress-thread", progressThread);
        return all;
    }

    NativeClient telling() {
        NativeClient there = telling;
        return there != null ? there : makeTelling();
    }

    private synchronized NativeClient makeTelling() {
        if (closed) {
            throw new FarcacheClosedException();
        }
        if (telling == null) {
            NativeClient made = new NativeClient(servers, with("on"));
            for (RegisteredBuffer buffer : buffers) {
                buffer.registerWith(made);
            }
            telling = made;
        }
        return telling;
    }

    synchronized RegisteredBuffer register(ByteBuffer memory) {
        if (closed) {
            throw new FarcacheClosedException();
        }
        RegisteredBuffer buffer = new RegisteredBuffer(this, memory);
        buffer.registerWith(waiting);
        if (telling != null) {
            buffer.registerWith(telling);
        }
        buffers.add(buffer);
        return buffer;
    }

    synchronized void forget(RegisteredBuffer buffer) {
        buffers.remove(buffer);
    }

    synchronized boolean isClosed() {
        return closed;
    }

    void close() {
        NativeClient told;
        synchronized (this) {
            closed = true;
            told = telling;
            buffers.clear();
        }
        waiting.close();
        if (told != null) {
            told.close();
        }
    }
}
