"""Who has a saved room open."""

import platform
from datetime import datetime

import msgspec


class Holder(msgspec.Struct, frozen=True):
    """A process that has a room open, as far as it left word; 0 and empty are unknown.

    `since` is in seconds since the epoch.
    """

    pid: int = 0
    name: str = ""
    machine: str = ""
    since: float = 0.0

    @property
    def who(self) -> str:
        """Whose process it is, or else which, in as few words as possible."""
        return _plain(self.name).strip() or self._process

    def __str__(self) -> str:
        whose = f" of {_plain(self.name)}" if self.name else ""
        elsewhere = self.machine not in ("", platform.node())
        there = f" on {_plain(self.machine)}" if elsewhere else ""
        return f"{self._process}{whose}{there}{self._since()}"

    @property
    def _process(self) -> str:
        return f"process {self.pid}" if self.pid else "another process"

    def _since(self) -> str:
        try:
            when = datetime.fromtimestamp(self.since).astimezone()
        except (ValueError, OverflowError, OSError):
            return ""
        return f", since {when:%Y-%m-%d %H:%M}" if self.since else ""


def _plain(text: str) -> str:
    """What can be shown in a line; the file may have been written by anybody."""
    return "".join(char for char in text[:64] if char.isprintable())
