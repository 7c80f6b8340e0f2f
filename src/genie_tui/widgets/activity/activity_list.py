"""The activity list, drawn line by line, so that a row costs nothing until it is seen."""

import io
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from genie_core.room.protocol.events import ApprovalRequested, DecisionMade, Event
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.entries import Tone
from genie_core.room.view.signatures import signed_line
from genie_core.text.format import clock_time
from genie_core.text.safe import visible_line
from genie_tui.commands.keys import Scope, bindings
from genie_tui.widgets.activity.rows import (
    ActivityRow,
    ActivityRows,
    Headline,
    RowFilter,
    RowKind,
    headline,
    searchable,
)
from genie_tui.widgets.timeline.history_pages import known_events
from genie_tui.widgets.timeline.layout import EntryLayout
from genie_tui.widgets.timeline.streaming import RunProgress
from genie_tui.widgets.timeline.timeline import DecisionMarkRequested

TOLD: Final = 500
"""Messages that are shown from the state alone, at most."""

INDENT: Final = 2
"""Columns before a row's text: the glyph and a space."""

ESTIMATE: Final = 3
"""Lines of a row that was not drawn yet."""

NARROWEST: Final = 20
"""Least columns for a row; a narrower panel cuts it off."""

REASON: Final = 12
SUBJECT: Final = 2
"""Lines at most of why something happened, and of its subject; the details have all of it."""

UNDECIDED: Final = 1
"""Lines of the message while it is decided on: as many as most reasons take, so that the list stays
where it is when the decision arrives.
"""

_CONSOLE: Final = Console(file=io.StringIO())  # wraps text and prints nothing


