"""A what-if report in words; none of them holds anything that a terminal would obey."""

from collections.abc import Iterator, Sequence
from typing import Final

from genie_core.assistant.what_if.report import CaseResult, Comparison, WhatIfReport, differing
from genie_core.room.protocol.events import Spending
from genie_core.room.view.costs import short_cost
from genie_core.text.format import counted, duration, local_time
from genie_core.text.query import question_in
from genie_core.text.safe import visible_line

EXCERPT_CHARS: Final = 160
"""How much of a message or a query stands in the words."""

MARKED: Final = "you marked it as wrong"


def title(report: WhatIfReport) -> str:
    """The questions."""
    return visible_line(f"What if {report.template} with {report.model} had decided")


def room(report: WhatIfReport) -> str:
    """Which room it was, and when it was asked."""
    asked = local_time(report.at)
    return visible_line(f"{report.title} ({report.session}), asked {asked:%Y-%m-%d %H:%M}")


def summary_lines(report: WhatIfReport) -> Iterator[str]:
    """The numbers."""
    counts = report.summary
    done = counts.decided + counts.failed
    if report.stopped:
        rest = counted(report.total - done, "message")
        yield visible_line(f"Not complete: {report.stopped}; {rest} not asked about")
    yield (
        f"{counted(done, 'decision')}: {counts.agree:,} agree, {counts.newly_delegated:,} newly "
        f"delegated, {counts.newly_ignored:,} newly ignored, {counts.failed:,} failed"
    )
    if counts.marked:
        before = f"; {counts.right_before:,} were already" if counts.right_before else ""
        yield (
            f"You marked {counted(counts.marked, 'decision')} as wrong: "
            f"{counts.right_after:,} would be decided the other way{before}"
        )
    yield visible_line(
        f"It took {duration(report.seconds)} and {_cost(report.spent)}; "
        f"the recorded decisions took {_cost(report.spent_before)}"
    )


def comparison_lines(one: WhatIfReport, other: WhatIfReport) -> Iterator[str]:
    """How two reports compare, in numbers."""
    if not (one.is_complete and other.is_complete):
        yield "One of them is of an earlier version, which kept only what differs; ask again"
        return
    common = {each.message for each in one.results} & {each.message for each in other.results}
    yield f"{len(differing(one, other)):,} of {counted(len(common), 'decision')} differ"
    for report in (one, other):
        yield visible_line(f"{named(report)}: {duration(report.seconds)}, {_cost(report.spent)}")


def named(report: WhatIfReport) -> str:
    """Which reasoner it was, briefly."""
    return f"{report.template} with {report.model}"


def decided(result: CaseResult) -> str:
    """Return a reasoner's decision, or why there is none."""
    return told(result.after) if result.after else _failure(result)


def heading(outcome: CaseResult) -> str:
    """Which message it is."""
    by = f", by {outcome.handler}'s engine" if outcome.handler != outcome.author else ""
    when = local_time(outcome.at)
    return visible_line(f"#{outcome.message}  {when:%Y-%m-%d %H:%M}  {outcome.author}{by}")


def told(verdict: Comparison) -> str:
    """A decision with its reason, and with its question."""
    reason = visible_line(" ".join(verdict.reason.split())) or "no reason given"
    if verdict.decision == "ignore":
        return f"IGNORE    {reason}"
    receiver = f" for {visible_line(verdict.receiver)}" if verdict.receiver else ""
    return f"DELEGATE  {reason} -> asks{receiver}: {excerpt(question_in(verdict.query))}"


def excerpt(text: str) -> str:
    """The beginning of a text as one line."""
    line = " ".join(text[: 4 * EXCERPT_CHARS].split())
    return visible_line(line if len(line) <= EXCERPT_CHARS else f"{line[: EXCERPT_CHARS - 1]}…")


def _failure(outcome: CaseResult) -> str:
    return f"FAILED    {visible_line(outcome.error)}"


def _cost(spent: Sequence[Spending]) -> str:
    return short_cost(spent) or "no tokens"
