"""What can go wrong with saved rooms.

ArchiveError
├── UnknownRoom     no saved room has this id
├── AmbiguousRoom   several saved rooms begin like this
├── NewerVersion    a later version of the program wrote it
├── DamagedRoom     a file of it can't be understood
└── RoomInUse       another process has it open
"""

from collections.abc import Sequence
from pathlib import Path

from genie_core.errors import GenieError


class ArchiveError(GenieError):
    """Root of this package's errors."""


class UnknownRoom(ArchiveError):
    """No saved room has this id, nor one that begins like it."""

    def __init__(self, wanted: str, nearest: Sequence[str]) -> None:
        hint = f"; the nearest is {nearest[0]}" if nearest else ""
        super().__init__(f"there is no saved room {wanted!r}{hint}")
        self.wanted = wanted
        self.nearest = tuple(nearest)


class AmbiguousRoom(ArchiveError):
    """More than one saved room begins like this."""

    def __init__(self, wanted: str, candidates: Sequence[str]) -> None:
        super().__init__(f"{wanted!r} could be any of {', '.join(candidates)}; type more of it")
        self.wanted = wanted
        self.candidates = tuple(candidates)


class NewerVersion(ArchiveError):
    """A saved room in a format that this version does not know."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{path} was written by a newer version of the program (format {found}, this one "
            f"knows up to {known}); update the program to open it"
        )
        self.path = path
        self.found = found
        self.known = known


class DamagedRoom(ArchiveError):
    """A file of a saved room that can't be read as what it should be."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} can't be read: {why}")
        self.path = path
        self.why = why


class RoomInUse(ArchiveError):
    """Another process works in the folder of a saved room."""

    def __init__(self, room: str, pid: int | None) -> None:
        holder = f"process {pid}" if pid else "another process"
        super().__init__(f"the room {room} is open in {holder}; close it there first")
        self.room = room
        self.pid = pid
