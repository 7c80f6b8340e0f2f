"""What engines did about each message, to stand beside it: decisions and approvals."""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from genie_core.room.protocol.events import ApprovalRequested, ApprovalResolved, DecisionMade, Event
from genie_tui.export.story import Line, Passage, story
from genie_tui.text import visible
from genie_tui.widgets.approval_text import what_changed
from genie_tui.widgets.ledger_text import fields_of
from genie_tui.widgets.spent_tree import spent_tree


@dataclass(frozen=True, slots=True)
class Footnote:
    """One thing that an engine did: the line for it, and all that is known, as label and text.

    Everything is safe to show; texts may have several lines.
    """

    at: float
    line: Line
    fields: tuple[tuple[str, str], ...]


def footnotes(events: Iterable[Event], wrong: Container[int] = ()) -> dict[int, list[Footnote]]:
    """The footnotes of each message that has some, by its number. All are held in memory.

    `wrong` are the messages whose decisions are marked as wrong.
    """
    notes: dict[int, list[Footnote]] = {}
    for passage in story(events):
        if is_footnote(passage) and passage.exchange and passage.line:
            notes.setdefault(passage.exchange.seq, []).append(
                _footnote(passage, passage.line, wrong)
            )
    return notes


def is_footnote(passage: Passage) -> bool:
    """Whether a passage stands beside its message rather than among what was said."""
    return passage.exchange is not None and isinstance(
        passage.told.body, DecisionMade | ApprovalRequested | ApprovalResolved
    )


def _footnote(passage: Passage, line: Line, wrong: Container[int]) -> Footnote:
    body = passage.told.body
    fields = fields_of(body)
    if isinstance(body, DecisionMade):
        fields.append(("agents", spent_tree(body.spent)))
        if body.message in wrong:
            line = Line(line.mark, f"{line.text} (marked as wrong)")
    if isinstance(body, ApprovalResolved) and passage.proposal is not None:
        fields.append(("changes", "\n".join(what_changed(passage.proposal.call, body.arguments))))
    if passage.voucher:
        fields.append(("recovered", f"from {passage.voucher}'s copy"))
    shown = tuple((label, visible(text)) for label, text in fields if text)
    return Footnote(passage.told.at, line, shown)
