"""What a ledger row says: two short lines for the list, and everything for the details."""

from dataclasses import dataclass
from enum import Enum

from genie_core.assistant.reasoners.query import question_in
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    MessagePosted,
    RunCancelled,
    RunFailed,
)
from genie_core.text.format import clock_time, duration
from genie_core.text.safe import visible, visible_line
from genie_tui.widgets.agent_path import agent_path
from genie_tui.widgets.announcement import because
from genie_tui.widgets.approvals.text import (
    RISKS,
    allowed,
    arguments_line,
    denied,
    outcome,
    plain_arguments,
    what_changed,
)
from genie_tui.widgets.costs import short_cost
from genie_tui.widgets.failure import CUT, part, why_failed
from genie_tui.widgets.ledger_log import Kind, Row
from genie_tui.widgets.parking import MARK, goes_on, parked_with
from genie_tui.widgets.spent_tree import spent_tree


class Tone(Enum):
    """How a row feels; the value is the style class."""

    BUSY = "busy"
    QUIET = "quiet"
    GOOD = "good"
    ASKS = "asks"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Headline:
    """A row in the list. `took` is a duration and `cost` what was spent, in words or empty."""

    glyph: str
    tone: Tone
    verdict: str
    subject: str
    took: str = ""
    cost: str = ""


def headline(row: Row) -> Headline:
    """The two lines of a row; safe to show, with breaks and runs of white space as one space."""
    raw = _approval(row) if row.kind is Kind.APPROVAL else _run(row)
    subject = visible_line(" ".join(raw.subject.split()))
    cost = "" if row.kind is Kind.APPROVAL else _cost(row.latest.body)
    return Headline(raw.glyph, raw.tone, visible_line(raw.verdict), subject, raw.took, cost)


def _cost(body: object) -> str:
    if isinstance(body, DecisionMade | AnswerPosted | RunFailed | RunCancelled):
        return short_cost(body.spent)
    return ""


def searchable(row: Row) -> str:
    """What a text filter looks through, in lower case."""
    line = headline(row)
    return f"{row.said.by} {line.verdict} {line.subject} {row.message.text}".casefold()


def _run(row: Row) -> Headline:
    match row.latest.body:
        case DecisionMade(decision="ignore") as decided:
            reason = decided.reason or "no reason given"
            return Headline("○", Tone.QUIET, "ignored", reason, duration(decided.elapsed))
        case DecisionMade() as decided:
            verdict = f"delegated for {decided.receiver or row.said.by}"
            query = question_in(decided.query or row.message.text)
            return Headline("●", Tone.GOOD, verdict, query, duration(decided.elapsed))
        case AnswerPosted() as answered:
            verdict = f"answered {answered.receiver or row.said.by}"
            return Headline("✦", Tone.GOOD, verdict, answered.text, duration(answered.elapsed))
        case RunCancelled() | RunFailed() as end if row.parked and goes_on(end):
            state, _, calls = parked_with(row.parked).partition(" ")
            why = end.reason if isinstance(end, RunCancelled) else end.error
            return Headline(MARK, Tone.ASKS, state, because(calls, why))
        case RunFailed() as failed:
            return Headline(
                "✗", Tone.BAD, f"FAILED in {part(failed.stage)}", why_failed(failed.error)
            )
        case RunCancelled() as cancelled:
            return Headline("■", Tone.QUIET, "stopped", cancelled.reason or f"by {row.latest.by}")
        case _:
            return Headline("◌", Tone.BUSY, "deciding…", row.message.text)


def _approval(row: Row) -> Headline:
    asked = row.opened.body
    tool = asked.tool if isinstance(asked, ApprovalRequested) else "a tool"
    subject = _call(asked) if isinstance(asked, ApprovalRequested) else ""
    took = duration(row.latest.at - row.opened.at) if row.closed else ""
    match row.latest.body:
        case ApprovalResolved(outcome="approved") as settled:
            return Headline("✓", Tone.GOOD, allowed(settled, tool, row.latest.by), subject, took)
        case ApprovalResolved(outcome="denied") as settled:
            return Headline("✗", Tone.ASKS, denied(settled, tool), settled.reason or subject, took)
        case ApprovalResolved(outcome="parked"):
            return Headline("‖", Tone.ASKS, f"parked {tool}", subject, took)
        case ApprovalResolved() as expired:
            subject = expired.reason or subject
            return Headline("…", Tone.QUIET, f"expired {tool}", subject, took)
        case ApprovalRequested():
            return Headline("▲", Tone.ASKS, f"asks for {tool}", subject)
        case _:
            return Headline("…", Tone.QUIET, f"expired {tool}", subject, took)


def _call(asked: ApprovalRequested) -> str:
    given = arguments_line(asked.arguments, withheld=asked.withheld)
    return f"{agent_path(asked.agent)}: {given}"


def details(row: Row) -> list[tuple[str, str]]:
    """Everything known about a row, as label and text; safe to show, may have line breaks."""
    fields: list[tuple[str, str]] = []
    for event in (row.opened, row.closed):
        if event is not None and event is not row.said:
            fields += fields_of(event.body)
            if isinstance(event.body, DecisionMade | AnswerPosted | RunFailed | RunCancelled):
                fields.append(("agents", spent_tree(event.body.spent)))
            fields.append(("at", f"{clock_time(event.at)}, by {event.by}"))
    if (
        row.closed
        and isinstance(row.closed.body, ApprovalResolved)
        and isinstance(row.opened.body, ApprovalRequested)
    ):
        diff = what_changed(row.opened.body, row.closed.body.arguments)
        fields.append(("changes", "\n".join(diff)))
    fields.append(("message", f"{row.said.by}, {clock_time(row.said.at)}: {row.message.text}"))
    fields.append(("handled by", row.message.handler))
    return [(label, visible(text)) for label, text in fields if text]


def fields_of(body: object) -> list[tuple[str, str]]:
    """What an event says, as label and text; some texts are empty, and none is safe to show yet."""
    match body:
        case DecisionMade():
            return [
                ("decision", body.decision.upper()),
                ("reason", body.reason or ""),
                ("query", body.query or ""),
                ("receiver", body.receiver or ""),
                ("took", duration(body.elapsed)),
            ]
        case ApprovalRequested():
            return [
                ("agent", agent_path(body.agent)),
                ("tool", body.tool),
                ("arguments", plain_arguments(body.arguments, withheld=body.withheld) or "none"),
                ("runs", body.where),
                ("risk", RISKS.get(body.risk, "")),
                ("because", body.because),
            ]
        case ApprovalResolved():
            reason = "" if body.how == "auto" else body.reason or ""
            return [("outcome", outcome(body)), ("reason", reason)]
        case AnswerPosted():
            return [
                ("answer", body.text),
                ("ended", CUT if body.cut else ""),
                ("took", duration(body.elapsed)),
            ]
        case RunFailed():
            return [("failed in", body.stage), ("error", body.error), ("answer so far", body.text)]
        case RunCancelled():
            return [("stopped", body.reason or "yes"), ("answer so far", body.text)]
        case MessagePosted() | _:
            return []
