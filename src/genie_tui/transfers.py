"""The progress of a room's files, in words for the screen."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from genie_core.room.files.transfer import Direction, Transfer
from genie_core.text.safe import visible_line


@dataclass(frozen=True, slots=True)
class FileStatus:
    """Where a file is; `style` names one of the timeline's palette."""

    text: str
    style: str


HERE: Final = FileStatus("downloaded", "done")
ELSEWHERE: Final = FileStatus("not downloaded yet", "muted")


class FileTransfers:
    """The transfers of files, by digest.

    `place` returns the path of a file on this machine, None if it is not here.
    """

    def __init__(self) -> None:
        self.place: Callable[[str], Path | None] = lambda _: None
        self._running: dict[str, Transfer] = {}

    def update(self, transfer: Transfer) -> None:
        """Record the progress of a transfer."""
        if transfer.complete:
            self._running.pop(transfer.digest, None)
        else:
            self._running[transfer.digest] = transfer

    def is_sending(self, digest: str) -> bool:
        transfer = self._running.get(digest)
        return transfer is not None and transfer.direction is Direction.UP and not transfer.problem

    def status(self, digest: str) -> FileStatus:
        """Return where a file is, or how much of it has arrived."""
        transfer = self._running.get(digest)
        if transfer is None:
            return ELSEWHERE if self.place(digest) is None else HERE
        if transfer.problem:
            return FileStatus(visible_line(transfer.problem), "failed")
        part = f"{transfer.done * 100 // max(transfer.size, 1)} %"
        return FileStatus(
            f"sending {part}" if transfer.direction is Direction.UP else part, "working"
        )
