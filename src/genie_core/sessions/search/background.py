"""Index rooms in the background."""

from pathlib import Path
from threading import Lock, Thread
from typing import Final

INDEXING: Final = "indexing a room"
"""The name of the thread."""


class BackgroundIndexing:
    """Indexes a session in a thread that the program's end does not wait for.

    However often it is requested meanwhile, it runs once more. Cheap to import.
    """

    def __init__(self, index: Path) -> None:
        self._index = index
        self._lock = Lock()
        self._waiting: set[Path] = set()
        self._runs = False

    def request(self, folder: Path) -> None:
        """Index the news of the session in this folder, soon."""
        with self._lock:
            self._waiting.add(folder)
            if self._runs:
                return
            self._runs = True
        Thread(target=self._run, name=INDEXING, daemon=True).start()

    def _run(self) -> None:
        from genie_core.sessions.search.index import index_session

        while (folder := self._next()) is not None:
            index_session(self._index, folder)

    def _next(self) -> Path | None:
        with self._lock:
            self._runs = bool(self._waiting)
            return self._waiting.pop() if self._waiting else None
