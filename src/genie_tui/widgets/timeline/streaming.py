"""Running work: the text of growing answers, and the latest report of each run."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from genie_core.message import SYSTEM
from genie_core.room.state.thread import Phase
from genie_core.room.text.agents import label_of
from genie_core.runtime.progress import Shown, plan_steps
from genie_core.text.safe import visible_line

SHORTEST_PAUSE: Final = 1 / 20
"""Least seconds between two repaints of a growing answer."""

SHARE: Final = 4
"""The pause after a repaint is at least this many times as long as the repaint."""

STALLED: Final = 5.0
"""Seconds without a report from a model after which it counts as stalled."""

MOST_NOTES: Final = 8
MOST_RUNS: Final = 256
LONGEST: Final = 120

_EXPECTING: Final = frozenset({"asking", "thinking", "writing"})
"""States in which the next report has to come from the model."""


class AnswerStreams:
    """The text of growing answers by the message they answer, oldest first."""

    def __init__(self) -> None:
        self._parts: dict[int, list[str]] = {}

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for message, parts in self._parts.items():
            parts[:] = ["".join(parts)]
            yield message, parts[0]

    def add(self, message: int, text: str) -> None:
        """Add text to the answer to a message."""
        self._parts.setdefault(message, []).append(text)

    def end(self, message: int) -> None:
        self._parts.pop(message, None)


def repaint_pause(painting: float) -> float:
    """Return the seconds until the next repaint if the last took `painting` seconds.

    Long answers take longer to paint, so they are painted less often.
    """
    return max(SHORTEST_PAUSE, SHARE * painting)


@dataclass(slots=True)
class _Report:
    """The latest report of a run, and the time of its model's last one."""

    agent: str = SYSTEM
    what: Shown = "asking"
    detail: str = ""
    heard_at: float | None = None
    writes: bool = False
    notes: list[str] = field(default_factory=list)


class RunProgress:
    """The reports of the current runs. All but its notes is forgotten when a run ends.

    If several agents of a run work at once, the latest report counts. `clock` counts seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._runs: dict[int, _Report] = {}
        self._notes: dict[int, tuple[str, ...]] = {}
        self._waiting: set[int] = set()

    def report(self, message: int, agent: str, what: Shown, detail: str) -> None:
        """Record an agent's activity in the run for a message."""
        run = self._run(message)
        if what == "note" and plan_steps(detail):  # the tree of agents shows it
            return
        detail = visible_line(detail[:LONGEST])
        if what in ("note", "detail"):
            if detail not in run.notes and len(run.notes) < MOST_NOTES:
                run.notes.append(detail)
            return
        run.agent, run.what, run.detail, run.heard_at = agent, what, detail, self._clock()

    def text_arrived(self, message: int) -> None:
        """Record that text of the answer to a message arrived."""
        run = self._run(message)
        run.heard_at, run.writes = self._clock(), True
        if run.what in _EXPECTING:
            run.agent, run.what, run.detail = SYSTEM, "writing", ""

    def has_text(self, message: int) -> bool:
        """Whether text of the answer to a message has arrived."""
        return message in self._runs and self._runs[message].writes

    def keep_running(self, running: Mapping[int, Phase]) -> None:
        """Forget ended runs, and record which ones wait for a person."""
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
        """Return the notes on a run, without its plan, also after its end."""
        run = self._runs.get(message)
        return tuple(run.notes) if run is not None else self._notes.get(message, ())

    def line(self, message: int) -> str:
        """Say which agent does what in the run for a message; safe to show.

        Empty if nothing was reported, and while the run waits for a person.
        """
        run = self._runs.get(message)
        if run is None or run.heard_at is None or message in self._waiting:
            return ""
        who = "" if run.agent == SYSTEM else f"{label_of(run.agent[-LONGEST:])} · "
        if self._is_stalled(message, run):
            silent = self._clock() - run.heard_at
            return f"{who}no reply from the model for {silent:.0f} s"
        return who + _words(run)

    @property
    def stalled(self) -> list[int]:
        """The runs without a report of their model for `STALLED` seconds."""
        return [message for message, run in self._runs.items() if self._is_stalled(message, run)]

    def _is_stalled(self, message: int, run: _Report) -> bool:
        if message in self._waiting or run.heard_at is None or run.what not in _EXPECTING:
            return False
        return self._clock() - run.heard_at >= STALLED

    def _run(self, message: int) -> _Report:
        run = self._runs.setdefault(message, _Report())
        if len(self._runs) > MOST_RUNS:
            del self._runs[next(iter(self._runs))]
        return run


def _words(run: _Report) -> str:
    match run.what:
        case "asking":
            return "waiting for the model…"
        case "thinking":
            return "thinking…"
        case "writing":
            return f"writing {run.detail}…" if run.detail else "writing…"
        case "calling":
            return f"calling {run.detail}"
        case "retrying":
            return f"retrying: {run.detail}" if run.detail else "retrying…"
        case "note" | "detail":
            return run.detail
