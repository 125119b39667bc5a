"""What scripts/hadoop-jobs and scripts/hadoop-compare share: class paths, servers, and Hadoop's benchmarks in a process of their own."""

import os
import pathlib
import statistics
import subprocess
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
JAVA = REPOSITORY / "target/java"


class Failed(Exception):
    """Something does not start or ends badly; the message says what and, at its end, what it logged last."""


def class_path():
    """Of the tests of integrations/hadoop, as Maven tells it."""
    told = JAVA / "farcache-hadoop/class-path"
    tell_class_path(told, ["-pl", "integrations/hadoop", "-am", "test-compile"], ["-Dmdep.includeScope=test"])
    own = [JAVA / "farcache-hadoop/test-classes", JAVA / "farcache-hadoop/classes"]
    return ":".join([*map(str, own), told.read_text().strip()])


def class_path_of(project):
    """The classes of a project beside integrations/hadoop, and what they need, as Maven tells it."""
    told = JAVA / f"farcache-hadoop-{project}/class-path"
    tell_class_path(told, ["-f", str(REPOSITORY / "integrations/hadoop" / project / "pom.xml"), "compile"], [])
    return str(told.parent / "classes"), told.read_text().strip()


def tell_class_path(told, what, options):
    command = ["mvn", "-B", "-q", *what, "dependency:build-classpath", f"-Dmdep.outputFile={told}", *options]
    subprocess.run(command, cwd=REPOSITORY, check=True)


def server_program(profile):
    return REPOSITORY / "target" / profile / "farcached"


class Server:
    """A server for buffered files on a free port, with so many megabytes."""

    def __init__(self, profile, memory, scratch):
        ports = scratch / "ports"
        ports.unlink(missing_ok=True)
        command = [server_program(profile), "-l", "127.0.0.1", "-p", "-1", "-m", str(memory), "-M", "--evict-expiring"]
        if os.geteuid() == 0:
            command += ["-u", "root"]
        environment = {**os.environ, "MEMCACHED_PORT_FILENAME": str(ports)}
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        while not ports.exists() or "TCP INET: " not in ports.read_text():
            if self.process.poll() is not None:
                raise Failed("the server does not start")
            time.sleep(0.01)
        self.port = int(ports.read_text().split("TCP INET: ")[1].split()[0])
        self.address = f"127.0.0.1:{self.port}"

    def stop(self):
        self.process.terminate()
        self.process.wait()


class JavaServers:
    """Servers of others, in a process that tells in a line that they run, and ends when its input does."""

    # How long they may take to end.
    SECONDS_MAX = 60

    def __init__(self, name, arguments, line_begins, log, folder):
        self.log_path = log
        self.log = open(log, "w")
        self.process = subprocess.Popen(
            ["java", *arguments], cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        for line in self.process.stdout:
            self.log.write(line)
            if line.startswith(line_begins + " "):
                self.told = line.split()[1]
                return
        self.stop()
        raise Failed(f"{name} does not start:\n{log.read_text()[-3000:]}")

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=self.SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def java(class_path, program, arguments, options=()):
    """The command of a program among the tests of integrations/hadoop."""
    return ["java", "-Xmx1g", f"-Dfarcache.root={REPOSITORY}", *options, "-cp", class_path, f"io.farcache.hadoop.{program}", *map(str, arguments)]


def told(lines):
    """What a program tells, line by line, among all else that it prints."""
    return (line.removeprefix("told ").rstrip("\n") for line in lines if line.startswith("told "))


def values_of(output):
    """Names and values of a run of benchmarks: seconds, or rates."""
    values = []
    for line in told(output.splitlines()):
        name, _, value = line.split()
        values.append((name, float(value)))
    return values


def run_jobs(command, scratch, seconds_max):
    """Runs benchmarks; what they tell."""
    done = subprocess.run(command, cwd=scratch, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds_max)
    if done.returncode != 0:
        raise Failed(f"the benchmarks failed:\n{done.stderr[-5000:]}")
    return values_of(done.stdout)


def spread(values, width):
    """Median, and least to most where there are several."""
    median = f"{statistics.median(values):{width}.2f}"
    return median if len(values) == 1 else f"{median} ({min(values):.2f} to {max(values):.2f})"
