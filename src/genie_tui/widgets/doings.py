"""What the agents that work on a message are at, in a line that a person can read."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from genie_core.message import SYSTEM
from genie_core.room.state.thread import Phase
from genie_core.runtime.progress import What
from genie_core.text.safe import visible_line
from genie_tui.widgets.agent_tree import label_of

STALLED: Final = 5.0
"""Seconds without a word from a model after which it is said that there is none."""

MOST_NOTES: Final = 8
MOST_RUNS: Final = 256
LONGEST: Final = 120

_EXPECTING: Final = frozenset({"asking", "thinking", "writing"})
"""What a model is at when the next word has to come from it."""


@dataclass(slots=True)
class _Run:
    """The latest report of a run, and when its model was last heard of."""

    agent: str = SYSTEM
    what: What = "asking"
    detail: str = ""
    heard_at: float | None = None
    writes: bool = False
    notes: list[str] = field(default_factory=list)


class Doings:
    """What is reported of the runs that go on; all but its notes is forgotten when a run ends.

    Where several agents work at once, the one that was heard of last counts. `clock` counts
    seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._runs: dict[int, _Run] = {}
        self._notes: dict[int, tuple[str, ...]] = {}
        self._waiting: set[int] = set()

    def take(self, message: int, agent: str, what: What, detail: str) -> None:
        """Take note of what an agent is at in the run for a message."""
        run = self._run(message)
        detail = visible_line(detail[:LONGEST])
        if what in ("note", "detail"):
            if detail not in run.notes and len(run.notes) < MOST_NOTES:
                run.notes.append(detail)
            return
        run.agent, run.what, run.detail, run.heard_at = agent, what, detail, self._clock()

    def wrote(self, message: int) -> None:
        """Take note that text of the answer to a message came in."""
        run = self._run(message)
        run.heard_at, run.writes = self._clock(), True
        if run.what in _EXPECTING:
            run.agent, run.what, run.detail = SYSTEM, "writing", ""

    def is_written(self, message: int) -> bool:
        """Whether there is text of the answer to a message already."""
        return message in self._runs and self._runs[message].writes

    def keep(self, running: Mapping[int, Phase]) -> None:
        """Forget the runs that have ended, and take note of those that wait for a person."""
        waiting = {message for message, phase in running.items() if phase is Phase.WAITING}
        for message in self._waiting - waiting:
            if (run := self._runs.get(message)) is not None and run.heard_at is not None:
                run.heard_at = self._clock()
        self._waiting = waiting
        for message in [each for each in self._runs if each not in running]:
            if notes := self._runs.pop(message).notes:
                self._notes[message] = tuple(notes)
        while len(self._notes) > MOST_RUNS:
            del self._notes[next(iter(self._notes))]

    def notes(self, message: int) -> tuple[str, ...]:
        """What a person should know about a run, also when it is over."""
        run = self._runs.get(message)
        return tuple(run.notes) if run is not None else self._notes.get(message, ())

    def line(self, message: int) -> str:
        """Who is at what in the run for a message. Safe to show.

        Empty if nothing was reported, and while the run waits for a person.
        """
        run = self._runs.get(message)
        if run is None or run.heard_at is None or message in self._waiting:
            return ""
        who = "" if run.agent == SYSTEM else f"{label_of(run.agent[-LONGEST:])} · "
        if self._is_stalled(message, run):
            silent = self._clock() - run.heard_at
            return f"{who}no word from the model for {silent:.0f} s"
        return who + _words(run)

    @property
    def stalled(self) -> list[int]:
        """The runs whose models were not heard of for a while."""
        return [message for message, run in self._runs.items() if self._is_stalled(message, run)]

    def _is_stalled(self, message: int, run: _Run) -> bool:
        if message in self._waiting or run.heard_at is None or run.what not in _EXPECTING:
            return False
        return self._clock() - run.heard_at >= STALLED

    def _run(self, message: int) -> _Run:
        run = self._runs.setdefault(message, _Run())
        if len(self._runs) > MOST_RUNS:
            del self._runs[next(iter(self._runs))]
        return run


def _words(run: _Run) -> str:
    match run.what:
        case "asking":
            return "waits for the model…"
        case "thinking":
            return "thinking…"
        case "writing":
            return f"writing {run.detail}…" if run.detail else "writing…"
        case "calling":
            return f"calling {run.detail}"
        case "retrying":
            return f"trying again: {run.detail}" if run.detail else "trying again…"
        case "note" | "detail":
            return run.detail