class ActivityList(ScrollView, can_focus=True):
    """Lists the rows that pass the filter.

    It follows new rows while no row is selected, or the last one is. With the focus it selects the
    last row. The selection ends when rows arrive while the focus is elsewhere; until then a marker
    counts the rows that came below it.
    """

    ALLOW_SELECT = False

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "activity--time",
        "activity--reason",
        "activity--subject",
        "activity--cursor",
        "activity--below",
        "activity--busy",
        "activity--quiet",
        "activity--good",
        "activity--asks",
        "activity--bad",
    }

    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.ACTIVITY_ROWS)

    cursor: reactive[int | None] = reactive(None)
    """Place of the selected row among those shown; None while the latest are followed."""

    class Moved(Message):
        """Another row is selected, or the selected one changed."""

        def __init__(self, row: ActivityRow | None) -> None:
            super().__init__()
            self.row = row

    class MessageWanted(Message):
        """The person wants to go to the message that a row is about."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    class UndoRequested(Message):
        """The person wants to undo the changes of an approved tool call in a file."""

        def __init__(self, approval: str) -> None:
            super().__init__()
            self.approval = approval

    class Chosen(Message):
        """The person wants the details of a row."""

        def __init__(self, row: ActivityRow) -> None:
            super().__init__()
            self.row = row

    def __init__(self) -> None:
        super().__init__()
        self._log = ActivityRows()
        self._state = RoomState()
        self._is_fresh = False
        self._shown: list[int] = []
        self._below = 0
        self._filter = RowFilter.ALL
        self._text = ""
        self._me = ""
        self._progress = RunProgress()
        self._wrong: set[int] = set()
        self._layout = EntryLayout(self._draw, lambda _: ESTIMATE)
        self._following = True
        self._due = self._settling = False

    @property
    def row_count(self) -> int:
        """The number of rows that pass the filter."""
        return len(self._shown)

    @property
    def selected(self) -> ActivityRow | None:
        return None if self.cursor is None else self._log.row(self._shown[self.cursor])

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show a room as seen by `me`, starting with the content of the state."""
        self._state, self._me = state, me
        self._is_fresh = True
        self._begin(())

    def _begin(self, events: Sequence[Event]) -> None:
        """Add rows for events that the state has forgotten, before these events."""
        self.cursor = None
        self._log = ActivityRows()
        for event in known_events(self._state, events, TOLD):
            self._log.apply(event)
        self._log.forget_old()
        self._log.head = events[0].seq - 1 if events else self._state.head
        self._list_anew()

    def bind_progress(self, progress: RunProgress) -> None:
        """Use this source for the agents' activity."""
        self._progress = progress

    def show_progress(self, message: int) -> None:
        """Redraw the activity of the agents on a message."""
        number = self._log.working(message)
        if number is not None:
            self._redraw(number)
            self._settle_soon()

    def show_wrong(self, messages: Collection[int]) -> None:
        """Mark exactly these messages' decisions as wrong."""
        if self._wrong != set(messages):
            self._wrong = set(messages)
            self._layout.redraw_all()
            self._settle_soon()

    def notes(self, row: ActivityRow) -> tuple[str, ...]:
        """Return the notes on a row's run."""
        return self._progress.notes(row.said.seq)

    def signatures(self, row: ActivityRow) -> list[str]:
        """Say who signed the entries of a row, the message first."""
        entries = {each.seq: each for each in (row.said, row.opened, row.latest)}
        return [signed_line(self._state, each) for each in entries.values()]

    def _redraw(self, number: int) -> None:
        place = bisect_left(self._shown, number)
        if self._shown[place : place + 1] == [number]:
            self._layout.redraw(place)

    def apply_many(self, arrived: Iterable[Event]) -> None:
        """Show more events; those that are shown already are skipped.

        The first batch tells more than the state does, and so does a log from its first event on:
        they replace the content of the state.
        """
        events = list(arrived)
        if self.cursor is not None and not self._in_use:
            self.cursor = None
        at_end = self.cursor is not None and self.cursor == len(self._shown) - 1
        changed: list[int] = []
        last = self._shown[-1] if self._shown else -1
        for at, event in enumerate(events):
            if self._tells_more(event):
                self._begin(events[at:])
                changed.clear()
            if event.seq > self._log.head:
                changed += self._log.apply(event)
        for number in dict.fromkeys(changed):
            self._redraw(number)
            at_work = self._log.working(self._log.row(number).said.seq)
            if at_work is not None:
                self._redraw(at_work)  # a waiting agent does nothing
            self._place(number)
        if changed:
            self._layout.replace_from(len(self._layout), len(self._shown))
            self._below += len(self._shown) - bisect_right(self._shown, last)
            self._forget_old()
            self._laid_out(at_end=at_end)

    @property
    def _in_use(self) -> bool:
        """Whether the panel has the focus, or would have it if the terminal had."""
        panel = self.parent if isinstance(self.parent, Widget) else self
        return panel.has_focus_within or not self.app.app_focus

    def _tells_more(self, event: Event) -> bool:
        is_fresh, self._is_fresh = self._is_fresh, False
        return event.seq <= self._log.head and (is_fresh or (event.seq == 1 < self._log.head))

    def _forget_old(self) -> None:
        """Forget the oldest rows above the limit; the selection stays."""
        if not self._log.forget_old():
            return
        gone = bisect_left(self._shown, self._log.forgotten)
        height = self._layout.height
        del self._shown[:gone]
        self._layout.splice(0, gone, 0)
        if self.cursor is not None:
            self.set_reactive(
                ActivityList.cursor, max(0, self.cursor - gone) if self._shown else None
            )
            self._show_from(max(0, self.scroll_offset.y - (height - self._layout.height)))

    def show_only(self, chosen: RowFilter, text: str) -> None:
        """Filter by kind and by text."""
        self._filter, self._text = chosen, text.casefold()
        self.cursor = None
        self._list_anew()
        if self.has_focus:
            self.action_go(-1)

    def on_focus(self) -> None:
        """Show where the keys go."""
        if self.cursor is None:
            self.action_go(-1)

    def _list_anew(self) -> None:
        self._shown = [number for number in self._log.numbers if self._passes(number)]
        self._layout.replace_from(0, len(self._shown))
        self._laid_out()

    def on_mount(self) -> None:
        """Redraw all rows when the theme changes."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._layout.redraw_all())

    def on_resize(self) -> None:
        self._layout.redraw_all(rewrap=True)
        self._laid_out()
        self._keep_in_view()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Measure the rows that come into view."""
        super().watch_scroll_y(old_value, new_value)
        if not self._settling:
            at_end = round(new_value) >= self._layout.height - self._rows
            self._following = self.cursor is None and at_end
            self._settle()

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row and show its details."""
        line = event.y + self.scroll_offset.y
        if line < self._layout.height:
            self.cursor = self._layout.at(line)[0]
            self.action_choose()

    def watch_cursor(self) -> None:
        """Report the selection and keep it in view."""
        self.refresh()
        self.post_message(self.Moved(self.selected))
        self._keep_in_view()

    def action_move(self, by: int) -> None:
        """Move the cursor; it starts at the latest row, past which it follows."""
        start = len(self._shown) if self.cursor is None else self.cursor
        if by > 0 and start >= len(self._shown) - 1:
            self.cursor = None
            self._laid_out()
            return
        self.action_go(min(max(start + by, 0), len(self._shown) - 1))

    def action_page(self, by: int) -> None:
        """Move the cursor to the row that is almost a page away."""
        if not self._shown:
            return
        start = len(self._shown) if self.cursor is None else self.cursor
        line = self._layout.span(min(start, len(self._shown) - 1))[0]
        there = self._layout.at(line + by * max(self._rows - ESTIMATE, 1))[0]
        self.action_move((there - start) or by)

    def action_go(self, place: int) -> None:
        """Put the cursor on a row, counted from the end if negative."""
        if self._shown:
            self.cursor = place % len(self._shown)

    def action_choose(self) -> None:
        if self.cursor is None:
            self.action_go(-1)
        if self.selected is not None:
            self.post_message(self.Chosen(self.selected))

    def action_show_message(self) -> None:
        if (row := self.selected) is not None:
            self.post_message(self.MessageWanted(row.said.seq))

    def action_undo(self) -> None:
        if (row := self.selected) is not None and isinstance(row.opened.body, ApprovalRequested):
            self.post_message(self.UndoRequested(row.opened.body.approval))

    def action_mark_wrong(self) -> None:
        if (row := self.selected) is not None:
            self.post_message(DecisionMarkRequested(row.said.seq, _decision(row)))

    def render_line(self, y: int) -> Strip:
        width, line = self.size.width, y + self.scroll_offset.y
        if line >= self._layout.height:
            return Strip.blank(width, self.rich_style)
        place, row = self._layout.at(line)
        strips = self._layout.lines(place)
        strip = strips[row] if row < len(strips) else Strip([])
        here = place == self.cursor
        base = self.get_component_rich_style("activity--cursor") if here else self.rich_style
        strip = strip.adjust_cell_length(width, base).apply_style(base)
        return self._with_marker(strip) if self._below and y == self._rows - 1 else strip

    @property
    def _rows(self) -> int:
        return self.scrollable_content_region.height

    def _with_marker(self, strip: Strip) -> Strip:
        marker = f"  ↓ {self._below} new  "
        style = self.get_component_rich_style("activity--below")
        left = max(0, (strip.cell_length - len(marker)) // 2)
        rest = strip.crop(min(strip.cell_length, left + len(marker)))
        return Strip.join([strip.crop(0, left), Strip([Segment(marker, style)]), rest])

    def _draw(self, place: int) -> list[Strip]:
        number = self._shown[place]
        row = self._log.row(number)
        width = max(self.scrollable_content_region.width, NARROWEST)
        doing = self._doing(number, row) or self._trouble(row)
        is_wrong = row.said.seq in self._wrong
        return draw(row, RowLook(width, self._component), doing=doing, wrong=is_wrong)

    def _doing(self, number: int, row: ActivityRow) -> str:
        """Return the activity of the agents of a running row."""
        at_work = self._log.working(row.said.seq) == number
        return self._progress.line(row.said.seq) if at_work else ""

    def _trouble(self, row: ActivityRow) -> str:
        """Return the last note on the run of a delegation."""
        body = row.latest.body
        led_to_run = isinstance(body, DecisionMade) and body.decision == "delegate"
        notes = self.notes(row) if led_to_run else ()
        more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
        return f"! {notes[-1]}{more}" if notes else ""

    def _component(self, name: str) -> Style:
        style = self.get_component_rich_style(f"activity--{name}")
        return Style(color=style.color, bold=style.bold)

    def _passes(self, number: int) -> bool:
        row = self._log.row(number)
        if not row.passes(self._filter, self._me):
            return False
        return not self._text or self._text in searchable(row)

    def _place(self, number: int) -> None:
        if self._shown and self._shown[-1] == number:
            return
        place = bisect_left(self._shown, number)
        listed = place < len(self._shown) and self._shown[place] == number
        if not listed and self._passes(number):
            insort(self._shown, number)
            if place < len(self._layout):
                self._layout.splice(place, 0, 1)
            if self.cursor is not None and place <= self.cursor:
                self.set_reactive(ActivityList.cursor, self.cursor + 1)

    def _laid_out(self, *, at_end: bool = False) -> None:
        self._following = self.cursor is None or at_end
        if self._following:
            self._below = 0
        if self.cursor is not None:
            self.post_message(self.Moved(self.selected))
        self._settle_soon()

    def _settle_soon(self) -> None:
        """Settle once for all changes in the message queue."""
        if not self._due:
            self._due = True
            self.call_later(self._settle)

    def _settle(self) -> None:
        """Measure the rows in view; scroll to the end if following."""
        self._due = False
        if self._following:
            self._show_from(self._layout.settle_end(self._rows))
        else:
            self._show_from(self._layout.settle(self.scroll_offset.y, self._rows))

    def _show_from(self, top: int) -> None:
        self._settling = True
        try:
            self.virtual_size = Size(self.scrollable_content_region.width, self._layout.height)
            # By force: the scroll bar that would allow it comes only with the next layout.
            self.scroll_to(y=top, animate=False, immediate=True, force=True)
        finally:
            self._settling = False
        self.refresh()

    def _keep_in_view(self) -> None:
        """Scroll to the selected row; to its start if it is higher than the list."""
        if self.cursor is None or not self._rows:
            return
        self._following = False
        start, height = self._layout.span(self.cursor)
        below = max(0, min(start - self.scroll_offset.y, self._rows - height))
        self._show_from(self._layout.settle_by(self.cursor, below, self._rows))


def _decision(row: ActivityRow) -> Literal["ignore", "delegate"] | None:
    """Return the decision on a row's message; requests and answers follow a delegation."""
    if row.kind is not RowKind.DECISION:
        return "delegate"
    return row.latest.body.decision if isinstance(row.latest.body, DecisionMade) else None


