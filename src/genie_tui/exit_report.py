"""The report after leaving a room, for the terminal."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Final

from genie_core.room.participant.receipt import Item, Receipt
from genie_core.settings.locations import short_path
from genie_core.text.format import counted
from genie_core.text.safe import visible, visible_line

DRAFT: Final = "your draft"
PLACE: Final = "saved to"

SHOWN: Final = 8
"""How many messages are listed under one heading; the rest is counted."""


@dataclass(frozen=True, slots=True)
class ExitReport:
    """A room that was left, and how to return.

    `waiting` counts this person's unanswered tool calls. `copy` is the folder's name if it is a
    copy of another member's room, otherwise empty. `saved_to` is the folder, and `draft` the start
    of the draft saved there. `elsewhere` is the place of the texts that the room's disk refused.
    `dropped`: nothing was said in the room, so it was removed.
    """

    room: str
    title: str
    hosted: bool
    waiting: int = 0
    copy: str = ""
    receipt: Receipt = field(default_factory=Receipt)
    saved_to: str = ""
    draft: str = ""
    elsewhere: str = ""
    dropped: bool = False

    @property
    def what(self) -> str:
        """One sentence on how the room was left."""
        title = f"{visible_line(self.title)!r}" if self.title else "the room"
        if self.dropped:
            return f"Left {title}; nothing was said there, so it is not kept."
        if not self.hosted:
            return f"Left {title}."
        calls = "tool call" if self.waiting == 1 else "tool calls"
        parked = f" with {self.waiting} {calls} to answer" if self.waiting else ""
        return f"Suspended {title}{parked}."

    @property
    def again(self) -> str:
        """How to return; empty without a copy."""
        if self.dropped:
            return ""
        if self.hosted:
            return f"Resume it with: genie-tui resume {_typed(self.copy or self.room)}"
        return f"Join it again with: genie-tui join {_typed(self.copy)}" if self.copy else ""


def exit_lines(reports: Iterable[ExitReport]) -> Iterator[str]:
    """Yield the lines for the terminal, room by room: its end, notes, the way to return.

    A room with more than one line stands apart.
    """
    before = returns = 0
    for report in reports:
        returns += bool(report.again)
        lines = list(_lines_of(report))
        if before and max(before, len(lines)) > 1:
            yield ""
        yield from lines
        before = len(lines)
    if returns > 1:
        yield from ("", "Open all of them again with: genie-tui resume")


def _lines_of(report: ExitReport) -> Iterator[str]:
    if report.receipt == Receipt() and not report.draft:
        yield f"{report.what} {report.again}".rstrip()
        return
    yield report.what
    lines = list(receipt_lines(report))
    width = max((len(line.heading) for line in lines), default=0) + 2
    yield from (f"  {line.heading:<{width}}{line.text}" for line in lines)
    if report.again:
        yield f"  {report.again}"


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A line of a receipt with its heading."""

    heading: str
    text: str


def receipt_lines(report: ExitReport) -> Iterator[ReportLine]:
    """List finished, cancelled, parked and left-behind work, and where everything is saved."""
    receipt = report.receipt
    for heading, items in (
        ("finished", receipt.finished),
        ("cancelled", receipt.cancelled),
        ("parked", receipt.parked),
        ("left behind", receipt.left_behind),
        ("unheard", receipt.unheard),
    ):
        for item in items[:SHOWN]:
            yield ReportLine(heading, _said(item, heading, kept=not receipt.problems))
        if len(items) > SHOWN:
            yield ReportLine(heading, f"and {len(items) - SHOWN} more")
    if receipt.unsent and not receipt.problems:
        yield ReportLine("unsent", _unsent(receipt.unsent))
    for problem in receipt.problems:
        yield ReportLine("problem", visible_line(problem))
    if report.elsewhere:
        yield ReportLine("not saved", visible_line(report.elsewhere))
    if report.draft:
        yield ReportLine(DRAFT, f"kept: {visible_line(report.draft)}")
    if report.saved_to:
        yield ReportLine(PLACE, visible_line(short_path(Path(report.saved_to))))


@dataclass(frozen=True, slots=True)
class UnsentText:
    """An unsent message, with the names of its attachments."""

    text: str
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnsavedInput:
    """Unsent messages, oldest first, and the draft, which the room's disk refused.

    `title` is the room's. `why` is the disk's reason in one line.
    """

    title: str
    messages: tuple[UnsentText, ...] = ()
    draft: UnsentText = UnsentText("")
    why: str = ""

    @property
    def what(self) -> str:
        """A short summary."""
        parts = [counted(len(self.messages), "unsent message")] if self.messages else []
        if self.draft.text:
            parts.append("your draft")
        elif self.draft.attachments:
            parts.append("what is attached to your draft")
        return " and ".join(parts)

    @property
    def text(self) -> str:
        """The full text as typed, not safe to show."""
        return "\n".join([f"Not saved in {self.title or 'the room'}:", *self._parts(), ""])

    def lines(self) -> Iterator[str]:
        """The lines for a terminal, safe to show."""
        yield from (visible_line(line) for line in visible(self.text).splitlines())

    def _parts(self) -> Iterator[str]:
        for number, message in enumerate(self.messages, 1):
            yield from _part(f"Unsent message {number}", message)
        if self.draft != UnsentText(""):
            yield from _part("Draft", self.draft)


def _part(heading: str, message: UnsentText) -> Iterator[str]:
    yield f"\n--- {heading} ---"
    if message.text:
        yield message.text
    for name in message.attachments:
        yield f"[attached: {name}]"


def _typed(name: str) -> str:
    """Quote a name for a shell; a room's name is chosen by its first host."""
    return quote(visible_line(name))


def _said(item: Item, heading: str, *, kept: bool) -> str:
    author = visible_line(item.author)
    what = f"{author}: {visible_line(item.text)}" if author else visible_line(item.text)
    detail = visible_line(item.detail)
    match heading:
        case "parked":
            return f"{detail} waits for your answer · {what}" if what else detail
        case "left behind":
            return f"{what} · its agent did not end though it was told to"
        case "unheard":
            end = f"{detail}; " if detail else ""
            when = "hears of it when you are back" if kept else "has not heard of it"
            return f"{what} · {end}the room {when}"
        case _:
            return f"{what} · {detail}" if detail else what


def _unsent(count: int) -> str:
    many = "message" if count == 1 else "messages"
    return f"{count} of your {many}: kept, and sent when you are back"
