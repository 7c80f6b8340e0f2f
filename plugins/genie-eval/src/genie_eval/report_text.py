"""A whole what-if report: as lines for a terminal, and as Markdown to be kept."""

from collections.abc import Iterator, Sequence

from genie_core.assistant.what_if.report import CaseResult, WhatIfReport
from genie_core.assistant.what_if.text import (
    MARKED,
    decided,
    excerpt,
    heading,
    room,
    summary_lines,
    title,
    told,
)
from genie_core.sessions.export.markdown_escape import escape
from genie_core.text.safe import visible_line


def lines(report: WhatIfReport) -> Iterator[str]:
    """All of it for a terminal; no line holds anything that a terminal would obey."""
    yield title(report)
    yield room(report)
    for name, outcomes in _parts(report):
        yield ""
        yield f"{name}:"
        for outcome in outcomes:
            yield ""
            yield from outcome_lines(outcome)
    yield ""
    yield from summary_lines(report)


def markdown(report: WhatIfReport) -> str:
    """Format the report as Markdown, with all recorded text escaped."""
    written = [f"# {escape(title(report))}", "", escape(room(report)), ""]
    written += [f"- {escape(line)}" for line in summary_lines(report)]
    for name, outcomes in _parts(report):
        written += ["", f"## {name}"]
        for outcome in outcomes:
            written += ["", *_in_markdown(outcome)]
    return "\n".join(written) + "\n"


def _in_markdown(outcome: CaseResult) -> Iterator[str]:
    yield f"### {escape(heading(outcome))}"
    yield ""
    yield f"> {escape(visible_line(' '.join(outcome.text.split())))}"
    yield ""
    if outcome.wrong:
        yield f"- **{MARKED}**"
    yield f"- was: {escape(told(outcome.before))}"
    yield f"- now: {escape(decided(outcome))}"


def _parts(report: WhatIfReport) -> Iterator[tuple[str, Sequence[CaseResult]]]:
    if report.changed:
        yield "Decisions that differ", report.changed
    if report.failures:
        yield "No decision, as it failed", report.failures


def outcome_lines(outcome: CaseResult) -> Iterator[str]:
    """One message, and both decisions or the failure."""
    mark = f"  ! {MARKED}" if outcome.wrong else ""
    yield f"{heading(outcome)}: {excerpt(outcome.text)}{mark}"
    yield f"    was  {told(outcome.before)}"
    yield f"    now  {decided(outcome)}"
