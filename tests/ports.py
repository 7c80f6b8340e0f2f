"""Ports to listen on later, when they have to be known before."""

import random
import socket

BELOW_OUTGOING = range(20_000, 32_000)
"""Where no system takes the ports of outgoing connections from, which many tests at once have."""


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on at this address of the machine, "" for all of them."""
    while True:
        port = random.SystemRandom().choice(BELOW_OUTGOING)
        try:
            socket.create_server((host, port)).close()
        except OSError:
            continue
        return port
