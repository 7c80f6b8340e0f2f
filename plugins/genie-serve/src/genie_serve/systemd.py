"""Tells systemd how a service is doing, as sd_notify(3) does.

Source: the protocol in the manual page sd_notify(3): datagrams of assignments to a socket that the
environment names.
"""

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"
ALIVE: Final = "WATCHDOG=1"

LONGER: Final = "EXTEND_TIMEOUT_USEC=60000000"
"""Lets a start take a minute more from now on."""

EXTENDED: Final = 20.0
"""Seconds between two of these."""


class Notifier:
    """Sends states to the service manager; without one, each call does nothing."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        path = environment.get("NOTIFY_SOCKET", "")
        self._path = "\0" + path[1:] if path.startswith("@") else path
        limit = environment.get("WATCHDOG_USEC", "")
        self._pause = int(limit) / 2_000_000 if limit.isdecimal() else 0.0

    def tell(self, state: str) -> None:
        """Send a state; a service manager that does not listen changes nothing."""
        if self._path:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.settimeout(0)
                sock.sendto(state.encode(), self._path)

    async def stay_alive(self) -> None:
        """Say again and again that the event loop runs, if systemd wants to know; else return."""
        while self._path and self._pause:
            self.tell(ALIVE)
            await asyncio.sleep(self._pause)

    async def take_longer(self) -> None:
        """Ask again and again for more time to start, until cancelled."""
        while self._path:
            self.tell(LONGER)
            await asyncio.sleep(EXTENDED)
