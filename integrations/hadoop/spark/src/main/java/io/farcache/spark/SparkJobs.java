package io.farcache.spark;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.VersionInfo;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;

/**
 * What applications do with Spark, on a file system; each row that is read again is compared with
 * what it must be. Prints how long each took, and ends with an error at the first that is wrong.
 */
public final class SparkJobs {
    private static final String COMMITTER =
            "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version";
    private final SparkSession spark;
    private final String base;
    private final long rows;

    private SparkJobs(SparkSession spark, String base, long rows) {
        this.spark = spark;
        this.base = base;
        this.rows = rows;
    }

    /**
     * Runs all of it.
     *
     * @param arguments a URI, below which everything is written, how many rows, and the version of
     *     Hadoop that is to be on the class path
     */
    public static void main(String[] arguments) throws Exception {
        if (!VersionInfo.getVersion().equals(arguments[2])) {
            throw new IllegalStateException("Hadoop " + VersionInfo.getVersion());
        }
        try (SparkSession spark = SparkSession.builder().appName("farcache").getOrCreate()) {
            SparkJobs jobs = new SparkJobs(spark, arguments[0], Long.parseLong(arguments[1]));
            String committer = "committer-v" + spark.conf().get(COMMITTER);
            jobs.time(committer + "-text", jobs::text);
            jobs.time(committer + "-parquet", jobs::parquet);
            jobs.time(committer + "-shuffle", jobs::shuffle);
            jobs.time(committer + "-overwrite", jobs::overwrite);
            jobs.time(committer + "-partitions", jobs::partitions);
            jobs.time(committer + "-table", jobs::table);
            jobs.time(committer + "-failures", jobs::failures);
            jobs.time(committer + "-stream", jobs::stream);
        }
    }

    /** One part of it. */
    private interface Part {
        void run() throws Exception;
    }

    private void time(String name, Part part) throws Exception {
        long begin = System.nanoTime();
        part.run();
        System.out.printf(Locale.ROOT, "told %s %d %.2f%n", name, rows,
                (System.nanoTime() - begin) / 1e9);
    }

    private String place(String name) {
        return base + "/" + name;
    }

    private FileSystem files() throws IOException {
        return new Path(base).getFileSystem(spark.sparkContext().hadoopConfiguration());
    }

    private void text() {
        Rows.lines(spark, rows, "line").write().text(place("text"));
        List<String> found = spark.read().textFile(place("text")).collectAsList();
        List<String> wanted = LongStream.range(0, rows)
                .mapToObj(id -> id + " " + Rows.text(id, "line")).collect(Collectors.toList());
        // Files are read in order of their size.
        String[] sorted = found.toArray(new String[0]);
        Arrays.sort(sorted, (one, other) -> Long.compare(number(one), number(other)));
        require(Arrays.asList(sorted).equals(wanted), "lines of text");
    }

    private static long number(String line) {
        return Long.parseLong(line.substring(0, line.indexOf(' ')));
    }

    private void parquet() {
        Rows.make(spark, 0, rows, "old").write().parquet(place("parquet"));
        Rows.require("parquet", spark.read().parquet(place("parquet")), 0, rows, "old");
        long few = spark.read().parquet(place("parquet")).where("id < 10").count();
        require(few == 10, "rows that a filter leaves");
    }

    /** Sums by kind, and all rows in reverse order: both go through a shuffle. */
    private void shuffle() {
        Dataset<Row> read = spark.read().parquet(place("parquet"));
        read.groupBy("kind").agg(functions.sum("id"), functions.count("id")).orderBy("kind")
                .write().parquet(place("sums"));
        long[] sums = new long[Rows.KINDS];
        long[] counts = new long[Rows.KINDS];
        for (long id = 0; id < rows; id++) {
            sums[(int) Rows.kind(id)] += id;
            counts[(int) Rows.kind(id)]++;
        }
        for (Row row : spark.read().parquet(place("sums")).collectAsList()) {
            int kind = (int) row.getLong(0);
            require(row.getLong(1) == sums[kind] && row.getLong(2) == counts[kind], "a sum");
            counts[kind] = 0;
        }
        require(Arrays.stream(counts).sum() == 0, "all kinds");
        read.orderBy(functions.col("id").desc()).select("text").write().text(place("sorted"));
        List<String> found = spark.sparkContext().textFile(place("sorted"), 2).toJavaRDD()
                .collect();
        for (int index = 0; index < rows; index++) {
            require(found.get(index).equals(Rows.text(rows - 1 - index, "old")), "the order");
        }
    }

