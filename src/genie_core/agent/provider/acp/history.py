"""The part of a conversation with an agent program that is kept here."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

RUNTIME: Final = "acp"
"""Marks our lines among those of other runtimes."""

MOST_TURNS: Final = 20
MOST_CHARS: Final = 4_000
"""Characters kept of each query and answer."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One query and its answer, both shortened.

    `session` is the id that the program gave to the session, and `program` identifies the program,
    which alone knows it.
    """

    query: str
    answer: str
    session: str
    program: str


class History:
    """The latest turns, as one line of a journal each."""

    def __init__(self, command: Sequence[str]) -> None:
        self.turns: list[Turn] = []
        self._program = hashlib.sha256("\0".join(command).encode()).hexdigest()[:16]
        self._unsaved: list[Turn] = []

    @property
    def session(self) -> str:
        """The id of the last session with this program, or empty."""
        last = self.turns[-1] if self.turns else None
        return last.session if last and last.program == self._program else ""

    def add(self, query: str, answer: str, session: str) -> None:
        turn = Turn(_shortened(query), _shortened(answer), session, self._program)
        self._unsaved.append(turn)
        self.turns = [*self.turns, turn][-MOST_TURNS:]

    def take_unsaved(self) -> list[Any]:
        lines, self._unsaved = [_line(each) for each in self._unsaved], []
        return lines

    def to_state(self) -> list[Any]:
        return [_line(each) for each in self.turns]

    def restore(self, state: Any) -> None:
        """Restore lines; those of other runtimes are left out. Raises `ValueError`."""
        lines = state if isinstance(state, list) else [state]
        turns = [_turn(each) for each in lines if is_line(each)]
        self.turns, self._unsaved = turns[-MOST_TURNS:], []


def is_line(line: Any) -> bool:
    """Whether a saved line is one of ours."""
    return isinstance(line, dict) and line.get("runtime") == RUNTIME


def _line(turn: Turn) -> dict[str, Any]:
    return {"runtime": RUNTIME, **asdict(turn)}


def _turn(line: dict[str, Any]) -> Turn:
    values = [line.get(name) for name in ("query", "answer", "session", "program")]
    if not all(isinstance(each, str) for each in values):
        raise ValueError("a turn of an agent program lacks its query, answer or session")
    return Turn(*map(str, values))


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}…"
