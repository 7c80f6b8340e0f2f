"""Paths of agents in words and as a tree."""

from collections.abc import Iterable, Sequence
from typing import Final

from genie_core.message import SYSTEM
from genie_core.runtime.progress import REASONER
from genie_core.text.safe import visible_line

MOST: Final = 24
"""Agents of one run that are followed at most."""

LONGEST: Final = 240
"""Characters of a path at most; a deeper agent is not followed."""


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
