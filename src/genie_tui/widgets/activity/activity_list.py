"""The activity list, drawn line by line, so that a row costs nothing until it is seen."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from genie_core.room.protocol.events import ApprovalRequested, DecisionMade, Event
from genie_core.room.state.room_state import RoomState
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
from genie_tui.widgets.timeline.streaming import RunProgress
from genie_tui.widgets.timeline.timeline import DecisionMarkRequested

LINES: Final = 2
"""Lines per row."""

TOLD: Final = 500
"""Messages that are shown from the state alone, at most."""

INDENT: Final = 8
"""Columns before a row's text: the time, a space, the glyph and a space."""


class ActivityList(ScrollView, can_focus=True):
    """Lists the rows that pass the filter.

    It follows new rows while no row is selected, or the last one is. The selection ends when rows
    arrive while the focus is elsewhere; until then a marker counts the rows that came below it.
    """

    ALLOW_SELECT = False

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "activity--time",
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
        """The person wants to undo what an approved tool call changed in a file."""

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
        self._strips: LRUCache[tuple[int, bool], tuple[Strip, ...]] = LRUCache(512)

    @property
    def row_count(self) -> int:
        """The number of rows that pass the filter."""
        return len(self._shown)

    @property
    def selected(self) -> ActivityRow | None:
        return None if self.cursor is None else self._log.row(self._shown[self.cursor])

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show a room as seen by `me`, starting with what the state includes."""
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
        self._strips.clear()
        self._list_anew()

    def bind_progress(self, progress: RunProgress) -> None:
        """Use this source for the agents' activity."""
        self._progress = progress

    def show_progress(self, message: int) -> None:
        """Redraw the activity of the agents on a message."""
        number = self._log.working(message)
        if number is not None:
            self._forget(number)
            self.refresh()

    def show_wrong(self, messages: Collection[int]) -> None:
        """Mark exactly these messages' decisions as wrong."""
        if self._wrong != set(messages):
            self._wrong = set(messages)
            self._strips.clear()
            self.refresh()

    def notes(self, row: ActivityRow) -> tuple[str, ...]:
        """Return the notes on a row's run."""
        return self._progress.notes(row.said.seq)

    def doubts(self, row: ActivityRow) -> list[str]:
        """Return what is wrong with the entries of a row."""
        numbers = dict.fromkeys(each.seq for each in (row.said, row.opened, row.latest))
        return [doubt for seq in numbers if (doubt := self._state.doubt_of(seq))]

    def _forget(self, number: int) -> None:
        self._strips.discard((number, False))
        self._strips.discard((number, True))

    def apply_many(self, arrived: Iterable[Event]) -> None:
        """Show more events; those that are shown already are skipped.

        The first batch tells more than the state does, and so does a log from its first event on:
        they replace what the state showed.
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
            self._forget(number)
            self.show_progress(self._log.row(number).said.seq)  # a waiting agent does nothing
            self._place(number)
        if changed:
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
        del self._shown[:gone]
        if self.cursor is not None:
            self.set_reactive(
                ActivityList.cursor, max(0, self.cursor - gone) if self._shown else None
            )
            top = max(0, self.scroll_offset.y - gone * LINES)
            self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def show_only(self, chosen: RowFilter, text: str) -> None:
        """Filter by kind and by text."""
        self._filter, self._text = chosen, text.casefold()
        self.cursor = None
        self._list_anew()

    def _list_anew(self) -> None:
        self._shown = [number for number in self._log.numbers if self._passes(number)]
        self._laid_out()

    def on_mount(self) -> None:
        """Redraw all rows when the theme changes."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._strips.clear())

    def on_resize(self) -> None:
        self._strips.clear()
        self._laid_out()
        if self.cursor is not None:
            self._keep_in_view(self.cursor * LINES)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row and show its details."""
        place = (event.y + self.scroll_offset.y) // LINES
        if place < len(self._shown):
            self.cursor = place
            self.action_choose()

    def watch_cursor(self) -> None:
        """Report the selection and keep it in view."""
        self.refresh()
        self.post_message(self.Moved(self.selected))
        if self.cursor is not None:
            self._keep_in_view(self.cursor * LINES)

    def action_move(self, by: int) -> None:
        """Move the cursor; it starts at the latest row, past which it follows."""
        start = len(self._shown) if self.cursor is None else self.cursor
        if by > 0 and start >= len(self._shown) - 1:
            self.cursor = None
            self._laid_out()
            return
        self.action_go(min(max(start + by, 0), len(self._shown) - 1))

    def action_page(self, by: int) -> None:
        self.action_move(by * max(self.size.height // LINES - 1, 1))

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
        place, line = divmod(y + self.scroll_offset.y, LINES)
        if place >= len(self._shown):
            return Strip.blank(self.size.width, self.rich_style)
        number, current = self._shown[place], place == self.cursor
        strips = self._strips.get((number, current))
        if strips is None:
            strips = self._draw(number, current=current)
            self._strips[number, current] = strips
        marked = self._below and y == self.scrollable_content_region.height - 1
        return self._with_marker(strips[line]) if marked else strips[line]

    def _with_marker(self, strip: Strip) -> Strip:
        marker = f"  ↓ {self._below} new  "
        style = self.get_component_rich_style("activity--below")
        left = max(0, (strip.cell_length - len(marker)) // 2)
        rest = strip.crop(min(strip.cell_length, left + len(marker)))
        return Strip.join([strip.crop(0, left), Strip([Segment(marker, style)]), rest])

    def _draw(self, number: int, *, current: bool) -> tuple[Strip, ...]:
        row = self._log.row(number)
        base = self.get_component_rich_style("activity--cursor") if current else self.rich_style
        look = RowLook(self.scrollable_content_region.width, base, self._component)
        doing = self._doing(number, row) or self._trouble(row)
        return draw(row, look, doing=doing, wrong=row.said.seq in self._wrong)

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
            if self.cursor is not None and place <= self.cursor:
                self.set_reactive(ActivityList.cursor, self.cursor + 1)

    def _laid_out(self, *, at_end: bool = False) -> None:
        following = self.cursor is None or at_end
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._shown) * LINES)
        if following:
            self._below = 0
            # By force: the scroll bar that would allow it comes only with the next layout.
            self.scroll_end(animate=False, immediate=True, force=True)
        if self.cursor is not None:
            self.post_message(self.Moved(self.selected))
        self.refresh()

    def _keep_in_view(self, y: int) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if y < top:
            self.scroll_to(y=y, animate=False, force=True)
        elif y + LINES > top + height:
            self.scroll_to(y=y + LINES - height, animate=False, force=True)


def _decision(row: ActivityRow) -> Literal["ignore", "delegate"] | None:
    """Return the decision on a row's message; requests and answers follow a delegation."""
    if row.kind is not RowKind.DECISION:
        return "delegate"
    return row.latest.body.decision if isinstance(row.latest.body, DecisionMade) else None


