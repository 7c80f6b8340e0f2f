"""Ports to listen on later, when they have to be known before."""

import os
import random
import socket

BELOW_OUTGOING = range(20_000, 32_000)
"""Where no system takes the ports of outgoing connections from, which many tests at once have."""

_given: set[int] = set()


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on at this address of the machine, "" for all of them.

    Each is given to one test only, even if it does not listen yet, or not any more for a while:
    those that pytest-xdist runs beside this one take theirs from other parts of the range.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    mine = BELOW_OUTGOING[worker % workers :: workers]
    while True:
        port = random.SystemRandom().choice(mine)
        if port in _given:
            continue
        _given.add(port)
        try:
            socket.create_server((host, port)).close()
        except OSError:
            continue
        return port
