"""Where a seat keeps the room's files, and the place of those who keep none."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from genie_core.room.protocol.errors import NoSuchFile
from genie_core.room.protocol.events import Event, FileRef
from genie_core.room.protocol.frames import ClientFrame, FilePiece, FileStored, FrameRefused
from genie_core.room.protocol.limits import Limits
from genie_core.room.seat import Transfer


class Library(Protocol):
    """Keeps the room's files on this machine: takes own ones in, sends them, fetches the others'.

    Everything but `attach` and `aclose` is called on the event loop and does not wait.
    """

    def start(self, ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]) -> None:
        """Begin: `ask` sends a frame if there is a connection, `report` tells how far files are."""

    async def attach(self, path: Path) -> FileRef:
        """Take a file in and begin to send it; a `GenieError` says why it can't be."""

    def bring(self, file: FileRef) -> bool:
        """Begin to send a file that was taken in before this began; False if it is gone."""

    def place(self, digest: str) -> Path:
        """Where a file is, or will be once it has arrived."""

    def has(self, digest: str) -> bool:
        """Whether a file is here, all of it."""

    def is_sent(self, digest: str) -> bool:
        """Whether the room has told that it has the whole file, or cannot be expected to."""

    def drop(self, digest: str) -> None:
        """Stop to send a file, unless a message names it."""

    def recall(self, files: Iterable[FileRef]) -> None:
        """Take note of files that the own copy names; fetches what has never arrived."""

    def on_event(self, event: Event) -> None:
        """Take note of an event that is new; fetches what a message brings."""

    def on_answer(self, answer: FileStored | FilePiece | FrameRefused) -> None:
        """Take in what the room says about a file."""

    def on_online(self, limits: Limits) -> None:
        """Go on where the last connection ended."""

    def on_offline(self) -> None:
        """Take note that nothing can be asked at the moment."""

    async def aclose(self) -> None:
        """Finish what is being written and stop."""


class NoLibrary:
    """Keeps no files: none can be attached, none is here, and no message waits for one."""

    def start(self, ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]) -> None:
        """Ask for nothing."""

    async def attach(self, path: Path) -> FileRef:
        """Raise `NoSuchFile`."""
        raise NoSuchFile(str(path), "files can't be attached at this terminal")

    def bring(self, file: FileRef) -> bool:
        """Have none."""
        return False

    def place(self, digest: str) -> Path:
        """Name no place that could exist."""
        return Path(digest)

    def has(self, digest: str) -> bool:
        """Have none."""
        return False

    def is_sent(self, digest: str) -> bool:
        """Expect none to be sent."""
        return True

    def drop(self, digest: str) -> None:
        """Send none."""

    def recall(self, files: Iterable[FileRef]) -> None:
        """Fetch none."""

    def on_event(self, event: Event) -> None:
        """Fetch none."""

    def on_answer(self, answer: FileStored | FilePiece | FrameRefused) -> None:
        """Pass over what was not asked for."""

    def on_online(self, limits: Limits) -> None:
        """Ask for nothing."""

    def on_offline(self) -> None:
        """Go on doing nothing."""

    async def aclose(self) -> None:
        """Finish nothing."""
