"""What the calls of a host's agents are made with, where only the host is to see it.

A guest is served by the host's engine, with the host's files and keys. The log says that a tool is
called and what became of it; its arguments stay here.
"""

import logging
import os
from pathlib import Path
from typing import Any, Final

import msgspec

from genie_core.durable import make_private_folder
from genie_core.room.event import Asked, Event, Settled

logger = logging.getLogger(__name__)

_encode: Final = msgspec.json.Encoder().encode


class _Entry(msgspec.Struct, frozen=True):
    approval: str
    arguments: dict[str, Any]


class Withheld:
    """Arguments by approval, kept in a private file if there is one to outlive the process.

    A file that can't be read or written costs what was parked in it, which is asked for again.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._kept: dict[str, dict[str, Any]] = {}

    def load(self) -> None:
        """Read what earlier processes kept. Blocks; whatever is damaged is left out."""
        if self._path is None:
            return
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError:
            logger.warning("withheld arguments can't be read", exc_info=True)
            return
        for line in lines:
            try:
                entry = msgspec.json.decode(line, type=_Entry)
            except (ValueError, RecursionError):
                logger.warning("a line of %s is damaged", self._path)
            else:
                self._kept[entry.approval] = entry.arguments

    def keep(self, approval: str, arguments: dict[str, Any]) -> None:
        """Remember what a call is made with, before the room is told of it."""
        self._kept[approval] = arguments
        if self._path is None:
            return
        try:
            make_private_folder(self._path.parent)
            line = _encode(_Entry(approval, arguments)) + b"\n"
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(line)
        except (OSError, ValueError, TypeError, RecursionError):
            logger.warning("withheld arguments can't be kept on disk", exc_info=True)

    def knows(self, approval: str) -> bool:
        """Whether what a call is made with can be seen here."""
        return approval in self._kept

    def uncover(self, event: Event) -> Event:
        """The event as this machine may show it: with the arguments, if they are kept here."""
        body = event.body
        if isinstance(body, Asked) and body.withheld and body.approval in self._kept:
            shown = msgspec.structs.replace(body, arguments=self._kept[body.approval])
            return msgspec.structs.replace(event, body=shown)
        return event

    def settle(self, settled: Settled) -> None:
        """Forget what is decided for good; the file keeps it until it is next loaded."""
        if settled.outcome != "parked":
            self._kept.pop(settled.approval, None)
