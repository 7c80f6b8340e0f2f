"""How far the room's files have come, in the words of the screen."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from genie_core.room.seat import Transfer, Way
from genie_tui.text import visible_line


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a file is; `style` is the name of one in a timeline's palette."""

    text: str
    style: str


HERE: Final = Standing("here", "done")
ELSEWHERE: Final = Standing("not here yet", "muted")


class Shelf:
    """Files by digest. `place` tells where one is on this machine, None if it is not."""

    def __init__(self) -> None:
        self.place: Callable[[str], Path | None] = _nowhere
        self._under_way: dict[str, Transfer] = {}

    def take(self, transfer: Transfer) -> None:
        """Take note of how far a file has come."""
        if transfer.complete:
            self._under_way.pop(transfer.digest, None)
        else:
            self._under_way[transfer.digest] = transfer

    def is_sending(self, digest: str) -> bool:
        """Whether a file is on its way from here to the room."""
        transfer = self._under_way.get(digest)
        return transfer is not None and transfer.way is Way.UP and not transfer.problem

    def standing(self, digest: str) -> Standing:
        """Where a file is, or how much of it."""
        transfer = self._under_way.get(digest)
        if transfer is None:
            return ELSEWHERE if self.place(digest) is None else HERE
        if transfer.problem:
            return Standing(visible_line(transfer.problem), "failed")
        part = f"{transfer.done * 100 // max(transfer.size, 1)} %"
        return Standing(f"sending {part}" if transfer.way is Way.UP else part, "working")


def _nowhere(_digest: str) -> None:
    return None
