"""libmemcached's command line tools, unchanged, on our libraries: the tests of the clients once more."""

import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "tests/clients/test_libmemcached_tools.py"


@pytest.mark.parametrize("transport", ["tcp", "auto"])
def test_tools(drop_in, transport):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(drop_in), FARCACHE_TRANSPORT=transport, UCX_LOG_LEVEL="error")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]
    result = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
