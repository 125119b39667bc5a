package io.farcache.client;

import java.lang.ref.WeakReference;
import java.net.ServerSocket;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static io.farcache.client.Checks.bytes;
import static io.farcache.client.Checks.eventually;
import static io.farcache.client.Checks.failure;
import static io.farcache.client.Checks.patient;
import static io.farcache.client.Checks.pattern;
import static io.farcache.client.Checks.soon;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Clients that end, servers that end, threads, interrupts. */
class LifeTest {
    private static final int THREADS = 8;

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void aDeadServerIsAnExceptionAndNothingHangs(String transport) throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).transport(transport).build()) {
            client.set("a", bytes("x"), 0);
            soon(client.async().set("a", bytes("x"), 0));
            server.kill();
            assertThrows(FarcacheConnectionException.class, () -> client.get("a"));
            failure(FarcacheConnectionException.class, client.async().get("a"));
            FarcacheConnectionException thrown =
                    assertThrows(FarcacheConnectionException.class, () -> client.set("a",
                            bytes("x"), 0));
            assertFalse(thrown.mayHaveBeenCarriedOut(), thrown.toString());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void operationsThatAreUnderWayEndWithTheirServer(String transport) throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).transport(transport).build()) {
            soon(client.async().set("a", pattern(200_000), 0));
            server.freeze(true);
            List<CompletableFuture<?>> futures = new ArrayList<>();
            for (int index = 0; index < 20; index++) {
                futures.add(client.async().get("a"));
                futures.add(client.async().get("a", ByteBuffer.allocateDirect(200_000)));
                futures.add(client.async().set("b", ByteBuffer.allocateDirect(200_000), 0));
            }
            server.kill();
            for (CompletableFuture<?> future : futures) {
                failure(FarcacheConnectionException.class, future);
            }
        }
    }

    @Test
    void aServerThatIsSilentIsATimeout() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 10, InetAddress.getByName("127.0.0.1"));
                FarcacheClient client = FarcacheClient.builder("127.0.0.1:" + silent.getLocalPort())
                        .timeout(Duration.ofMillis(200)).connectTimeout(
                                Duration.ofMillis(100)).build()) {
            FarcacheException thrown = assertThrows(FarcacheException.class, () -> client.get("a"));
            assertTrue(thrown instanceof FarcacheTimeoutException
                    || thrown instanceof FarcacheConnectionException,
                    thrown.toString());
            failure(FarcacheException.class, client.async().get("a"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void closingEndsWhatIsUnderWay(String transport) throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client =
                        FarcacheClient.builder(server.address()).transport(transport)
                        .timeout(Duration.ofSeconds(3)).build()) {
            // Connected, so that what follows is under way and not waiting for that.
            eventually(() -> hasConnected(client), "it does not connect");
            server.freeze(true);
            Future<?> waiting = inThread(() -> assertThrows(FarcacheException.class,
                    () -> client.get("a")));
            List<CompletableFuture<?>> futures = new ArrayList<>();
            for (int index = 0; index < 100; index++) {
                futures.add(client.async().get("a"));
            }
            CompletableFuture<Integer> lent = client.async().get("a",
                    ByteBuffer.allocateDirect(200_000));
            client.close();
            for (CompletableFuture<?> future : futures) {
                assertTrue(future.isDone(), "it ends before the client is closed");
                assertEquals(Status.CLOSED, failure(FarcacheException.class, future).status());
            }
            failure(FarcacheException.class, lent);
            waiting.get(2 * TestServer.PATIENCE_SECONDS, TimeUnit.SECONDS);
            server.freeze(false);
        }
    }

    /** A busy machine may take longer than the short time limit. */
    private static boolean hasConnected(FarcacheClient client) {
        try {
            client.set("a", bytes("x"), 0);
            client.async().set("a", bytes("x"), 0).join();
            return true;
        } catch (FarcacheException | CompletionException e) {
            return false;
        }
    }

    @Test
    void aClosedClientRefusesEverything() throws Exception {
        try (TestServer server = new TestServer()) {
            FarcacheClient client = patient(server.address()).build();
            client.set("a", bytes("x"), 0);
            RegisteredBuffer buffer = client.allocate(100);
            FarcacheAsync async = client.async();
            client.close();
            client.close();
            assertThrows(FarcacheClosedException.class, () -> client.get("a"));
            assertThrows(FarcacheClosedException.class, () -> client.set("a", buffer.buffer(), 0));
            assertThrows(FarcacheClosedException.class, () -> async.get("a"));
            assertThrows(FarcacheClosedException.class, client::servers);
            assertThrows(FarcacheClosedException.class, () -> client.allocate(100));
            buffer.close();
            assertTrue(new FarcacheClosedException().mayHaveBeenCarriedOut());
        }
    }

    @Test
    void closingWhileManyThreadsUseItIsSafe() throws Exception {
        try (TestServer server = new TestServer()) {
            for (int round = 0; round < 8; round++) {
                FarcacheClient client = patient(server.address()).build();
                client.set("a", pattern(10_000), 0);
                List<Future<?>> threads = new ArrayList<>();
                for (int thread = 0; thread < THREADS; thread++) {
                    boolean waits = thread % 2 == 0;
                    threads.add(inThread(() -> assertThrows(FarcacheClosedException.class, () -> {
                        while (true) {
                            useOnce(client, waits);
                        }
                    })));
                }
                soon(client.async().get("a"));
                client.close();
                for (Future<?> thread : threads) {
                    thread.get(TestServer.PATIENCE_SECONDS, TimeUnit.SECONDS);
                }
            }
        }
    }

    /**
     * Gets a value, or begins to get several; whatever ends because of the close is thrown as such.
     */
    private static void useOnce(FarcacheClient client, boolean waits) throws Exception {
        if (waits) {
            assertArrayEquals(pattern(10_000), client.get("a"));
            return;
        }
        List<CompletableFuture<byte[]>> futures = new ArrayList<>();
        for (int index = 0; index < 8; index++) {
            futures.add(client.async().get("a"));
        }
        for (CompletableFuture<byte[]> future : futures) {
            try {
                assertArrayEquals(pattern(10_000), soon(future));
            } catch (ExecutionException e) {
                throw (Exception) e.getCause();
            }
        }
    }

    @Test
    void aClientMayBeClosedWhereAFutureEnds() throws Exception {
        try (TestServer server = new TestServer()) {
            FarcacheClient client = patient(server.address()).build();
            soon(client.async().set("a", bytes("x"), 0));
            CompletableFuture<Boolean> closed = client.async().get("a").thenApply(value -> {
                client.close();
                return true;
            });
            assertTrue(soon(closed));
            assertThrows(FarcacheClosedException.class, () -> client.get("a"));
        }
    }

    @Test
    void aForgottenClientIsClosed() throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient asked = patient(server.address()).build()) {
            int before = LeakWatch.open();
            WeakReference<FarcacheClient> forgotten = new WeakReference<>(use(server));
            eventually(() -> {
                System.gc();
                return forgotten.get() == null && LeakWatch.open() == before;
            }, "the client is not closed");
            // The connections are gone too: what is left are those of the one that asks.
            eventually(() -> asked.statistics(0, null).get("curr_connections").equals("2")
                    || asked.statistics(0, null).get("curr_connections").equals("1"),
                            "connections stay");
        }
    }

    private static FarcacheClient use(TestServer server) throws Exception {
        FarcacheClient client = patient(server.address()).build();
        client.set("a", bytes("x"), 0);
        client.allocate(100);
        soon(client.async().get("a"));
        return client;
    }

    @Test
    void manyThreadsShareAClient() throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).build()) {
            List<Future<?>> threads = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                int number = thread;
                threads.add(inThread(() -> {
                    ByteBuffer room = ByteBuffer.allocateDirect(40_000);
                    for (int turn = 0; turn < 200; turn++) {
                        String key = "thread-" + number + "-" + turn % 10;
                        byte[] value = pattern((number + 1) * (turn + 1) * 20);
                        client.set(key, value, 0);
                        assertArrayEquals(value, client.get(key));
                        soon(client.async().set(key, value, 0));
                        assertEquals(value.length, soon(client.async().get(key, room)));
                        byte[] got = new byte[value.length];
                        room.duplicate().get(got);
                        assertArrayEquals(value, got);
                    }
                    return null;
                }));
            }
            for (Future<?> thread : threads) {
                thread.get(3 * TestServer.PATIENCE_SECONDS, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void aWaitForAFutureCanBeInterruptedAndACallKeepsTheInterrupt() throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).build()) {
            client.set("a", bytes("x"), 0);
            Thread.currentThread().interrupt();
            assertArrayEquals(bytes("x"), client.get("a"));
            assertTrue(Thread.interrupted(), "the call keeps it");
            soon(client.async().get("a"));
            server.freeze(true);
            CompletableFuture<byte[]> future = client.async().get("a");
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, future::get);
            server.freeze(false);
            assertArrayEquals(bytes("x"), soon(future));
        }
    }

    @Test
    void aCancelledOperationIsGivenUpAndOthersGoOn() throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).build()) {
            soon(client.async().set("a", bytes("x"), 0));
            server.freeze(true);
            CompletableFuture<byte[]> cancelled = client.async().get("a");
            CompletableFuture<byte[]> other = client.async().get("a");
            assertTrue(cancelled.cancel(true));
            assertThrows(CancellationException.class, cancelled::get);
            server.freeze(false);
            assertArrayEquals(bytes("x"), soon(other));
            assertFalse(other.cancel(true));
        }
    }

    @Test
    void cancellingGivesBackWhatWasLent() throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = FarcacheClient.builder(server.address())
                        .timeout(Duration.ofSeconds(2)).build();
                RegisteredBuffer room = client.allocate(100_000)) {
            eventually(() -> hasConnected(client), "it does not connect");
            server.freeze(true);
            CompletableFuture<Integer> lent = client.async().get("a", room.buffer());
            assertEquals(Status.BUSY, assertThrows(FarcacheException.class, room::close).status());
            lent.cancel(true);
            room.close();
            server.freeze(false);
        }
    }

    @Test
    void whatDependsOnFuturesRunsInTheExecutor() throws Exception {
        ExecutorService executor = Executors.newSingleThreadExecutor(task -> new Thread(task,
                "the executor"));
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).executor(executor).build()) {
            soon(client.async().set("a", bytes("x"), 0));
            server.freeze(true);
            AtomicReference<Thread> ran = new AtomicReference<>();
            CompletableFuture<Void> seen =
                    client.async().get("a").thenAccept(value -> ran.set(Thread.currentThread()));
            server.freeze(false);
            soon(seen);
            assertEquals("the executor", ran.get().getName());
            assertNotEquals(Thread.currentThread(), ran.get());
            // An executor that takes nothing any more loses no end.
            executor.shutdown();
            assertArrayEquals(bytes("x"), soon(client.async().get("a")));
        } finally {
            executor.shutdownNow();
        }
    }

    @Test
    void settingsThatCannotWorkAreRefused() {
        for (String[] option : new String[][] {{"transport", "smoke"}, {"no-such-option", "1"},
                {"spin-us", "x"}}) {
            FarcacheArgumentException thrown = assertThrows(FarcacheArgumentException.class,
                    () -> FarcacheClient.builder("127.0.0.1:1").option(option[0],
                            option[1]).build());
            assertFalse(thrown.getMessage().isEmpty());
        }
        assertThrows(FarcacheArgumentException.class, () -> FarcacheClient.connect("host:99999"));
        assertThrows(NullPointerException.class, () -> FarcacheClient.connect(null));
    }

    @Test
    void theFabricIsDemandedInVainFromAServerWithoutIt() throws Exception {
        try (TestServer server = new TestServer("--fabric=off");
                FarcacheClient client = patient(server.address()).transport("fabric").build()) {
            FarcacheConnectionException thrown =
                    assertThrows(FarcacheConnectionException.class, () -> client.get("a"));
            assertSame(Status.FABRIC_UNAVAILABLE, thrown.status());
        }
    }

    private interface Task {
        Object run() throws Exception;
    }

    private static Future<?> inThread(Task task) {
        CompletableFuture<Object> done = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                done.complete(task.run());
            } catch (Throwable e) {
                done.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return done;
    }
}
