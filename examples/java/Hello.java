import io.farcache.client.FarcacheClient;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Values stored and got, one at a time, several at once and without waiting. */
final class Hello {
    private Hello() {
    }

    public static void main(String[] arguments) {
        String servers = arguments.length > 0 ? arguments[0] : "127.0.0.1:11211";
        try (FarcacheClient client = FarcacheClient.builder(servers).build()) {
            client.set("greeting", "hello".getBytes(StandardCharsets.UTF_8), 60);
            byte[] value = client.get("greeting");                        // null where it is absent

            client.set("one", new byte[1], 60);
            client.set("other", new byte[2], 60);
            Map<String, byte[]> several = client.getAll(Arrays.asList("one", "other", "absent"));

            CompletableFuture<byte[]> one = client.async().get("one");    // begins at once
            CompletableFuture<byte[]> other = client.async().get("other");
            int bytes = one.thenCombine(other, (a, b) -> a.length + b.length).join();

            System.out.println(new String(value, StandardCharsets.UTF_8) + ", " + several.size()
                    + " of 3, " + bytes + " bytes");
            String lanes = client.lanes(0);                               // empty: a socket
            System.out.println("over " + (lanes.isEmpty() ? "a socket" : lanes));
        }
    }
}
