"""`farcache cluster`, with servers that run: a cluster grows and shrinks under an operator's hands, and loses nothing."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest
import servers

KEYS = [f"key-{number}" for number in range(2000)]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


class Cluster:
    """A map in a file, and servers that watch it."""

    def __init__(self, folder):
        self.folder, self.running, self.map = folder, {}, folder / "map"
        self.ports = {number: free_port() for number in (1, 2, 3)}
        self.map.write_text(
            "farcache-cluster-map 1\ncluster tested\nepoch 1\nplacement ketama\n"
            f"server 1 incarnation=1 weight=1 zone=- state=serving addresses={self.address(1)}\nend\n")
        self.start(1)

    def address(self, number):
        return f"127.0.0.1:{self.ports[number]}"

    def start(self, number):
        folder = self.folder / str(number)
        folder.mkdir()
        self.running[number] = servers.Server(folder, port=self.ports[number], options=[
            "--cluster-file", str(self.map), "--cluster-self", str(number), "--fabric", "off", "--forward-timeout-ms", "60000"])

    def command(self, *words):
        program = pathlib.Path(servers.binary()).with_name("farcache")
        return [str(program), "cluster", "--file", str(self.map), *words]

    def run(self, *words, status=0):
        """What the program printed, on both of its outputs."""
        ended = subprocess.run(self.command(*words), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        assert ended.returncode == status, ended
        return ended.stdout + ended.stderr

    def status(self, status=0):
        ended = subprocess.run(self.command("status", "--json"), capture_output=True, text=True, timeout=60)
        assert ended.returncode == status, ended
        return json.loads(ended.stdout)

    def add(self, number):
        """Has a server join that is started while the program waits for it."""
        adding = subprocess.Popen(
            self.command("add", self.address(number), "--yes"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        deadline = time.monotonic() + 60
        while self.address(number) not in self.map.read_text():
            assert adding.poll() is None and time.monotonic() < deadline, adding.communicate()
            time.sleep(0.01)
        self.start(number)
        said, _ = adding.communicate(timeout=120)
        assert adding.returncode == 0, said
        return said

    def stop(self):
        for server in self.running.values():
            server.kill()


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def store(server):
    with server.connect() as client:
        for key in KEYS:
            client.sendall(f"set {key} 0 0 {len(key)}\r\n{key}\r\n".encode())
            assert client.recv(100) == b"STORED\r\n"


def missing(server):
    """The keys that the server does not find, here or elsewhere."""
    missed = []
    with server.connect() as client, client.makefile("rb") as replies:
        for key in KEYS:
            client.sendall(f"get {key}\r\n".encode())
            line = replies.readline()
            if line == b"END\r\n":
                missed.append(key)
                continue
            assert line.startswith(f"VALUE {key} ".encode()), line
            assert (replies.readline(), replies.readline()) == (f"{key}\r\n".encode(), b"END\r\n")
    return missed


def test_a_cluster_grows_and_shrinks_without_a_miss(cluster):
    store(cluster.running[1])
    for number in (2, 3):
        cluster.add(number)
        assert [missing(server) for server in cluster.running.values()] == [[]] * number
    told = cluster.status()
    assert [server["state"] for server in told["servers"]] == ["serving"] * 3
    assert not told["moves"] and not told["problems"]
    assert "drains already" not in cluster.run("drain", "1", "--yes")
    cluster.run("remove", "1", "--yes")
    cluster.running.pop(1).stop()
    assert [missing(server) for server in cluster.running.values()] == [[], []]
    assert [server["state"] for server in cluster.status()["servers"]] == ["gone", "serving", "serving"]


def test_a_dry_run_tells_what_would_move_and_changes_nothing(cluster):
    store(cluster.running[1])
    before = cluster.map.read_text()
    said = cluster.run("add", cluster.address(2), "--dry-run")
    keys = int(said.split("about ")[-1].split()[0].replace(",", ""))
    assert cluster.map.read_text() == before
    cluster.add(2)
    told = cluster.status()["servers"][1]
    # What is estimated from shares is as exact as keys are spread evenly.
    assert 0.9 * keys < told["told"]["items"] < 1.1 * keys, said


def test_what_went_wrong_is_told_by_the_exit_status(cluster, tmp_path):
    before = cluster.map.read_text()
    assert "--yes" in cluster.run("add", cluster.address(2), status=4)
    assert "owns keys already" in cluster.run("add", cluster.address(1), "--yes", status=3)
    assert "does not list server 9" in cluster.run("drain", "9", "--yes", status=3)
    assert "nobody would own keys" in cluster.run("remove", "1", "--force", "--yes", status=3)
    cluster.run("drain", status=2)
    assert cluster.map.read_text() == before
    assert "start it" in cluster.run("add", cluster.address(2), "--yes", "--wait", "1", status=6)
    assert "does not answer" in cluster.run("status", status=6)
    cluster.map.write_text("nonsense\n")
    assert "line 1" in cluster.run("status", status=1)


def test_watch_shows_the_status_again_and_again_until_it_is_interrupted(cluster):
    # Whoever runs the tests in the background may have them ignore interrupts, and so all that they start.
    watching = subprocess.Popen(
        cluster.command("watch", "--interval", "1"), stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    seen = 0
    for line in watching.stdout:
        seen += line.startswith("cluster tested, epoch 1")
        if seen == 2:
            break
    watching.send_signal(signal.SIGINT)
    watching.wait(60)
    assert seen == 2


def test_a_slurm_job_starts_a_fleet_on_its_nodes_and_ends_it(tmp_path):
    """With an srun that runs all tasks on this machine, each on a port of its own."""
    tools, first = tmp_path / "bin", free_port()
    tools.mkdir()
    srun = """#!/bin/sh
while case $1 in --*) true ;; *) false ;; esac; do shift; done
trap 'kill $tasks; wait' TERM
for task in 0 1; do SLURM_PROCID=$task "$@" & tasks="$tasks $!"; done
wait
"""
    scontrol = "#!/bin/sh\necho 127.0.0.1\necho 127.0.0.1\n"
    farcached = f'#!/bin/sh\nexec {servers.binary()} --listen=127.0.0.1 --fabric=off --user=root "$@"\n'
    for name, text in {"srun": srun, "scontrol": scontrol, "farcached": farcached}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tools / "farcache").symlink_to(pathlib.Path(servers.binary()).with_name("farcache"))
    script = pathlib.Path(__file__).resolve().parents[2] / "examples/slurm/farcache-fleet.sbatch"
    environment = {
        **os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "node-[1-2]",
        "FARCACHE_RUN": str(tmp_path / "run"), "FARCACHE_PORT": str(first), "FARCACHE_PORT_STEP": str(free_port() - first),
        "FARCACHE_MEMORY": "64"}
    command = [str(script), "sh", "-c", 'farcache cluster --file "$FARCACHE_MAP" status --json']
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended
    told = json.loads(ended.stdout[ended.stdout.rindex("\n{\n"):])
    assert told["cluster"] == "job-7" and [server["state"] for server in told["servers"]] == ["serving"] * 2
    assert all(server["told"]["epoch"] == 1 for server in told["servers"])
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", first)).close()
