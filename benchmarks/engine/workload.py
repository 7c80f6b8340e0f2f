"""The conversation that is measured, the same for everybody, message by message."""

from dataclasses import dataclass
from typing import Final

SENDERS: Final = 8
DELEGATED_EVERY: Final = 4
_WORDS: Final = (
    "the train leaves at seven, so let us meet at the station a quarter of an hour earlier"
)


@dataclass(frozen=True, slots=True)
class Line:
    """What one person says; a question is for the agent."""

    sender: str
    content: str
    request_id: str


def line(number: int) -> Line:
    """Build one message, numbered from 0.

    The senders take turns. The questions move on by one sender each round, so that everybody asks
    equally often: with eight senders and plain counting the same two people would ask them all.
    """
    turn, sender = divmod(number, SENDERS)
    mark = "?" if is_question(sender, turn) else "."
    return Line(f"person-{sender}", f"{number}: {_WORDS}{mark}", str(number))


def is_question(sender: int, turn: int) -> bool:
    """Whether a sender's message in a round is one for the agent."""
    return (sender + turn) % DELEGATED_EVERY == 0
