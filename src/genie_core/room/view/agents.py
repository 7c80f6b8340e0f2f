"""Agents in words: their paths, as a tree, and their work or wait."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from genie_core.message import SYSTEM
from genie_core.room.engine.approval_policy import ANSWER_SERVER, EXCEED_BUDGET
from genie_core.room.engine.tool_effects import DOES
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.runtime.progress import REASONER, Shown
from genie_core.text.format import MINUTE, duration
from genie_core.text.safe import visible_line

MOST: Final = 24
"""Agents of one run that are followed at most."""

LONGEST: Final = 240
"""Characters of a path at most; a deeper agent is not followed."""

SILENT: Final = 5.0
"""Seconds of silence after which the wait of an agent is shown."""

SUBJECT: Final = 60
"""Characters of the subject of a call at most."""

DIRECT: Final = "run_subagent"
"""The tool by which an agent directs another one."""

_EFFECT: Final = re.compile("|".join(f"^{does} " for does in DOES.values()))

_STREAMED: Final = frozenset({"thinking", "writing"})
"""Activities that are reported again and again."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The work of an agent, its begin and its last news, in seconds of one clock."""

    what: Shown
    detail: str
    since: float
    heard: float

    def followed_by(self, what: Shown, detail: str, now: float) -> "Activity":
        """Return the activity after a report, which may be of the same one."""
        if (what, detail) == (self.what, self.detail):
            return replace(self, heard=now)
        return Activity(what, detail, now, now)

    def waiting(self, now: float) -> float:
        """Return for how many seconds the agent has been waiting."""
        return now - (self.heard if self.what in _STREAMED else self.since)

    def line(self, now: float, subject: str = "") -> str:
        """Describe the agent's work or, after `SILENT` seconds, its wait.

        `subject` is that of a call. Not yet safe to show.
        """
        waiting = self.waiting(now)
        if waiting < SILENT:
            return self._words(subject)
        words = "waiting for the model" if self.what in _STREAMED else self._words(subject)
        return with_age(words.removesuffix("…"), waiting)

    def _words(self, subject: str) -> str:
        match self.what:
            case "asking":
                return f"waiting for {self.detail or 'the model'}…"
            case "thinking":
                return "thinking…"
            case "writing":
                return f"writing {self.detail}…" if self.detail else "writing…"
            case "calling" if self.detail == DIRECT:
                return f"waiting for {subject or 'another agent'}…"
            case "calling":
                return f"calling {self.detail} {subject}".rstrip()
            case "retrying":
                return f"retrying: {self.detail}" if self.detail else "retrying…"
            case "note" | "detail":
                return self.detail


def with_age(words: str, seconds: float) -> str:
    """Append how long something has been so, after `SILENT` seconds: "writing, 12 s"."""
    if seconds < SILENT:
        return words
    age = f"{int(seconds)} s" if seconds < MINUTE else duration(seconds)
    return f"{words}, {age}"


def subject_of(state: RoomState, thread: MessageThread, agent: str, tool: str) -> str:
    """Return the subject of an agent's latest call of a tool, as far as the room may know it.

    Not yet safe to show.
    """
    for call in map(state.calls.__getitem__, reversed(thread.calls)):
        if (call.agent, call.tool) != (agent, tool):
            continue
        values = [value for value in call.arguments.values() if isinstance(value, str)]
        subject = values[0] if values else ""
        if tool == DIRECT:
            subject = str(call.arguments.get("subagent_name", ""))
        elif call.effects:
            subject = _EFFECT.sub("", call.effects[0])
        return " ".join(subject[: 2 * SUBJECT].split())[:SUBJECT]
    return ""


def approval_wait(waiting: Sequence[ToolApproval], me: str, now: float) -> str:
    """Say whose answer a run waits for, and how long; `now` is in seconds since the epoch.

    There must be a call. Not yet safe to show.
    """
    first = min(waiting, key=lambda each: each.asked_at)
    whose = "your" if first.owner == me else f"{first.owner}'s"
    if len(waiting) > 1:
        words = f"waiting for {whose} approval of {len(waiting)} tool calls"
    elif first.tool == EXCEED_BUDGET:
        words = f"waiting for {whose} answer about the budget"
    elif first.tool == ANSWER_SERVER:
        words = f"waiting for {whose} answer to a tool server"
    else:
        words = f"waiting for {whose} approval of {first.tool}"
    return with_age(words, now - first.asked_at)


def in_order(paths: Iterable[str]) -> list[str]:
    """Return each path once, with its ancestors, in tree order."""
    children: dict[str, dict[str, None]] = {}
    for path in list(dict.fromkeys(paths))[:MOST]:
        if path not in (SYSTEM, REASONER) and 0 < len(path) <= LONGEST:
            for child in (*paths_above(path)[:-1], path):
                children.setdefault(paths_above(child)[0], {})[child] = None
    listed: list[str] = [SYSTEM]
    waiting = [*reversed(children.get(SYSTEM, {}))]
    while waiting:
        path = waiting.pop()
        listed.append(path)
        waiting += reversed(children.get(path, {}))
    return listed


def depth_of(path: str) -> int:
    return 0 if path == SYSTEM else 1 + path.count("/")


def label_of(path: str) -> str:
    """Return an agent's name in a tree; safe to show."""
    return "genie" if path == SYSTEM else visible_line(path.rpartition("/")[2])


def agent_path(path: str) -> str:
    """Format the path of an agent for people: "genie › search:1a2b"."""
    agents = path.split("/")
    named = ["genie", *agents] if agents[0] != SYSTEM else ["genie", *agents[1:]]
    return " › ".join(named)


def stems(depths: Sequence[int]) -> list[str]:
    """Return the lines that lead to each row of a tree, given the depths."""
    drawn: list[str] = []
    for place, depth in enumerate(depths):
        later = depths[place + 1 :]
        stem = "".join("│ " if _goes_on(later, level) else "  " for level in range(1, depth))
        end = ("├ " if _goes_on(later, depth) else "└ ") if depth else ""
        drawn.append(stem + end)
    return drawn


def _goes_on(later: Sequence[int], level: int) -> bool:
    """Whether another row of this level follows before the tree returns to a higher one."""
    return next((depth == level for depth in later if depth <= level), False)


def paths_above(path: str) -> list[str]:
    """Return the ancestors of an agent, nearest first."""
    if path == SYSTEM:
        return []
    steps = path.split("/")
    return [*("/".join(steps[:end]) for end in range(len(steps) - 1, 0, -1)), SYSTEM]
