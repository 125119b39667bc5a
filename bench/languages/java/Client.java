import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import net.spy.memcached.ClientMode;
import net.spy.memcached.KetamaConnectionFactory;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.OperationTimeoutException;
import net.spy.memcached.config.NodeEndPoint;
import net.spy.memcached.internal.CheckedOperationTimeoutException;

/**
 * One of the six clients of scripts/bench-cluster languages: Java, ElastiCache's cluster client, which finds the servers itself and has
 * spymemcached's ketama, another ring than libmemcached's. What all of them do is told in bench/README.md.
 */
final class Client {
  private static final long TIMEOUT_MS = 2500;

  /** What was done in a part of the time. */
  private static final class Part {
    int reads;
    int hits;
    int updates;
    int wrong;
    int stale;
    int failed;
    final List<Long> latenciesUs = new ArrayList<>();

    String told() {
      StringBuilder line = new StringBuilder("part");
      for (int count : new int[] {reads, hits, updates, wrong, stale, failed}) {
        line.append(' ').append(count);
      }
      latenciesUs.forEach(latency -> line.append(' ').append(latency));
      return line.toString();
    }
  }

  private final String name;
  private final int valueBytes;
  /** Of each key, the version given to it last, and the last one whose write was acknowledged. */
  private final int[] given;
  private final int[] acknowledged;
  private final MemcachedClient client;
  private int servers;

  private Client(String name, InetSocketAddress endpoint, int keys, int valueBytes, long pollMs) throws IOException {
    this.name = name;
    this.valueBytes = valueBytes;
    given = new int[keys];
    acknowledged = new int[keys];
    client = new MemcachedClient(new KetamaConnectionFactory() {
      @Override
      public ClientMode getClientMode() {
        return ClientMode.Dynamic;
      }

      @Override
      public long getDynamicModePollingInterval() {
        return pollMs;
      }

      @Override
      public long getOperationTimeout() {
        return TIMEOUT_MS;
      }
    }, Collections.singletonList(endpoint));
  }

  /** Tells of another number of servers. */
  private void lookAtServers() {
    int now = client.getAllNodeEndPoints().size();
    if (now != servers) {
      servers = now;
      System.out.println("servers " + now);
      System.out.flush();
    }
  }

  private String key(int number) {
    return name + ":" + number;
  }

  /** A call of the client. */
  private interface Call<T> {
    T make() throws Exception;
  }

  /**
   * Makes a call, and makes it again if it has timed out at a server that is on the list no more: of such a server the client gives to others
   * only what it had not sent yet (MemcachedConnection.shutdownNode), and whoever waits for a reply waits in vain.
   */
  private <T> T atLeastOnce(Call<T> call) throws Exception {
    try {
      return call.make();
    } catch (OperationTimeoutException | TimeoutException error) {
      if (!isForgotten(error)) {
        throw error;
      }
      System.err.println(name + ": forgotten when a server left the list, and asked again");
      return call.make();
    }
  }

  private boolean isForgotten(Exception error) {
    Throwable told = error instanceof OperationTimeoutException ? error.getCause() : error;
    if (!(told instanceof CheckedOperationTimeoutException)) {
      return false;
    }
    Set<Integer> ports = client.getAllNodeEndPoints().stream().map(NodeEndPoint::getPort).collect(Collectors.toSet());
    return ((CheckedOperationTimeoutException) told).getOperations().stream()
        .map(operation -> ((InetSocketAddress) operation.getHandlingNode().getSocketAddress()).getPort())
        .noneMatch(ports::contains);
  }

  /** Stores the key's next version; whether that was acknowledged. */
  private boolean store(int number) {
    int version = ++given[number];
    StringBuilder value = new StringBuilder(key(number)).append(' ').append(version).append(' ');
    while (value.length() < valueBytes) {
      value.append('.');
    }
    try {
      if (atLeastOnce(() -> client.set(key(number), 0, value.toString()).get(TIMEOUT_MS, TimeUnit.MILLISECONDS))) {
        acknowledged[number] = version;
        return true;
      }
    } catch (Exception error) {
      System.err.println(name + ": set: " + error);
    }
    return false;
  }

  private void read(Part part, int number, long startNs) {
    part.reads++;
    Object value;
    try {
      value = atLeastOnce(() -> client.get(key(number)));
    } catch (Exception error) {
      System.err.println(name + ": get: " + error);
      part.failed++;
      return;
    }
    part.latenciesUs.add((System.nanoTime() - startNs) / 1000);
    if (value != null) {
      part.hits++;
      judge(part, number, value.toString());
    } else if (!store(number)) {
      part.failed++;
    }
  }

  /** Counts a value that nobody has stored under this key, and one that is older than what was acknowledged. */
  private void judge(Part part, int number, String value) {
    String[] words = value.split(" ", -1);
    boolean isRight = value.length() == valueBytes && words.length == 3 && words[0].equals(key(number)) && words[1].matches("[0-9]{1,9}")
        && words[2].matches("\\.*") && Integer.parseInt(words[1]) <= given[number];
    if (!isRight) {
      part.wrong++;
    } else if (Integer.parseInt(words[1]) < acknowledged[number]) {
      part.stale++;
    }
  }

  /** Waits until then; whether there was anything to wait for. */
  private static boolean sleepUntil(long thenNs) {
    boolean hasSlept = false;
    for (long left = thenNs - System.nanoTime(); left > 0; left = thenNs - System.nanoTime()) {
      LockSupport.parkNanos(left);
      hasSlept = true;
    }
    return hasSlept;
  }

  private List<Part> run(List<String> operations, long rate, long partMs) {
    List<Part> parts = new ArrayList<>();
    long startNs = System.nanoTime();
    for (int index = 0; index < operations.size(); index++) {
      String[] operation = operations.get(index).split(" ");
      long dueNs = startNs + index * 1_000_000_000L / rate;
      // Who had time to sleep is not charged with a timer that was late.
      long fromNs = sleepUntil(dueNs) ? System.nanoTime() : dueNs;
      int at = (int) (index * 1000L / rate / partMs);
      if (at == parts.size()) {
        parts.add(new Part());
      }
      Part part = parts.get(at);
      lookAtServers();
      int number = Integer.parseInt(operation[1]);
      if (operation[0].equals("r")) {
        read(part, number, fromNs);
      } else {
        part.updates++;
        part.failed += store(number) ? 0 : 1;
      }
    }
    return parts;
  }

  public static void main(String[] words) throws Exception {
    System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SunLogger");
    Logger.getLogger("net.spy.memcached").setLevel(Level.SEVERE);
    String[] endpoint = words[1].split(":");
    List<String> operations = Files.readAllLines(Paths.get(words[2]));
    int keys = Integer.parseInt(words[3]);
    Client client = new Client(words[0], new InetSocketAddress(endpoint[0], Integer.parseInt(endpoint[1])), keys, Integer.parseInt(words[4]),
        Long.parseLong(words[7]));
    client.lookAtServers();
    for (int number = 0; number < keys; number++) {
      if (!client.store(number)) {
        throw new IllegalStateException("not all keys could be stored");
      }
    }
    System.out.println("ready");
    System.out.flush();
    if (new BufferedReader(new InputStreamReader(System.in)).readLine() != null) {
      client.run(operations, Long.parseLong(words[5]), Long.parseLong(words[6])).forEach(part -> System.out.println(part.told()));
      System.out.println("end");
    }
    System.exit(0);
  }
}
