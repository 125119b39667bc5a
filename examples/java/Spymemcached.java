import io.farcache.spymemcached.MemcachedClient;
import java.net.InetSocketAddress;
import java.util.Arrays;
import net.spy.memcached.MemcachedClientIF;

/** A program written for spymemcached; only the import of its client has changed. */
final class Spymemcached {
    private Spymemcached() {
    }

    public static void main(String[] arguments) throws Exception {
        MemcachedClientIF client = new MemcachedClient(new InetSocketAddress("127.0.0.1", 11211));
        client.set("key", 3600, Arrays.asList(1, 2, 3)).get();
        Object value = client.get("key");
        System.out.println("value " + value);
        client.shutdown();
    }
}
