"""Who asked whom for an answer, and what each of them took, in some lines of plain text."""

from collections.abc import Sequence

from genie_core.room.protocol.events import Spending
from genie_core.runtime.progress import REASONER, Usage
from genie_core.text.format import counted, duration, money
from genie_tui.widgets.agent_tree import depth_of, in_order, label_of, stems


def spent_tree(spendings: Sequence[Spending]) -> str:
    """A line for each agent, below the one that asked it; empty if nothing was taken."""
    by_agent: dict[str, list[Usage]] = {}
    for each in spendings:
        by_agent.setdefault(each.agent, []).append(each.usage)
    deciding = by_agent.pop(REASONER, [])
    lines = [f"{REASONER}: {_taken(deciding)}"] if deciding else []
    if by_agent:
        paths = in_order(by_agent)
        for stem, path in zip(stems([depth_of(each) for each in paths]), paths, strict=True):
            lines.append(f"{stem}{label_of(path)}: {_taken(by_agent.get(path, []))}")
    return "\n".join(lines)


def _taken(usages: Sequence[Usage]) -> str:
    return "; ".join(map(_one, usages)) or "nothing"


def _one(usage: Usage) -> str:
    tokens = counted(usage.input_tokens + usage.output_tokens, "token")
    parts = [usage.model, counted(usage.requests, "request"), tokens, duration(usage.seconds)]
    if usage.cost is not None:
        parts.append(money(usage.cost))
    return ", ".join(part for part in parts if part)
