"""The results of asking another reasoner: one of each message, and their sums."""

from collections.abc import Iterable, Mapping
from typing import Final

from genie_core.assistant.what_if.report import CaseResult, Comparison, Summary
from genie_core.room.protocol.events import Spending
from genie_core.runtime.progress import REASONER, Usage
from genie_eval.cases import RecordedDecision

TEXT_CHARS: Final = 2_000
"""How much of a message is repeated in a report."""


def case_result(
    case: RecordedDecision,
    after: Comparison | None,
    error: str = "",
    *,
    wrong: bool = False,
    spent: Iterable[Usage] = (),
) -> CaseResult:
    """The result of a case."""
    files = [file.name for file in case.said.files]
    text = case.said.text if case.said.text.strip() else f"({', '.join(files)})"
    return CaseResult(
        case.seq,
        case.event.at,
        case.author,
        case.handler,
        text[:TEXT_CHARS],
        Comparison.of(case.before),
        after,
        error,
        wrong,
        total_of(spent),
    )


def summarise(outcomes: Iterable[CaseResult], labels: Mapping[int, str]) -> Summary:
    """Count. `labels` are the decisions marked as wrong, by the numbers of their messages."""
    counts = dict.fromkeys(Summary.__struct_fields__, 0)
    for each in outcomes:
        counts[_kind(each)] += 1
        wrong = labels.get(each.message)
        if wrong is not None and each.after is not None:
            counts["marked"] += 1
            counts["right_before"] += each.before.decision != wrong
            counts["right_after"] += each.after.decision != wrong
    return Summary(**counts)


def _kind(outcome: CaseResult) -> str:
    if outcome.after is None:
        return "failed"
    if not outcome.differs:
        return "agree"
    return "newly_delegated" if outcome.after.decision == "delegate" else "newly_ignored"


def total_of(usages: Iterable[Usage]) -> tuple[Spending, ...]:
    """The costs of several decisions, by model; those without a known price are kept apart."""
    sums: dict[tuple[str, bool], Usage] = {}
    for usage in usages:
        key = usage.model, usage.cost is None
        sums[key] = sums[key] + usage if key in sums else usage
    return tuple(Spending.of(REASONER, usage) for usage in sums.values())
