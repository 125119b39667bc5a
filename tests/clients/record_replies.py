#!/usr/bin/env python3
"""Records the replies of memcached to all cases of odd input anew, after a case or the version has changed.

Usage: record_replies.py    (after scripts/memcached-reference)
"""

import pathlib
import tempfile

import servers
from behaviour import recorded


def main():
    with tempfile.TemporaryDirectory() as folder:
        running = []

        def start(options):
            place = pathlib.Path(folder) / str(len(running))
            place.mkdir()
            running.append(servers.Server(place, options=options, path=str(recorded.REFERENCE)))
            return running[-1]

        try:
            recorded.save(recorded.Servers(start))
        finally:
            for server in running:
                server.stop()


if __name__ == "__main__":
    main()
