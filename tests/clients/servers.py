"""Starts the server under test, which FARCACHED names, and stops it again."""

import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# How long anything may take on a machine that is busy with other things.
PATIENCE_SECONDS = 60
# What makes both servers choose a free port.
ANY_PORT = -1


def binary():
    """The server to test: FARCACHED, else the release build."""
    wanted = os.environ.get("FARCACHED", str(REPOSITORY / "target/release/farcached"))
    found = shutil.which(wanted)
    if not found:
        raise FileNotFoundError(f"no server at {wanted}: build it, or name one in FARCACHED")
    return str(pathlib.Path(found).absolute())


def version_line(path=None):
    """What the server says of itself."""
    return subprocess.run([path or binary(), "-V"], capture_output=True, text=True, check=True).stdout


def is_memcached():
    """Whether the server under test is memcached itself (the tests are checked against it)."""
    return version_line().startswith("memcached")


def free_port():
    """A TCP port of 127.0.0.1 that nobody listens on; others may take it. A server chooses its port itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificate(folder):
    """A key and a certificate for 127.0.0.1, which is its own authority; returns their paths."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
    ]
    subprocess.run(command, check=True, capture_output=True)
    return key, certificate


def stop_all(running):
    """Asks all servers to end, and checks that each ended well.

    All are asked before one is waited for: memcached takes the better part of a second.
    """
    for server in running:
        server.ask_to_end()
    statuses = [server.stop() for server in running]
    assert statuses == [0] * len(statuses), "a server did not end well"


class Server:
    """One running server. Transport is "tcp", "unix" or "tls"."""

    def __init__(self, folder, transport="tcp", options=(), path=None, environment=None, port=ANY_PORT):
        self.transport = transport
        self.host, self.port, self.udp_port, self.socket_path, self.tls = "127.0.0.1", None, None, None, None
        self.log_path = folder / f"server-{transport}.log"
        self.asked_to_end = False
        command = [path or binary(), *self._place(folder, port), *options]
        if os.geteuid() == 0 and "-u" not in options:
            command += ["-u", "root"]
        with tempfile.TemporaryDirectory(prefix="farcache-ports-") as told, open(self.log_path, "ab") as log:
            # The server may run as another user.
            os.chmod(told, 0o733)
            ports = pathlib.Path(told) / "ports"
            environment = {**os.environ, **(environment or {})}
            if not self.socket_path:
                environment["MEMCACHED_PORT_FILENAME"] = str(ports)
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
            self._wait_until_it_answers(command, ports)

    def _place(self, folder, port):
        if self.transport == "unix":
            self.socket_path = str(folder / "server.sock")
            return ["-s", self.socket_path]
        place = ["-l", self.host, "-p", str(port)]
        if self.transport == "tls":
            key, certificate = make_certificate(folder)
            self.tls = ssl.create_default_context(cafile=str(certificate))
            place += ["-Z", "-o", f"ssl_chain_cert={certificate},ssl_key={key}"]
        return place

    def _wait_until_it_answers(self, command, ports):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if not self.socket_path:
                    told = dict(re.findall(r"(TCP|UDP) INET: (\d+)", ports.read_text()))
                    self.port, self.udp_port = int(told["TCP"]), int(told.get("UDP", 0))
                self.connect().close()
                return
            except OSError:
                time.sleep(0.005)
        self.kill()
        raise RuntimeError(f"{' '.join(map(str, command))} does not answer:\n{self.log_path.read_text()}")

    @property
    def address(self):
        """The address as most clients write it."""
        return self.socket_path or f"{self.host}:{self.port}"

    def connect(self, timeout_seconds=PATIENCE_SECONDS):
        """A connected socket, with TLS where the server wants it."""
        if self.socket_path:
            raw = socket.socket(socket.AF_UNIX)
            raw.settimeout(timeout_seconds)
            raw.connect(self.socket_path)
            return raw
        raw = socket.create_connection((self.host, self.port), timeout_seconds)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.tls.wrap_socket(raw, server_hostname=self.host) if self.tls else raw

    def ask_to_end(self):
        """Asks it to end, once, and does not wait."""
        if not self.asked_to_end and self.process.poll() is None:
            self.asked_to_end = True
            self.process.send_signal(signal.SIGTERM)

    def stop(self):
        """Asks it to end and returns the exit status."""
        self.ask_to_end()
        try:
            return self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def pause(self):
        """Stops it, and returns when all of its threads stand still."""
        self.process.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def kill(self):
        """Ends it at once."""
        self.process.kill()
        self.process.wait()
