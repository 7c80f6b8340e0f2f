"""The agents of a run as a tree, with their activity."""

from dataclasses import dataclass, field
from typing import Final

from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.room.text.agents import MOST, depth_of, in_order, label_of, paths_above
from genie_core.runtime.progress import What, plan_steps
from genie_core.text.safe import visible_line

WAITS: Final = "$text-warning"
WORKS: Final = "$text-accent"
DONE: Final = "$foreground-muted"

MOST_STEPS: Final = 12
"""Steps of a plan that are shown; another member's engine may send any number."""

_BUSY: Final[dict[What, str]] = {
    "asking": "◐ waiting for its model",
    "thinking": "◐ thinking",
    "writing": "◐ writing",
    "calling": "◐ calls {}",
    "retrying": "↻ retrying",
    "note": "◐ working",
}
_OWN_WORK: Final = frozenset({"asking", "thinking", "writing"})
"""An agent in one of these states has received its subagents' answers."""


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One agent in the tree, or a step of its plan.

    `doing` describes its activity, in the theme's colour `tone`.
    """

    path: str
    depth: int
    label: str
    doing: str
    tone: str


@dataclass(slots=True)
class _Report:
    what: What
    detail: str
    number: int
    plan: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RunningAgents:
    """The latest report of each agent in a run."""

    _reports: dict[int, dict[str, _Report]] = field(default_factory=dict)
    _number: int = 0

    def report(self, message: int, agent: str, what: What, detail: str) -> None:
        """Record an agent's activity in the run for a message."""
        reports = self._reports.setdefault(message, {})
        if what == "note":
            if (steps := plan_steps(detail)) and agent in reports:
                reports[agent].plan = [each for each in steps if each.strip()][:MOST_STEPS]
        elif agent in reports or len(reports) < MOST:
            self._number += 1
            plan = reports[agent].plan if agent in reports else []
            reports[agent] = _Report(what, detail, self._number, plan)

    def forget_ended(self, state: RoomState) -> None:
        """Forget the reports of runs that have ended."""
        for message in [each for each in self._reports if each not in state.running]:
            del self._reports[message]

    def rows(self, state: RoomState, person: str) -> list[AgentRow]:
        """Return the trees of a person's runs, without those of a single agent without a plan."""
        rows: list[AgentRow] = []
        for exchange in state.running.values():
            if exchange.handler == person:
                tree = self._tree(state, exchange)
                rows += tree if len(tree) > 1 else []
        return rows

    def _tree(self, state: RoomState, exchange: MessageThread) -> list[AgentRow]:
        reports = self._reports.get(exchange.seq, {})
        asked = [state.proposals[each] for each in exchange.proposals]
        waiting = {
            each.agent: each for each in asked if each.id in exchange.waiting and not each.unasked
        }
        rows: list[AgentRow] = []
        for path in in_order([*reports, *(each.agent for each in asked)]):
            depth = depth_of(path)
            rows.append(AgentRow(path, depth, label_of(path), *_doing(path, reports, waiting)))
            plan = reports[path].plan if path in reports else []
            rows += [AgentRow("", depth + 1, visible_line(each), "", DONE) for each in plan]
        return rows


def _doing(
    path: str, reports: dict[str, _Report], waiting: dict[str, ToolApproval]
) -> tuple[str, str]:
    if path in waiting:
        return f"▲ asks {waiting[path].owner} for {waiting[path].tool}", WAITS
    report = reports.get(path)
    if _is_done(path, report, reports):
        return "✓ done", DONE
    if report is None:
        return "◐ working", WORKS
    return _BUSY[report.what].format(visible_line(report.detail)), WORKS


def _is_done(path: str, report: _Report | None, reports: dict[str, _Report]) -> bool:
    """Whether an agent above has worked since this one's last report."""
    last = report.number if report is not None else 0
    above = (reports.get(each) for each in paths_above(path))
    return any(each and each.what in _OWN_WORK and each.number > last for each in above)