    private void overwrite() {
        Rows.make(spark, 5, rows / 2, "new").write().mode(SaveMode.Overwrite)
                .parquet(place("parquet"));
        Rows.require("overwritten", spark.read().parquet(place("parquet")), 5, rows / 2, "new");
        Rows.make(spark, 5 + rows / 2, rows / 4, "new").write().mode(SaveMode.Append)
                .parquet(place("parquet"));
        Rows.require("appended", spark.read().parquet(place("parquet")), 5, rows / 2 + rows / 4,
                "new");
    }

    /** A folder for each day; then one of them alone is overwritten. */
    private void partitions() throws IOException {
        Rows.make(spark, 0, rows, "old").write().partitionBy("day").parquet(place("days"));
        for (int day = 0; day < Rows.DAYS; day++) {
            require(files().exists(new Path(place("days/day=day" + day))), "a folder");
        }
        Rows.require("days", spark.read().parquet(place("days")), 0, rows, "old");
        spark.conf().set("spark.sql.sources.partitionOverwriteMode", "dynamic");
        Rows.make(spark, 0, rows, "new").where("day = 'day1'").write().partitionBy("day")
                .mode(SaveMode.Overwrite).parquet(place("days"));
        spark.conf().unset("spark.sql.sources.partitionOverwriteMode");
        Dataset<Row> read = spark.read().parquet(place("days"));
        require(read.count() == rows, "all days");
        require(read.where("day = 'day1'").count() == rows / Rows.DAYS, "one day");
        require(read.where("(day = 'day1') = startswith(text, 'new')").count() == rows,
                "what was overwritten, and nothing else");
    }

    /** By SQL, in the warehouse. */
    private void table() {
        Rows.make(spark, 0, rows, "table").createOrReplaceTempView("made");
        spark.sql("DROP TABLE IF EXISTS numbers");
        spark.sql("CREATE TABLE numbers USING parquet AS SELECT * FROM made");
        Rows.require("table", spark.table("numbers"), 0, rows, "table");
        spark.sql("INSERT OVERWRITE numbers SELECT * FROM made WHERE id < 100");
        Rows.require("table", spark.table("numbers"), 0, 100, "table");
        spark.sql("DROP TABLE numbers");
    }

    /** Tasks fail when they have written half of their rows, and are tried again. */
    private void failures() throws IOException {
        Rows.makeFailing(spark, rows, "again").write().parquet(place("again"));
        Rows.require("again", spark.read().parquet(place("again")), 0, rows, "again");
        for (FileStatus file : files().listStatus(new Path(place("again")))) {
            require(!file.getPath().getName().equals("_temporary"), "nothing of attempts");
        }
    }

    /** A stream of files, whose checkpoints are there, too; then it goes on where it was. */
    private void stream() throws Exception {
        streamOnce();
        Rows.require("streamed", spark.read().parquet(place("stream")), 5, rows / 2 + rows / 4,
                "new");
        long first = 5 + rows / 2 + rows / 4;
        Rows.make(spark, first, 100, "new").write().mode(SaveMode.Append)
                .parquet(place("parquet"));
        streamOnce();
        Rows.require("streamed", spark.read().parquet(place("stream")), 5,
                rows / 2 + rows / 4 + 100, "new");
    }

    private void streamOnce() throws Exception {
        StreamingQuery query = spark.readStream()
                .schema(spark.read().parquet(place("parquet")).schema())
                .parquet(place("parquet")).writeStream().format("parquet")
                .option("checkpointLocation", place("checkpoints"))
                .option("path", place("stream")).trigger(Trigger.AvailableNow()).start();
        query.awaitTermination();
    }

    private static void require(boolean isSo, String what) {
        if (!isSo) {
            throw new IllegalStateException("wrong: " + what);
        }
    }
}
