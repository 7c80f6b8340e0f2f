"""Problems with a store's files, as lines for a person."""

import logging
from threading import Lock
from typing import Final

log = logging.getLogger(__name__)

_MOST: Final = 100  # entries; a disk that fails for every file needs no longer list


class Problems:
    """Problems, oldest first; may be used from any thread.

    Repeated problems of one subject are one entry, with the latest text and a count; only the first
    is logged as a warning.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[str, tuple[str, int]] = {}
        self._unlisted = 0

    def add(self, problem: str, subject: str | None = None) -> None:
        """Record a problem; without a subject, equal texts are the same problem."""
        key = subject or problem
        with self._lock:
            _, times = self._entries.get(key, ("", 0))
            if times or len(self._entries) < _MOST:
                self._entries[key] = (problem, times + 1)
            else:
                self._unlisted += 1
        log.log(logging.DEBUG if times else logging.WARNING, "%s", problem)

    def lines(self) -> list[str]:
        """Return one line per entry."""
        with self._lock:
            lines = [
                problem if times == 1 else f"{problem} ({times} times)"
                for problem, times in self._entries.values()
            ]
            if self._unlisted:
                lines.append(f"{self._unlisted} further problems are in the log only")
        return lines
