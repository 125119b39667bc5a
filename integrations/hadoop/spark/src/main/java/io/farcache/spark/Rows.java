package io.farcache.spark;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Rows that can be told from their number alone, so that each one read is known to be right. */
final class Rows {
    static final int DAYS = 4;
    static final int KINDS = 97;
    private static final int PARTITIONS = 4;
    private static final StructType SCHEMA = new StructType()
            .add("id", DataTypes.LongType, false).add("kind", DataTypes.LongType, false)
            .add("day", DataTypes.StringType, false).add("text", DataTypes.StringType, false);

    private Rows() {
    }

    static long kind(long id) {
        return id * 31 % KINDS;
    }

    static String day(long id) {
        return "day" + id % DAYS;
    }

    /** Nothing that compresses well. */
    static String text(long id, String salt) {
        long mixed = (id + salt.hashCode()) * 0x9E3779B97F4A7C15L;
        return salt + Long.toHexString(mixed) + Long.toHexString(mixed * mixed ^ id);
    }

    static Row row(long id, String salt) {
        return RowFactory.create(id, kind(id), day(id), text(id, salt));
    }

    /**
     * So many rows, made by tasks.
     *
     * @param salt tells them from other rows with these numbers
     */
    static Dataset<Row> make(SparkSession spark, long first, long count, String salt) {
        return spark.range(first, first + count, 1, PARTITIONS).map(
                (MapFunction<Long, Row>) id -> row(id, salt), Encoders.row(SCHEMA));
    }

    /** The same; the first attempt of each task fails when it has written half of its rows. */
    static Dataset<Row> makeFailing(SparkSession spark, long count, String salt) {
        long half = count / PARTITIONS / 2;
        return spark.range(0, count, 1, PARTITIONS).map((MapFunction<Long, Row>) id -> {
            boolean isHalf = id % (count / PARTITIONS) == half;
            if (isHalf && TaskContext.get().attemptNumber() == 0) {
                throw new IllegalStateException("this attempt is to fail");
            }
            return row(id, salt);
        }, Encoders.row(SCHEMA));
    }

    /** These rows are there, each once, and nothing else. */
    static void require(String what, Dataset<Row> rows, long first, long count, String salt) {
        List<Row> found = rows.select("id", "kind", "day", "text").collectAsList();
        if (found.size() != count) {
            throw new IllegalStateException(what + ": " + found.size() + " rows, not " + count);
        }
        Row[] sorted = found.toArray(new Row[0]);
        Arrays.sort(sorted, (one, other) -> Long.compare(one.getLong(0), other.getLong(0)));
        for (int index = 0; index < count; index++) {
            if (!sorted[index].equals(row(first + index, salt))) {
                throw new IllegalStateException(what + ": " + sorted[index] + " instead of "
                        + row(first + index, salt));
            }
        }
    }

    /** As lines of text. */
    static Dataset<String> lines(SparkSession spark, long count, String salt) {
        return spark.range(0, count, 1, PARTITIONS).map(
                (MapFunction<Long, String>) id -> id + " " + text(id, salt), Encoders.STRING());
    }
}
