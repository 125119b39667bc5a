"""Runs one program with the system's library and with ours."""

import os
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