@dataclass(frozen=True, slots=True)
class RowLook:
    """The width of a row, its base style, and the styles of its parts by name."""

    width: int
    base: Style
    component: Callable[[str], Style]


def draw(row: ActivityRow, look: RowLook, *, doing: str, wrong: bool) -> tuple[Strip, Strip]:
    """Draw two lines; the second shows what agents are `doing`, or else details."""
    line = headline(row)
    first = Strip(_verdict(row, line, look.component, wrong=wrong))
    subject = look.component("busy" if doing else "subject")
    below = Strip([Segment(" " * INDENT + (doing or line.subject), subject)])
    took = f" {line.took} " if line.took else " "
    beside, under = _where_cost_fits(line, look.width, first.cell_length, below.cell_length)
    if below.cell_length > look.width - 1:
        below = Strip([*below.crop(0, look.width - 2), Segment("…", subject)])
    first = _with_right(first, beside or took, look)
    below = _with_right(below, under, look) if under else below
    return _filled(first, look), _filled(below, look)


def _verdict(
    row: ActivityRow, line: Headline, component: Callable[[str], Style], *, wrong: bool
) -> list[Segment]:
    name = visible_line(row.said.by)
    author = "" if line.verdict.endswith(f" {name}") else f"  {name}"
    segments = [
        Segment(f"{clock_time(row.opened.at)} ", component("time")),
        Segment(f"{line.glyph} {line.verdict}", component(line.tone.value)),
        Segment(author, component("time")),
    ]
    if row.kind is RowKind.DECISION and wrong:
        segments.append(Segment("  ! marked wrong", component("asks")))
    return segments


def _with_right(strip: Strip, text: str, look: RowLook) -> Strip:
    """Put a text at the right end of a line, cutting the line if necessary."""
    room = max(look.width - len(text), 0)
    if strip.cell_length > room > 1:
        strip = Strip([*strip.crop(0, room - 1), Segment("…", look.component("time"))])
    left = strip.crop(0, room).extend_cell_length(room)
    return Strip.join([left, Strip([Segment(text, look.component("time"))])])


def _filled(strip: Strip, look: RowLook) -> Strip:
    return strip.apply_style(look.base).adjust_cell_length(look.width, look.base)


def _where_cost_fits(line: Headline, width: int, first: int, second: int) -> tuple[str, str]:
    """Return the right ends of both lines if the cost fits into one of them."""
    if not line.cost:
        return "", ""
    both = f" {line.cost} · {line.took} " if line.took else f" {line.cost} "
    if first + len(both) <= width:
        return both, ""
    alone = f" {line.cost} "
    return "", alone if second + len(alone) <= width else ""
