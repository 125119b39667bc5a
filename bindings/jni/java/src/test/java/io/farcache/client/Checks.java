package io.farcache.client;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** What tests share. */
final class Checks {
    private static final AtomicLong KEYS = new AtomicLong();

    private Checks() {
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** So many bytes that repeat nowhere near. */
    static byte[] pattern(int length) {
        byte[] value = new byte[length];
        for (int index = 0; index < length; index++) {
            value[index] = (byte) (index * 31 + (index >>> 8) * 17 + (index >>> 16));
        }
        return value;
    }

    /** A key that no other test uses. */
    static String key() {
        return "java-" + KEYS.incrementAndGet();
    }

    /** A client with time for a busy machine. */
    static FarcacheClient.Builder patient(String servers) {
        Duration patience = Duration.ofSeconds(TestServer.PATIENCE_SECONDS);
        return FarcacheClient.builder(servers).timeout(patience).connectTimeout(patience);
    }

    static <T> T soon(CompletableFuture<T> future) throws Exception {
        return future.get(2 * TestServer.PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** Why a future failed. */
    static <E extends Throwable> E failure(Class<E> expected, CompletableFuture<?> future) {
        Throwable thrown = assertThrows(ExecutionException.class, () -> soon(future)).getCause();
        return assertThrows(expected, () -> {
            throw thrown;
        });
    }

    static void eventually(BooleanSupplier condition, String what) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TestServer.PATIENCE_SECONDS);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, what);
            Thread.sleep(5);
        }
    }
}
