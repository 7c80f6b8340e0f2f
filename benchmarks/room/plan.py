"""What is done in one run, as it travels to the processes that take part in it."""

import json
from dataclasses import asdict, dataclass
from typing import Final

ROOM: Final = "room"
BROADCAST: Final = "broadcast"
TERMINAL: Final = "group-terminal"
SUBJECTS: Final = (ROOM, BROADCAST, TERMINAL)

PACE: Final = 20.0
"""Messages per second, of all senders together, where they are paced."""

TEXT_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: `clients` get `messages` that the first `senders` of them write in turn.

    `pace` is in messages per second; 0 is as fast as possible. With `stalled` there is one client
    more, which is let in and then reads nothing. `patience` is how many seconds of silence mean
    that nothing will come any more.
    """

    subject: str
    clients: int
    messages: int
    senders: int
    pace: float
    stalled: bool
    patience: float

    def is_encrypted(self) -> bool:
        """Whether the subject speaks TLS; group-terminal can't."""
        return self.subject != TERMINAL

    def to_json(self) -> str:
        """Write it in one line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(line: str) -> "Plan":
        """Read what `to_json` wrote."""
        return Plan(**json.loads(line))


@dataclass(frozen=True, slots=True)
class Note:
    """What a client writes: who, its how many-eth in the room, and when it was sent (ns)."""

    sender: int
    number: int
    sent: int

    def text(self) -> str:
        """Write it as a message of `TEXT_CHARS` characters."""
        return f"{self.sender} {self.number} {self.sent} ".ljust(TEXT_CHARS, "x")

    @staticmethod
    def read(text: str) -> "Note":
        """Read what `text` wrote."""
        sender, number, sent, _ = text.split(" ", 3)
        return Note(int(sender), int(number), int(sent))
