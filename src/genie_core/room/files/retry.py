"""Files that could not be fetched, and when to try again. Pure."""

from typing import Final

from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.frames import Refusal

FIRST_PAUSE: Final = 3.0
LONGEST_PAUSE: Final = 300.0
"""Seconds between two attempts to fetch a file that the host lacks; a member may send it anytime."""


class RetryQueue:
    """Holds failed downloads. `now` is in seconds from any clock.

    Files that the host lacks are due at growing intervals, all others with the next connection.
    """

    def __init__(self) -> None:
        self._files: dict[str, FileRef] = {}
        self._times: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def add(self, file: FileRef, code: Refusal, now: float) -> None:
        """Keep a file that could not be fetched, for a retry."""
        digest = file.digest
        self._files[digest] = file
        if code == "unknown_file":
            times = self._times[digest] = self._times.get(digest, 0) + 1
            self._due[digest] = now + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(times - 1, 10))

    def is_lacked(self, digest: str) -> bool:
        """Whether the host lacks a file."""
        return digest in self._times

    def forget(self, digest: str) -> None:
        """Drop a file that is here, or is being fetched again."""
        for each in (self._files, self._times, self._due):
            each.pop(digest, None)

    def take_all(self) -> dict[str, FileRef]:
        """Take everything, to retry on a new connection."""
        taken, self._files = self._files, {}
        self._due.clear()
        return taken

    def take(self, now: float) -> dict[str, FileRef]:
        """Take the files that are due."""
        digests = [digest for digest, due in self._due.items() if due <= now]
        for digest in digests:
            del self._due[digest]
        return {digest: self._files.pop(digest) for digest in digests}

    def due(self, now: float) -> float | None:
        """Seconds until a file is due; None if there is none."""
        return max(0.0, min(self._due.values()) - now) if self._due else None
