package io.farcache.ycsb;

import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;

/**
 * A record's fields as one value: for each the length of its name, the name, the length of its
 * value, the value. Lengths are of 7 bits a byte, the lowest first, the top bit set where more
 * follow.
 */
final class Fields {
    private static final int BITS = 7;
    private static final int MORE = 1 << BITS;
    private static final int BITS_MAX = 31;

    private Fields() {
    }

    static byte[] encode(Map<String, byte[]> fields) {
        int room = 0;
        for (Map.Entry<String, byte[]> field : fields.entrySet()) {
            room += field.getKey().length() + field.getValue().length + 4;
        }
        ByteArrayOutputStream encoded = new ByteArrayOutputStream(room);
        for (Map.Entry<String, byte[]> field : fields.entrySet()) {
            put(encoded, field.getKey().getBytes(StandardCharsets.UTF_8));
            put(encoded, field.getValue());
        }
        return encoded.toByteArray();
    }

    private static void put(ByteArrayOutputStream encoded, byte[] bytes) {
        int length = bytes.length;
        while (length >= MORE) {
            encoded.write(length % MORE | MORE);
            length /= MORE;
        }
        encoded.write(length);
        encoded.write(bytes, 0, bytes.length);
    }

    /** All fields; IllegalArgumentException where these are none. */
    static Map<String, byte[]> decode(byte[] encoded) {
        ByteBuffer left = ByteBuffer.wrap(encoded);
        Map<String, byte[]> fields = new LinkedHashMap<>();
        try {
            while (left.hasRemaining()) {
                String name = new String(take(left), StandardCharsets.UTF_8);
                fields.put(name, take(left));
            }
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("not the fields of a record", e);
        }
        return fields;
    }

    private static byte[] take(ByteBuffer left) {
        int length = 0;
        for (int shift = 0; ; shift += BITS) {
            int next = left.get();
            if (shift + BITS > BITS_MAX) {
                throw new IllegalArgumentException("a length that cannot be");
            }
            length |= (next & MORE - 1) << shift;
            if ((next & MORE) == 0) {
                break;
            }
        }
        if (length > left.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] bytes = new byte[length];
        left.get(bytes);
        return bytes;
    }

    /** Gives YCSB the fields that it wants: all where it names none. */
    static void hand(byte[] encoded, Set<String> wanted, Map<String, ByteIterator> result) {
        decode(encoded).forEach((name, value) -> {
            if (wanted == null || wanted.contains(name)) {
                result.put(name, new ByteArrayByteIterator(value));
            }
        });
    }

    /** YCSB's fields, with those that were there before. */
    static Map<String, byte[]> of(byte[] before, Map<String, ByteIterator> values) {
        Map<String, byte[]> fields = before == null ? new LinkedHashMap<>() : decode(before);
        values.forEach((name, value) -> fields.put(name, value.toArray()));
        return fields;
    }
}