@dataclass(frozen=True, slots=True)
class RowLook:
    """The width of a row, and the styles of its parts by name."""

    width: int
    component: Callable[[str], Style]


def draw(row: ActivityRow, look: RowLook, *, doing: str, wrong: bool) -> list[Strip]:
    """Draw a row: event and time, reason, and its subject or the work in `doing`."""
    line = headline(row)
    lines = _verdict(row, line, look, wrong=wrong)
    right = [text for text in (line.cost, line.took, clock_time(row.opened.at)) if text]
    below: list[str] = []
    while len(right) > 1 and lines[-1].cell_length + _width(right) > look.width:
        below.append(right.pop(0))
    lines[-1] = _with_right(lines[-1], right, look)
    lines += _paragraph(line.reason, "reason", REASON, look)
    about = (doing, "busy") if doing else (line.subject, "subject")
    lines += _paragraph(*about, UNDECIDED if line.tone is Tone.BUSY else SUBJECT, look)
    if below and lines[-1].cell_length + _width(below) > look.width:
        lines.append(Strip([]))
    lines[-1] = _with_right(lines[-1], below, look)
    return lines


def _verdict(row: ActivityRow, line: Headline, look: RowLook, *, wrong: bool) -> list[Strip]:
    """Return the event and its person; the last line leaves room for the time."""
    name = visible_line(row.said.by)
    author = "" if line.verdict.endswith(f" {name}") else f"  {name}"
    parts = [
        Segment(f"{line.glyph} {line.verdict}", look.component(line.tone.value)),
        Segment(author, look.component("time")),
    ]
    if row.kind is RowKind.DECISION and wrong:
        parts.append(Segment("  ! marked wrong", look.component("bad")))
    return _wrapped(parts, look.width - _width([clock_time(row.opened.at)]))


