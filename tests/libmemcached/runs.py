"""Runs one program with the system's library and with ours; asks servers what came to them."""

import os
import re
import subprocess

PROGRAM_SECONDS_MAX = 60


def run(program, arguments=(), library_folder=None, transport="tcp"):
    """What the program says; with our libraries, over this transport, where their folder is given."""
    environment = dict(os.environ)
    environment.pop("LD_LIBRARY_PATH", None)
    environment.pop("LIBMEMCACHED", None)
    # UCX writes its warnings to standard output, where the programs speak.
    environment.update(FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error")
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
