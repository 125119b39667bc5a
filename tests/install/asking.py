"""A request to a server that may not be up yet."""

import socket
import time

import servers


def ask(port, request, end):
    """What the server at a port answers, once it is up."""
    deadline = time.monotonic() + servers.PATIENCE_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=servers.PATIENCE_SECONDS) as connection:
                connection.sendall(request)
                answer = b""
                while not answer.endswith(end):
                    part = connection.recv(4096)
                    assert part, answer
                    answer += part
                return answer
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.05)