def _paragraph(text: str, style: str, most: int, look: RowLook) -> list[Strip]:
    """Wrap a text below the verdict, into so many lines at most."""
    if not text:
        return []
    room, shade = look.width - INDENT - 1, look.component(style)
    lines = _wrapped([Segment(text[: room * (most + 1)], shade)], room)
    if len(lines) > most:
        last = lines[most - 1].crop(0, room - 1)
        lines[most - 1 :] = [Strip([*last, Segment("…", shade)])]
    return [Strip([Segment(" " * INDENT), *line]) for line in lines]


def _wrapped(parts: Sequence[Segment], width: int) -> list[Strip]:
    """Wrap at words; a word that is too long is broken."""
    line = Strip(parts)
    if line.cell_length <= width:
        return [line]
    text = Text.assemble(*((part.text, part.style or "") for part in parts))
    return [Strip(each.render(_CONSOLE)) for each in text.wrap(_CONSOLE, width)]


def _width(parts: Sequence[str]) -> int:
    return sum(len(part) + 2 for part in parts)


def _with_right(strip: Strip, parts: Sequence[str], look: RowLook) -> Strip:
    """Put texts at the right end of a line."""
    if not parts:
        return strip
    text = " · ".join(parts) + " "
    left = strip.extend_cell_length(look.width - len(text))
    return Strip.join([left, Strip([Segment(text, look.component("time"))])])
