"""reach.py HOST...: ends well once every host named answers over the network, and badly if one does not in time.

A host answers when it refuses a connection to a port where nobody listens: by then both know each other's Ethernet
address, too.
"""

from __future__ import annotations

import socket
import sys

PORT = 9  # discard
ATTEMPTS = 10
ATTEMPT_SECONDS = 1.0


def reach(host: str) -> bool:
    """Whether a host answers."""
    for _ in range(ATTEMPTS):
        try:
            socket.create_connection((host, PORT), ATTEMPT_SECONDS).close()
        except ConnectionRefusedError:
            return True
        except OSError:
            continue
    return False


if __name__ == "__main__":
    sys.exit(any(not reach(host) for host in sys.argv[1:]))
