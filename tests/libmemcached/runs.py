"""Runs one program with the system's library and with ours; asks servers what came to them."""

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import threading

PROGRAM_SECONDS_MAX = 300
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


def run(program, arguments=(), library_folder=None, transport="tcp"):
    """What the program says; with our libraries, over this transport, where their folder is given."""
    environment = dict(os.environ)
    environment.pop("LD_LIBRARY_PATH", None)
    environment.pop("LIBMEMCACHED", None)
    # UCX writes its warnings to standard output, where the programs speak.
    environment.update(FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error", PATIENCE_MS="60000")
    if library_folder:
        environment["LD_LIBRARY_PATH"] = str(library_folder)
    result = subprocess.run(
        [program, *map(str, arguments)], env=environment, capture_output=True, timeout=PROGRAM_SECONDS_MAX
    )
    assert result.returncode == 0, f"{program} ended with {result.returncode}: {result.stdout[-500:]} {result.stderr}"
    return result.stdout.decode("latin-1").splitlines()


def fabric_messages(server):
    """How many messages came to the server over the fabric."""
    command = ["memcstat", f"--servers={server.host}:{server.port}", "--args=fabric"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"messages_in: (\d+)", told)[1])


class Relay:
    """Stands in front of a server and keeps what clients send to it."""

    def __init__(self, server):
        self.server, self.sent, self.host = (server.host, server.port), bytearray(), "127.0.0.1"
        self.listener = socket.create_server((self.host, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # The listener is closed.
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.server)
                for between in ((client, server, self.sent), (server, client, bytearray())):
                    threading.Thread(target=_forward, args=between, daemon=True).start()

    def words(self, word):
        """How many lines begin with this word."""
        return len(re.findall(rb"(?m)^" + word + rb"\b", self.sent))

    def close(self):
        self.listener.close()


def _forward(source, sink, kept):
    with contextlib.suppress(OSError):  # Either end is gone.
        while piece := source.recv(1 << 16):
            kept += piece
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
