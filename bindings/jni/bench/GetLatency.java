import io.farcache.client.FarcacheClient;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;

/**
 * How long one GET after the other takes: GetLatency SERVER TRANSPORT BYTES COUNT MEMORY.
 *
 * <p>Memory is "direct", "registered", "array", or "future" (direct, and a wait for its future).
 * One line: median and 99th percentile in nanoseconds.
 */
public final class GetLatency {
    private static final int WARM_UP = 20_000;
    private static final int LARGE_BYTES = 100_000;

    public static void main(String[] arguments) throws Exception {
        int bytes = Integer.parseInt(arguments[2]);
        int count = Integer.parseInt(arguments[3]);
        String memory = arguments[4];
        try (FarcacheClient client =
                FarcacheClient.builder(arguments[0]).transport(arguments[1]).build()) {
            client.set("key", new byte[bytes], 0);
            ByteBuffer room = memory.equals("registered") ? client.allocate(bytes).buffer()
                    : ByteBuffer.allocateDirect(bytes);
            measure(client, memory, room, bytes < LARGE_BYTES ? WARM_UP : count);
            long[] times = measure(client, memory, room, count);
            Arrays.sort(times);
            System.out.println(times[count / 2] + " " + times[(int) (count * 0.99)]);
        }
    }

    private static long[] measure(FarcacheClient client, String memory, ByteBuffer room, int count)
            throws Exception {
        long[] times = new long[count];
        for (int index = 0; index < count; index++) {
            long start = System.nanoTime();
            int length = get(client, memory, room);
            times[index] = System.nanoTime() - start;
            if (length != room.capacity()) {
                throw new IllegalStateException("a value of " + length + " bytes");
            }
        }
        return times;
    }

    private static int get(FarcacheClient client, String memory, ByteBuffer room) throws Exception {
        switch (memory) {
            case "array":
                return client.get("key").length;
            case "future":
                CompletableFuture<Integer> future = client.async().get("key", room);
                return future.get();
            default:
                return client.get("key", room);
        }
    }
}
