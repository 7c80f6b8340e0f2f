"""What the room keeps for each connection. None of it grows with how slowly the peer reads."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from genie_core.room.frame import (
    Bye,
    Delta,
    Equip,
    Frame,
    Hello,
    Publish,
    Refused,
    Say,
    ServerFrame,
    Stop,
    Streamed,
    Typed,
    Typing,
)

MERGED_CHARS: Final = 64_000
"""Most text of one answer that waits for one peer; the finished answer has all of it anyway."""


class Stage(Enum):
    """Where a connection is in its life."""

    GREETING = "greeting"
    SEATED = "seated"
    LEAVING = "leaving"


_TALK: Final = (Say, Publish, Equip, Typing, Delta, Stop)

NEXT: Final[dict[tuple[Stage, type[Frame]], Stage]] = {
    (Stage.GREETING, Hello): Stage.SEATED,
    (Stage.SEATED, Bye): Stage.LEAVING,
    **{(Stage.SEATED, kind): Stage.SEATED for kind in _TALK},
}
"""Which frames fit which stage, and where they lead. Anything else ends the connection."""


class Signals:
    """Ephemeral frames that wait for one peer. The oldest go when there are too many."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._waiting: OrderedDict[str | int, Typed | Streamed] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, signal: Typed | Streamed) -> None:
        """Keep a signal, merged with one for the same person or message that still waits."""
        if isinstance(signal, Typed):
            self._waiting[signal.name] = signal
        else:
            earlier = self._waiting.get(signal.message)
            text = earlier.text if isinstance(earlier, Streamed) else ""
            merged = (text + signal.text)[-MERGED_CHARS:]
            self._waiting[signal.message] = Streamed(signal.message, merged)
        if len(self._waiting) > self._capacity:
            self._waiting.popitem(last=False)

    def take(self) -> list[ServerFrame]:
        """Hand over what waits."""
        taken: list[ServerFrame] = list(self._waiting.values())
        self._waiting.clear()
        return taken


@dataclass(slots=True, eq=False)
class Peer:
    """One connection to the room.

    `source` tells connections from different places apart; it is empty inside the host's process.
    `position` is the last event handed over, `strikes` how many frames in a row were refused.
    `farewell` is the refusal to end with; with `lingers` it comes only after all events. `done`
    says that nothing more will be sent.
    """

    id: int
    signals: Signals
    source: str = ""
    stage: Stage = Stage.GREETING
    name: str = ""
    token: str = ""
    position: int = 0
    strikes: int = 0
    replies: deque[ServerFrame] = field(default_factory=deque)
    farewell: Refused | None = None
    lingers: bool = False
    done: bool = False

    def take_replies(self) -> list[ServerFrame]:
        """Hand over the direct replies that wait."""
        taken = list(self.replies)
        self.replies.clear()
        return taken
