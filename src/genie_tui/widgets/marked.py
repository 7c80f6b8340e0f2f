"""Marking a decision as wrong, from wherever it is shown."""

from collections.abc import Collection
from typing import Literal, TypeAlias

from textual.message import Message

Verdict: TypeAlias = Literal["ignore", "delegate"]


class MarkWanted(Message):
    """The person wants to mark the decision about a message as wrong, or not any more.

    `decision` is None if there is none yet.
    """

    def __init__(self, message: int, decision: Verdict | None) -> None:
        super().__init__()
        self.message = message
        self.decision = decision


def exchanged(known: set[int], wrong: Collection[int]) -> set[int]:
    """Bring a set of marked messages up to date; returns those that look different now."""
    changed = known ^ set(wrong)
    known ^= changed
    return changed
