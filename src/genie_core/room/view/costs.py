"""Costs as plain text: of a run, of each person and agent, and of the budget."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from genie_core.message import SYSTEM
from genie_core.room.engine.controls import Allowance
from genie_core.room.protocol.events import Spending
from genie_core.room.state.costs import Costs, total
from genie_core.room.view.agents import depth_of, in_order, label_of, stems
from genie_core.runtime.progress import REASONER, Usage
from genie_core.text.format import counted, duration, money, short_count
from genie_core.text.safe import visible_line

MOST_PAYERS: Final = 40

NO_BUDGET: Final = "No budget is set. Set one under [budget] in the settings."
NO_ENGINE: Final = "You have no agent of your own here."


@dataclass(frozen=True, slots=True)
class CostRow:
    """A row of the cost table. `partly` if not all of its cost is known."""

    name: str
    usage: Usage
    depth: int = 0
    partly: bool = False
    strong: bool = False


def tokens_of(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def short_cost(spent: Sequence[Spending]) -> str:
    """Format tokens and money briefly; empty if nothing was spent."""
    if not spent:
        return ""
    usage = total(each.usage for each in spent)
    parts = [f"{short_count(tokens_of(usage))} tok"] if tokens_of(usage) else []
    if usage.cost is not None:
        parts.append(money(usage.cost, partly=_partly(spent)))
    return " ".join(parts)


def spent_tree(spendings: Sequence[Spending]) -> str:
    """Return a line per agent and its costs, as a tree; may be empty."""
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


def cost_rows(costs: Costs) -> list[CostRow]:
    """Return a row per person and agent, most expensive first, and the total."""
    payers = sorted({key[0] for key in costs.by_key}, key=lambda each: _order(costs.of(each)))
    rows: list[CostRow] = []
    for payer in payers[:MOST_PAYERS]:
        partly = any(key[0] == payer for key in costs.unpriced)
        rows.append(CostRow(visible_line(payer), costs.of(payer), 0, partly, strong=True))
        rows += _rows_of(costs, payer)
    if len(payers) > MOST_PAYERS:
        rest = total(costs.of(each) for each in payers[MOST_PAYERS:])
        rows.append(CostRow(f"and {len(payers) - MOST_PAYERS} more", rest))
    if len(payers) > 1:
        whole = total(costs.by_key.values())
        rows.append(CostRow("all together", whole, 0, bool(costs.unpriced), strong=True))
    return rows


def _rows_of(costs: Costs, payer: str) -> Iterator[CostRow]:
    keys = [key for key in costs.by_key if key[0] == payer]
    decisions = [key for key in keys if key[1] == REASONER]
    for key in decisions:
        name = f"decisions · {visible_line(key[2])}"
        yield CostRow(name, costs.by_key[key], 1, key in costs.unpriced)
    silence = costs.silence.get(payer)
    if silence is not None:
        decided = total(costs.by_key[key] for key in decisions)
        partly = any(key in costs.unpriced for key in decisions)
        yield CostRow("to stay silent", silence, 2, partly)
        if (others := _minus(decided, silence)).requests:
            yield CostRow("to answer", others, 2, partly)
    for key in sorted(set(keys) - set(decisions), key=lambda each: _order(costs.by_key[each])):
        name = f"{_agent(key[1])} · {visible_line(key[2])}"
        yield CostRow(name, costs.by_key[key], 1, key in costs.unpriced)


def budget_line(allowance: Allowance | None) -> str:
    """Describe how much of the session's budget is used."""
    if allowance is None:
        return NO_ENGINE
    used = []
    if allowance.money_limit:
        used.append(f"{money(allowance.money)} of {money(allowance.money_limit)}")
    if allowance.token_limit:
        used.append(
            f"{short_count(allowance.tokens)} of {short_count(allowance.token_limit)} tokens"
        )
    return f"Budget of this session: {' and '.join(used)} used." if used else NO_BUDGET


def _agent(name: str) -> str:
    kind = name.partition(":")[0]
    named = {SYSTEM: "genie", REASONER: "decision"}.get(kind)
    return named or visible_line(name[:80])


def _partly(spent: Iterable[Spending]) -> bool:
    return any(each.usage.cost is None and each.usage.requests for each in spent)


def _order(usage: Usage) -> tuple[float, int]:
    return -(usage.cost or 0.0), -tokens_of(usage)


def _minus(whole: Usage, part: Usage) -> Usage:
    cost = None if whole.cost is None else max(whole.cost - (part.cost or 0.0), 0.0)
    return replace(
        whole,
        requests=max(whole.requests - part.requests, 0),
        input_tokens=max(whole.input_tokens - part.input_tokens, 0),
        output_tokens=max(whole.output_tokens - part.output_tokens, 0),
        cached_tokens=max(whole.cached_tokens - part.cached_tokens, 0),
        seconds=max(whole.seconds - part.seconds, 0.0),
        cost=cost,
    )


def _taken(usages: Sequence[Usage]) -> str:
    return "; ".join(map(_one, usages)) or "nothing"


def _one(usage: Usage) -> str:
    tokens = counted(usage.input_tokens + usage.output_tokens, "token")
    parts = [usage.model, counted(usage.requests, "request"), tokens, duration(usage.seconds)]
    if usage.cost is not None:
        parts.append(money(usage.cost))
    return ", ".join(part for part in parts if part)
