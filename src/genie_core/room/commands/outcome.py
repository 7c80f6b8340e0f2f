"""Results of a command, which each surface shows in its own way."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from genie_core.errors import GenieError


class NotDone(GenieError):
    """A command changed nothing; the text says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """A text that answers a command; the `title` names its subject."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that the person confirms before `act` runs.

    `yes` names the confirmed action. The text of a `diff` has its signs at the beginning of lines.
    """

    title: str
    text: str
    yes: str
    act: "Callable[[], Outcome | Awaitable[Outcome]]"
    is_diff: bool = False


Outcome: TypeAlias = Result | Question | None
