"""Limits on the space of the rooms of a service on its disk: one room, and all of them."""

from collections.abc import Callable
from typing import Final

from genie_serve.config import ServiceLimits

ROOM_FULL: Final = (
    "this room has reached its limit of {limit:,} bytes on the service's disk (limits.room_disk). "
    "New messages wait where they were typed until its operator raises it"
)
SERVICE_FULL: Final = (
    "this service has reached its limit of {limit:,} bytes on its disk (limits.disk). New messages "
    "wait where they were typed until its operator makes space"
)


class DiskQuota:
    """Counts the bytes of the logs and files of all rooms; nothing here reads the disk."""

    def __init__(self, limits: ServiceLimits) -> None:
        self.used = 0
        self._limits = limits
        self._shares: dict[str, RoomShare] = {}

    def share(self, room: str) -> "RoomShare":
        """Return the share of a room by its folder; it stays until it is removed."""
        if room not in self._shares:
            self._shares[room] = RoomShare(self, self._limits.room_disk)
        return self._shares[room]

    def remove(self, room: str) -> None:
        """Give back the space of a room whose folder is gone."""
        share = self._shares.pop(room, None)
        if share is not None:
            self.move(-share.used)

    @property
    def refusal(self) -> str:
        """Why no room may write more; empty if they may."""
        limit = self._limits.disk
        return SERVICE_FULL.format(limit=limit) if self.used >= limit else ""

    def move(self, more: int) -> None:
        """Count bytes, and tell all rooms if that changes whether they may write."""
        before = self.refusal
        self.used += more
        if self.refusal != before:
            for share in self._shares.values():
                share.tell()

    def fits(self, more: int) -> bool:
        return self.used + more <= self._limits.disk


class RoomShare:
    """The bytes that one room takes."""

    def __init__(self, quota: DiskQuota, limit: int) -> None:
        self._quota = quota
        self._limit = limit
        self._log = 0
        self._files = 0
        self._told = ""
        self._fill: Callable[[str], None] | None = None

    @property
    def used(self) -> int:
        return self._log + self._files

    @property
    def refusal(self) -> str:
        """Why the room may not write more; empty if it may."""
        if self.used >= self._limit:
            return ROOM_FULL.format(limit=self._limit)
        return self._quota.refusal

    def note_log(self, size: int) -> None:
        """Record the size of the log."""
        more, self._log = size - self._log, size
        self._quota.move(more)
        self.tell()

    def note_files(self, size: int) -> None:
        """Record the size of all files, of those that are being sent, too."""
        more, self._files = size - self._files, size
        self._quota.move(more)
        self.tell()

    def fits(self, files: int) -> bool:
        """Whether all files may take so much."""
        return self._log + files <= self._limit and self._quota.fits(files - self._files)

    def connect(self, fill: Callable[[str], None]) -> None:
        """Call a function with why the room may not write more, now if so, and on each change."""
        self._fill, self._told = fill, ""
        self.tell()

    def disconnect(self) -> None:
        """Call it no more; the space of the room goes on to count."""
        self._fill = None

    def tell(self) -> None:
        """Tell the room if there is news."""
        if self._fill is not None and (refusal := self.refusal) != self._told:
            self._told = refusal
            self._fill(refusal)
