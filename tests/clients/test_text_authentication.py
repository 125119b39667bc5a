"""What a client that has not authenticated (-Y) is told: at once, whatever it says will follow."""

import pytest
import reference

UNAUTHENTICATED, TOO_LONG = b"CLIENT_ERROR unauthenticated\r\n", b"CLIENT_ERROR auth token too long\r\n"
FAILURE, STORED = b"CLIENT_ERROR authentication failure\r\n", b"STORED\r\n"
# What is sent, in steps whose replies are waited for; None: the connection is closed.
CONVERSATIONS = {
    "a get": [(b"get foo\r\n", UNAUTHENTICATED)],
    "a version": [(b"version\r\n", UNAUTHENTICATED)],
    "another storage command": [(b"add a 0 0 11\r\n", UNAUTHENTICATED), (b"user secret\r\n", UNAUTHENTICATED)],
    "too few words": [(b"set a 0 0\r\n", UNAUTHENTICATED)],
    "no length": [(b"set a 0 0 x\r\n", UNAUTHENTICATED)],
    "a negative length": [(b"set a 0 0 -1\r\n", UNAUTHENTICATED)],
    "a length beyond 32 bits": [(b"set a 0 0 4294967296\r\n", UNAUTHENTICATED)],
    "a huge value, without its data": [(b"set a 0 0 1000000\r\n", TOO_LONG), (b"get foo\r\n", UNAUTHENTICATED)],
    "a value of one byte too many": [(b"set a 0 0 16385\r\n", TOO_LONG)],
    "a huge value, with its data": [(b"set a 0 0 1000000\r\n", TOO_LONG), (b"get foo bar baz\r\n", UNAUTHENTICATED)],
    "a wrong password, then the right one": [
        (b"set a 0 0 11\r\nuser wrong1\r\n", FAILURE), (b"set a 0 0 11\r\nuser secret\r\n", STORED), (b"get x\r\n", b"END\r\n")],
    "an unknown user": [(b"set a 0 0 11\r\nabcd secret\r\n", FAILURE)],
    "two spaces": [(b"set a 0 0 12\r\nuser  secret\r\n", FAILURE)],
    "a password with a space": [(b"set a 0 0 15\r\nother pass word\r\n", STORED)],
    "no password": [(b"set a 0 0 4\r\nuser\r\n", b"CLIENT_ERROR bad authentication token format\r\n")],
    "a value without its end": [(b"set a 0 0 2\r\nabcd", b"CLIENT_ERROR bad command line termination\r\n")],
    "a name that begins with set": [(b"settings 0 0 0 11\r\nuser secret\r\n", STORED)],
    "more words": [(b"set a 0 0 11 noreply x\r\nuser secret\r\n", STORED)],
    "HTTP": [(b"GET / HTTP/1.1\r\n", UNAUTHENTICATED), (b"Host: localhost\r\n", UNAUTHENTICATED), (b"\r\nabc", None)],
    "too short a line": [(b"mn\r\n", None)],
    "quit": [(b"quit\r\n", None)],
    "an endless line": [(b"x" * 2049, None)],
    "binary": [(b"\x80" + b"\0" * 22 + b"\n", UNAUTHENTICATED)],
}


@pytest.fixture(scope="module")
def server_of(start, tmp_path_factory):
    """The server of one of reference.BOTH, started once."""
    users = tmp_path_factory.mktemp("users") / "users"
    users.write_text("user:secret\nother:pass word\n")
    users.chmod(0o644)
    running = {}

    def find(which):
        if which not in running:
            running[which] = start(options=["-Y", str(users)], path=reference.path_of(which))
        return running[which]

    return find


@pytest.mark.parametrize("which", reference.BOTH)
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_wrong_first_command_is_answered_at_once(server_of, which, name):
    with server_of(which).connect() as connection:
        for request, reply in CONVERSATIONS[name]:
            connection.sendall(request)
            assert receive(connection, len(reply or b"x")) == (reply or b""), request


def receive(connection, count):
    """So many bytes, or as many as come before the connection is closed."""
    received = b""
    try:
        while len(received) < count and (piece := connection.recv(count - len(received))):
            received += piece
    except ConnectionError:
        # Closed with input unread.
        pass
    return received
