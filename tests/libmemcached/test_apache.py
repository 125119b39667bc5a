"""A module of Apache that caches by libmemcached, unchanged: mod_oauth2, whose tokens are then found on our server.

Over sockets: a process that has changed its user, as Apache's, does not let others look into its memory.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

import pytest
import servers

APACHE = pathlib.Path("/usr/sbin/apache2")
MODULES = pathlib.Path("/usr/lib/apache2/modules")
SECRET = "a secret of at least 32 bytes, it says"
START_SECONDS_MAX = 60
# Apache does not serve as root.
USER, GROUP = "nobody", "nogroup"

pytestmark = pytest.mark.skipif(
    not (MODULES / "mod_oauth2.so").exists(), reason="Apache and its module mod_oauth2 are not installed"
)


def token(subject):
    """A signed statement that the module believes, for an hour."""
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    claims = {"sub": subject, "iat": int(time.time()), "exp": int(time.time()) + 3600}
    parts = [part(json.dumps(words).encode()) for words in ({"alg": "HS256", "typ": "JWT"}, claims)]
    signature = hmac.new(SECRET.encode(), b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, part(signature)]).decode()


def configure(folder, port, server):
    modules = ["mpm_event", "authn_core", "authz_core", "authz_user", "oauth2"]
    lines = [
        f"ServerRoot {folder}", "ServerName localhost", f"Listen 127.0.0.1:{port}", f"PidFile {folder}/pid",
        f"ErrorLog {folder}/log", "DocumentRoot /usr/share",
        *([f"User {USER}", f"Group {GROUP}"] if os.geteuid() == 0 else []),
        *(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules),
        f'OAuth2Cache memcache "name=farcache&config_string=--SERVER%3D{server.host}%3A{server.port}"',
        '<Location "/">', "AuthType oauth2", "Require valid-user",
        f'OAuth2TokenVerify plain "{SECRET}" "verify.cache=farcache&expiry=300"', "</Location>",
    ]
    path = folder / "apache.conf"
    path.write_text("\n".join(lines) + "\n")
    return path


def ask(port, bearer):
    """The status of the answer: there is nothing for those who are let in, either."""
    headers = {"Authorization": f"Bearer {bearer}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/nothing-is-here", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=START_SECONDS_MAX) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@contextlib.contextmanager
def apache(folder, server, drop_in):
    """Apache with our libraries in front, as one process; its port and number."""
    port = servers.free_port()
    environment = dict(os.environ, LD_LIBRARY_PATH=str(drop_in), UCX_LOG_LEVEL="error")
    process = subprocess.Popen([APACHE, "-X", "-f", configure(folder, port, server)], env=environment)
    try:
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                ask(port, "none")
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.02)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(timeout=START_SECONDS_MAX)


@pytest.mark.parametrize("server_path", ["farcached"], indirect=True)
def test_apaches_module_caches_by_our_library(drop_in, start, tmp_path):
    server, bearer = start(), token("bob")
    with apache(tmp_path, server, drop_in) as (port, process):
        assert [ask(port, bearer) for _ in range(3)] == [404] * 3
        assert ask(port, bearer + "x") == 401
        assert f"{drop_in}/libmemcached.so.11" in pathlib.Path(f"/proc/{process}/maps").read_text()
    told = subprocess.run(
        ["memcstat", f"--servers={server.host}:{server.port}"], capture_output=True, text=True, check=True).stdout
    figures = dict(line.strip().split(": ", 1) for line in told.splitlines() if ": " in line)
    assert int(figures["cmd_set"]) >= 1 and int(figures["get_hits"]) >= 2
