"""Jobs of Spark's on farcache://, with the Hadoop client that Spark brings and with Hadoop 3.4.2's in its place."""

import os
import pathlib
import subprocess

import benchmarks

FOLDER = benchmarks.REPOSITORY / "integrations/hadoop/spark"
# As docs/hadoop.md has them.
DEFAULTS = FOLDER / "spark-defaults.conf"
# Of Hadoop's client: what Spark 3.5 brings, and what farcache-hadoop is built with.
HADOOPS = ["3.3.4", "3.4.2"]
COMMITTERS = [1, 2]
# How a file begins that is not persisted yet.
PENDING = b"farcache-file "
SECONDS_MAX = 600
# As Spark's own scripts give them to Java 17.
OPENED = ["java.base/" + package for package in (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent",
    "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar")]


def class_path(hadoop):
    """Of the job, without farcache-hadoop."""
    told = benchmarks.JAVA / f"farcache-hadoop-spark/class-path-{hadoop}"
    benchmarks.tell_class_path(told, ["-f", str(FOLDER / "pom.xml"), "compile"], [f"-Dhadoop.version={hadoop}"])
    return f"{benchmarks.JAVA / 'farcache-hadoop-spark/classes'}:{told.read_text().strip()}"


def jars():
    """What a user puts on the class path."""
    subprocess.run(["mvn", "-B", "-q", "-DskipTests", "-pl", "integrations/hadoop", "-am", "package"],
                   cwd=benchmarks.REPOSITORY, check=True)
    names = ["farcache-hadoop", "farcache-client"]
    return ":".join(str(benchmarks.JAVA / name / f"{name}-0.1.0.jar") for name in names)


def settings(text, changed):
    """Settings of Spark's, with some of them changed: those of this machine."""
    names = [line.split()[0] for line in text.splitlines()]
    missing = set(changed) - set(names)
    if missing:
        raise benchmarks.Failed(f"nothing says {missing}")
    return "".join(f"{name} {changed.get(name, line.split()[1])}\n" for name, line in zip(names, text.splitlines()))


def require_ordinary(directory):
    """All that was written is in ordinary files."""
    files = [file for file in directory.rglob("*") if file.is_file() and ".farcache" not in file.parts]
    parquet = 0
    for file in files:
        content = file.read_bytes()
        if content.startswith(PENDING):
            raise benchmarks.Failed(f"{file} is not persisted")
        if file.suffix == ".parquet":
            parquet += 1
            if content[:4] != b"PAR1" or content[-4:] != b"PAR1":
                raise benchmarks.Failed(f"{file} is not whole")
    if not parquet:
        raise benchmarks.Failed(f"{directory} has no table")


def run(server, directory, rows, scratch, hadoop, committer):
    """All jobs with one client of Hadoop's and one version of its committer: how long each took."""
    directory.mkdir(parents=True)
    farcache = jars()
    file = scratch / "spark-defaults.conf"
    file.write_text(settings(DEFAULTS.read_text(), {
        "spark.driver.extraClassPath": farcache,
        "spark.executor.extraClassPath": farcache,
        "spark.hadoop.fs.farcache.names.directory": directory,
        "spark.hadoop.fs.farcache.servers": server.address,
    }))
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
    # Failing tasks are tried again; what is logged goes through the file system, too.
    conf = [f"spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version={committer}", "spark.ui.enabled=false",
            "spark.eventLog.enabled=true", "spark.eventLog.dir=farcache://any/events", "spark.sql.shuffle.partitions=4",
            f"spark.local.dir={scratch}", "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1"]
    (directory / "events").mkdir()
    command = ["java", "-Xmx1g", *opened, "-cp", f"{class_path(hadoop)}:{farcache}", "org.apache.spark.deploy.SparkSubmit",
               "--master", "local[2,4]", "--properties-file", str(file), "--class", "io.farcache.spark.SparkJobs"]
    for setting in conf:
        command += ["--conf", setting]
    command += ["spark-internal", "farcache://any/spark", str(rows), hadoop]
    told = benchmarks.run_jobs(command, scratch, SECONDS_MAX)
    require_ordinary(directory)
    return told
