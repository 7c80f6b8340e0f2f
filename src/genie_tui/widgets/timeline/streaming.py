"""Running work: the text of growing answers, and the latest report of each run."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from genie_core.message import SYSTEM
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase
from genie_core.room.view.agents import (
    MOST,
    SILENT,
    Activity,
    approval_wait,
    label_of,
    subject_of,
    with_age,
)
from genie_core.runtime.progress import Shown, plan_steps
from genie_core.text.safe import visible_line

SHORTEST_PAUSE: Final = 1 / 20
"""Least seconds between two repaints of a growing answer."""

SHARE: Final = 4
"""The pause after a repaint is at least this many times as long as the repaint."""

MOST_NOTES: Final = 8
MOST_RUNS: Final = 256
LONGEST: Final = 120

OWN_WORK: Final = frozenset({"asking", "thinking", "writing"})
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
class _Run:
    """The activities of a run's agents, the one that was reported last, and the notes."""

    agents: dict[str, Activity] = field(default_factory=dict)
    latest: str = ""
    writes: bool = False
    notes: list[str] = field(default_factory=list)


class RoomClock:
    """The time in a room, which is that of its latest event and the time here since.

    So an age is right if the clocks of machines differ, and in a recording, where `clock` stands.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._latest = self._heard = 0.0

    def now(self, state: RoomState) -> float:
        """Return the time in seconds since the epoch."""
        if state.last_at != self._latest:
            self._latest, self._heard = state.last_at, self._clock()
        return self._latest + self._clock() - self._heard


class RunProgress:
    """The reports of the current runs. All but its notes is forgotten when a run ends.

    If several agents of a run work side by side, the latest report counts. `clock` counts seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._room = RoomClock(clock)
        self._state = RoomState()
        self._me = ""
        self._runs: dict[int, _Run] = {}
        self._notes: dict[int, tuple[str, ...]] = {}
        self._waiting: set[int] = set()
        self._told: dict[int, str] = {}

    def bind_state(self, state: RoomState, me: str) -> None:
        """Use the runs of a room, as seen by `me`."""
        self._state, self._me = state, me
        self._told.clear()
        self.keep_running()

    def report(self, message: int, agent: str, what: Shown, detail: str) -> None:
        """Record an agent's activity in the run for a message."""
        run = self._run(message)
        if what == "note" and plan_steps(detail):  # the tree of agents shows it
            return
        detail = visible_line(detail if len(detail) <= LONGEST else f"{detail[:LONGEST]}…")
        if what in ("note", "detail"):
            if detail not in run.notes and len(run.notes) < MOST_NOTES:
                run.notes.append(detail)
            return
        self._set(run, agent, what, detail)

    def text_arrived(self, message: int) -> None:
        """Record that text of the answer to a message arrived."""
        run = self._run(message)
        run.writes = True
        latest = run.agents.get(run.latest)
        if latest is None or latest.what in OWN_WORK:
            self._set(run, SYSTEM, "writing", "")

    def _set(self, run: _Run, agent: str, what: Shown, detail: str) -> None:
        now = self._clock()
        before = run.agents.pop(agent, Activity(what, detail, now, now))
        run.agents[agent] = before.followed_by(what, detail, now)
        run.latest = agent
        if len(run.agents) > MOST:
            del run.agents[next(iter(run.agents))]

    def has_text(self, message: int) -> bool:
        """Whether text of the answer to a message has arrived."""
        return message in self._runs and self._runs[message].writes

    def keep_running(self) -> None:
        """Forget ended runs; those that waited for a person begin to wait for something else."""
        running = self._state.running
        waiting = {message for message, each in running.items() if each.phase is Phase.WAITING}
        now = self._clock()
        for message in self._waiting - waiting:
            if (run := self._runs.get(message)) is not None:
                for agent, activity in run.agents.items():
                    run.agents[agent] = replace(activity, since=now, heard=now)
        self._waiting = waiting
        self._room.now(self._state)
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
        """Name the working agent of the run for a message, its step, or its obstacle; safe to show.

        Empty if there is nothing to say, and while the run waits for a person.
        """
        thread = self._state.running.get(message)
        run = self._runs.get(message)
        if message in self._waiting or thread is None:
            return ""
        if run is None or run.latest not in run.agents:
            return self._since(thread)
        activity = run.agents[run.latest]
        is_call = activity.what == "calling"
        subject = subject_of(self._state, thread, run.latest, activity.detail) if is_call else ""
        who = "" if run.latest == SYSTEM else f"{label_of(run.latest[-LONGEST:])} · "
        return who + visible_line(activity.line(self._clock(), subject))

    def _since(self, thread: MessageThread) -> str:
        """Say how long a run without any report has been silent."""
        is_deciding = thread.phase is Phase.DECIDING
        since = thread.at if is_deciding else thread.decided_at or thread.at
        words = "waiting for an earlier answer" if self._is_behind(thread) else "working"
        silent = self._room.now(self._state) - since
        return with_age("deciding" if is_deciding else words, silent) if silent >= SILENT else ""

    def _is_behind(self, thread: MessageThread) -> bool:
        """Whether an earlier message of the same person is still at work in the same engine."""
        return any(
            each.seq < thread.seq and (each.author, each.handler) == (thread.author, thread.handler)
            for each in self._state.running.values()
        )

    def approval_line(self, message: int) -> str:
        """Say whose answer the run for a message waits for; safe to show, empty if none."""
        thread = self._state.running.get(message)
        calls = [] if thread is None else self._state.waiting_in(thread)
        now = self._room.now(self._state)
        return visible_line(approval_wait(calls, self._me, now)) if calls else ""

    @property
    def is_idle(self) -> bool:
        """Whether no run is there to describe."""
        return not self._state.running

    def changed(self) -> list[int]:
        """Return the runs whose lines changed since they were last asked for."""
        lines = {each: self.approval_line(each) or self.line(each) for each in self._state.running}
        changed = [each for each, line in lines.items() if line != self._told.get(each, "")]
        self._told = lines
        return changed

    def _run(self, message: int) -> _Run:
        run = self._runs.setdefault(message, _Run())
        if len(self._runs) > MOST_RUNS:
            del self._runs[next(iter(self._runs))]
        return run
