package io.farcache.client;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static io.farcache.client.Checks.patient;
import static io.farcache.client.Checks.pattern;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Files as chunks. */
class BlobsTest {
    private static final int BYTES = 700_001;
    private static final byte[] CONTENT = pattern(BYTES);

    private static void write(FarcacheBlobs blobs, String name) {
        try (BlobWriter writer = blobs.create(name)) {
            writer.write(CONTENT, 0, 10);
            writer.write(ByteBuffer.wrap(CONTENT, 10, 90));
            ByteBuffer direct = ByteBuffer.allocateDirect(300_000);
            direct.put(CONTENT, 100, 300_000).flip();
            writer.write(direct);
            writer.flush();
            writer.write(CONTENT, 300_100, BYTES - 300_100);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"tcp", "fabric"})
    void whatIsWrittenIsRead(String transport) throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).transport(transport).build();
                FarcacheBlobs blobs = client.blobs(100_000, 300_000, 0)) {
            write(blobs, "b");
            try (BlobReader reader = blobs.open("b")) {
                assertEquals(BYTES, reader.length());
                byte[] all = new byte[BYTES + 10];
                assertEquals(BYTES, reader.read(0, all, 5, BYTES + 5));
                assertArrayEquals(CONTENT, Arrays.copyOfRange(all, 5, BYTES + 5));
                ByteBuffer direct = ByteBuffer.allocateDirect(1000);
                direct.position(100);
                assertEquals(900, reader.read(500_000, direct));
                byte[] part = new byte[900];
                direct.get(part);
                assertArrayEquals(Arrays.copyOfRange(CONTENT, 500_000, 500_900), part);
                assertEquals(1, reader.read(BYTES - 1, ByteBuffer.wrap(part)));
                assertEquals(0, reader.read(BYTES, part, 0, 1));
                assertThrows(IndexOutOfBoundsException.class, () -> reader.read(-1, part, 0, 1));
                assertThrows(IndexOutOfBoundsException.class, () -> reader.read(0, part, 900, 1));
            }
            assertTrue(blobs.remove("b"));
            assertFalse(blobs.remove("b"));
            assertNull(blobs.open("b"));
        }
    }

    @Test
    void aReaderHoldsWhatItHasReadUntilItIsToldToLetGo() throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).build();
                FarcacheBlobs blobs = client.blobs(100_000, 300_000, 0)) {
            write(blobs, "b");
            byte[] part = new byte[1000];
            try (BlobReader reader = blobs.open("b")) {
                assertEquals(part.length, reader.read(0, part, 0, part.length));
                reader.unbuffer();
                assertEquals(part.length, reader.read(0, part, 0, part.length));
                server.kill();
                assertEquals(part.length, reader.read(50_000, part, 0, part.length));
                assertArrayEquals(Arrays.copyOfRange(CONTENT, 50_000, 51_000), part);
                reader.unbuffer();
                assertThrows(FarcacheException.class, () -> reader.read(0, part, 0, 1));
            }
        }
    }

    @Test
    void aReaderTellsWhichServersHaveWhat() throws Exception {
        try (TestServer one = new TestServer(); TestServer other = new TestServer();
                FarcacheClient client = patient(one.address() + "," + other.address())
                        .option("blob-redundancy", "replicate:2").build();
                FarcacheBlobs blobs = client.blobs(100_000, 0, 0)) {
            write(blobs, "b");
            assertEquals(one.address(), client.serverName(0));
            assertEquals(other.address(), client.serverName(1));
            assertEquals("", client.serverName(2));
            try (BlobReader reader = blobs.open("b")) {
                assertArrayEquals(new long[] {BYTES, BYTES, 0},
                        reader.bytesOnServers(0, Long.MAX_VALUE, 3));
                assertArrayEquals(new long[] {1}, reader.bytesOnServers(BYTES - 1, 9, 1));
                assertThrows(IndexOutOfBoundsException.class,
                        () -> reader.bytesOnServers(0, -1, 2));
            }
        }
    }

    @Test
    void aBlobIsThereOnceItIsClosedAndNotWhenItIsGivenUp() throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).build();
                FarcacheBlobs blobs = client.blobs(0, 0, 0)) {
            BlobWriter given = blobs.create("b");
            given.write(CONTENT, 0, BYTES);
            assertNull(blobs.open("b"));
            given.abort();
            given.close();
            assertNull(blobs.open("b"));
            assertThrows(FarcacheClosedException.class, () -> given.write(CONTENT, 0, 1));
            write(blobs, "b");
            BlobReader former = blobs.open("b");
            write(blobs, "b");
            FarcacheException replaced = assertThrows(FarcacheException.class,
                    () -> former.read(0, new byte[1], 0, 1));
            assertEquals(Status.REPLACED, replaced.status());
            former.close();
            assertThrows(FarcacheClosedException.class, () -> former.read(0, new byte[1], 0, 1));
        }
    }

    @Test
    void whatCannotBeIsAnException() throws Exception {
        try (TestServer server = new TestServer();
                FarcacheClient client = patient(server.address()).build();
                FarcacheBlobs blobs = client.blobs(100_000, 0, 0)) {
            for (String name : new String[] {"", "a b", "a\0b"}) {
                assertThrows(FarcacheArgumentException.class, () -> blobs.create(name));
            }
            assertThrows(FarcacheArgumentException.class, () -> client.blobs((1 << 30) + 1, 0, 0));
            write(blobs, "b");
            BlobWriter writer = blobs.create("c");
            BlobReader reader = blobs.open("b");
            server.kill();
            assertThrows(FarcacheException.class, () -> reader.read(0, new byte[1], 0, 1));
            assertThrows(FarcacheException.class, () -> {
                writer.write(CONTENT, 0, BYTES);
                writer.close();
            });
            reader.close();
            blobs.close();
            assertThrows(FarcacheClosedException.class, () -> blobs.open("b"));
        }
    }
}
