"""`farcache cluster` on a real etcd, which servers share with it: they join by starting, drain by a command, and leave."""

import json
import pathlib
import shutil
import subprocess
import time
import urllib.request

import pytest
import servers
from test_cluster_command import free_port, missing, store
from test_discovery import discover


class Etcd:
    """One node of etcd."""

    def __init__(self, folder):
        program = shutil.which("etcd")
        assert program, "no etcd (apt-get install etcd-server)"
        deadline = time.monotonic() + servers.PATIENCE_SECONDS
        while True:
            # Somebody else may take a port before etcd does.
            self.port, peers = free_port(), free_port()
            clients, peers = f"http://{self.endpoint()}", f"http://127.0.0.1:{peers}"
            with open(folder / "etcd.log", "ab") as log:
                self.process = subprocess.Popen([
                    program, "--data-dir", folder / f"etcd-{self.port}", "--listen-client-urls", clients, "--advertise-client-urls", clients,
                    "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}"],
                    stdout=log, stderr=log)
            while self.process.poll() is None:
                if self.serves():
                    return
                assert time.monotonic() < deadline, (folder / "etcd.log").read_text()
                time.sleep(0.02)
            assert time.monotonic() < deadline, (folder / "etcd.log").read_text()

    def endpoint(self):
        return f"127.0.0.1:{self.port}"

    def serves(self):
        try:
            with urllib.request.urlopen(f"http://{self.endpoint()}/health", timeout=5) as answer:
                return json.load(answer)["health"] == "true"
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()


class Cluster:
    """Servers that meet on etcd."""

    def __init__(self, folder):
        self.folder, self.running, self.etcd = folder, [], Etcd(folder)
        self.secret = folder / "secret"
        self.secret.write_text("a secret of the tests")

    def start(self):
        folder = self.folder / str(len(self.running))
        folder.mkdir()
        # Nobody is given up by mistake, however slow the machine.
        options = [
            "--cluster-etcd", self.etcd.endpoint(), "--cluster-name", "tested", "--cluster-secret-file", str(self.secret),
            "--cluster-ttl", "60", "--cluster-grace", "600", "--fabric", "off", "--forward-timeout-ms", "60000"]
        self.running.append(servers.Server(folder, options=options))
        return self.running[-1]

    def run(self, *words, status=0):
        program = pathlib.Path(servers.binary()).with_name("farcache")
        command = [str(program), "cluster", "--etcd", self.etcd.endpoint(), "--name", "tested", *words]
        ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        assert status is None or ended.returncode == status, ended
        return ended.stdout + ended.stderr

    def states(self):
        """What each server is to the others, by its port; none before there is a map that all go by."""
        said = self.run("status", "--json", status=None)
        try:
            told = json.loads(said)
        except ValueError:
            return None
        if told["problems"] or told["moves"]:
            return None
        return {int(one["addresses"][0].rsplit(":", 1)[1]): one["state"] for one in told["servers"]}

    def wait_for(self, states):
        deadline = time.monotonic() + servers.PATIENCE_SECONDS
        while (seen := self.states()) != states:
            assert time.monotonic() < deadline, (seen, states)
            time.sleep(0.05)

    def stop(self):
        for server in self.running:
            server.kill()
        self.etcd.stop()


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def test_a_cluster_on_etcd_grows_drains_and_shrinks_without_a_miss(cluster):
    first = cluster.start()
    cluster.wait_for({first.port: "serving"})
    store(first)
    second, third = cluster.start(), cluster.start()
    everyone = [first.port, second.port, third.port]
    cluster.wait_for(dict.fromkeys(everyone, "serving"))
    assert [missing(server) for server in cluster.running] == [[]] * 3
    address = f"127.0.0.1:{first.port}"
    assert "about" in cluster.run("drain", address, "--dry-run", "--linger", "3600")
    cluster.run("drain", address, "--yes")
    cluster.wait_for({**dict.fromkeys(everyone, "serving"), first.port: "draining"})
    assert [missing(server) for server in cluster.running] == [[]] * 3
    # A server that runs would only join again.
    assert "stop it" in cluster.run("remove", address, "--yes", status=3)
    # One that drains serves again.
    cluster.run("add", address, "--yes")
    cluster.wait_for(dict.fromkeys(everyone, "serving"))
    assert [missing(server) for server in cluster.running] == [[]] * 3
    assert first.port in [port for _, port in discover(second)]
    began = time.monotonic()
    cluster.run("drain", address, "--yes", "--linger", "1")
    assert time.monotonic() - began >= 1
    assert first.port not in [port for _, port in discover(second)]
    assert cluster.running.pop(0).stop() == 0
    cluster.wait_for({second.port: "serving", third.port: "serving", first.port: "gone"})
    assert [missing(server) for server in cluster.running] == [[]] * 2


def test_what_goes_wrong_on_etcd_is_told_by_the_exit_status(cluster):
    cluster.run("status", status=1)
    only = cluster.start()
    cluster.wait_for({only.port: "serving"})
    address = f"127.0.0.1:{only.port}"
    assert "nobody would own keys" in cluster.run("drain", address, "--yes", status=3)
    other = cluster.start()
    cluster.wait_for({only.port: "serving", other.port: "serving"})
    assert "--yes" in cluster.run("drain", address, status=4)
    assert "does not list" in cluster.run("drain", "9", "--yes", status=3)
    cluster.wait_for({only.port: "serving", other.port: "serving"})
    cluster.etcd.stop()
    cluster.run("status", status=1)
