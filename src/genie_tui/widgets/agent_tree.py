"""The agents of a run as a tree, with their activity."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.room.view.agents import (
    MOST,
    SILENT,
    Activity,
    approval_wait,
    depth_of,
    in_order,
    label_of,
    paths_above,
    subject_of,
)
from genie_core.runtime.progress import Shown, plan_steps
from genie_core.text.safe import visible_line
from genie_tui.widgets.timeline.streaming import OWN_WORK, RoomClock

WAITS: Final = "$text-warning"
WORKS: Final = "$text-accent"
DONE: Final = "$foreground-muted"

MOST_STEPS: Final = 12
"""Steps of a plan that are shown; another member's engine may send any number."""

"""An agent in one of these states has received its subagents' answers."""


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One agent in the tree, or a step of its plan.

    `doing` describes its activity, in the theme's colour `tone`. `is_silent`: it has been waiting
    for some seconds.
    """

    path: str
    depth: int
    label: str
    doing: str
    tone: str
    is_silent: bool = False


@dataclass(slots=True)
class _Report:
    activity: Activity
    number: int
    plan: list[str] = field(default_factory=list)


class RunningAgents:
    """The latest report of each agent in a run. `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._room = RoomClock(clock)
        self._reports: dict[int, dict[str, _Report]] = {}
        self._number = 0

    def report(self, message: int, agent: str, what: Shown, detail: str) -> None:
        """Record an agent's activity in the run for a message."""
        reports = self._reports.setdefault(message, {})
        before = reports.get(agent)
        if what == "note":
            if (steps := plan_steps(detail)) and before is not None:
                before.plan = [each for each in steps if each.strip()][:MOST_STEPS]
        elif before is not None or len(reports) < MOST:
            self._number += 1
            now = self._clock()
            activity = before.activity if before else Activity(what, detail, now, now)
            plan = before.plan if before else []
            reports[agent] = _Report(activity.followed_by(what, detail, now), self._number, plan)

    def forget_ended(self, state: RoomState) -> None:
        """Forget the reports of runs that have ended."""
        self._room.now(state)
        for message in [each for each in self._reports if each not in state.running]:
            del self._reports[message]

    def rows(
        self, state: RoomState, me: str, person: str, *, single: bool = False
    ) -> list[AgentRow]:
        """Return the trees of a person's runs as `me` sees them.

        Unless wanted, that of a `single` agent without a plan is left out until the agent has been
        waiting for something else than a person for a while.
        """
        rows: list[AgentRow] = []
        for thread in state.running.values():
            if thread.handler == person and not thread.is_hidden:
                tree = self._tree(state, me, thread)
                is_silent = any(each.is_silent for each in tree)
                rows += tree if single or len(tree) > 1 or is_silent else []
        return rows

    def _tree(self, state: RoomState, me: str, thread: MessageThread) -> list[AgentRow]:
        reports = self._reports.get(thread.seq, {})
        calls = state.waiting_in(thread)
        rows: list[AgentRow] = []
        asked = (state.calls[each].agent for each in thread.calls)
        for path in in_order([*reports, *asked]):
            waiting = [each for each in calls if each.agent == path]
            if waiting:
                doing = f"▲ {approval_wait(waiting, me, self._room.now(state))}", WAITS, False
            else:
                doing = self._doing(state, thread, path)
            depth = depth_of(path)
            rows.append(AgentRow(path, depth, label_of(path), *doing))
            plan = reports[path].plan if path in reports else []
            rows += [AgentRow("", depth + 1, visible_line(each), "", DONE) for each in plan]
        return rows

    def _doing(self, state: RoomState, thread: MessageThread, path: str) -> tuple[str, str, bool]:
        """Return the work of an agent, the colour for that, and whether it has long been silent."""
        reports = self._reports.get(thread.seq, {})
        report = reports.get(path)
        if _is_done(path, report, reports):
            return "✓ done", DONE, False
        if report is None:
            return "◐ working", WORKS, False
        activity, now = report.activity, self._clock()
        is_call = activity.what == "calling"
        subject = subject_of(state, thread, path, activity.detail) if is_call else ""
        glyph = "↻" if activity.what == "retrying" else "◐"
        line = f"{glyph} {visible_line(activity.line(now, subject))}"
        return line, WORKS, activity.waiting(now) >= SILENT


def _is_done(path: str, report: _Report | None, reports: dict[str, _Report]) -> bool:
    """Whether an agent above has worked since this one's last report."""
    last = report.number if report is not None else 0
    above = (reports.get(each) for each in paths_above(path))
    return any(each and each.activity.what in OWN_WORK and each.number > last for each in above)
