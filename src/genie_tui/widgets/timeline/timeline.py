"""The widget that shows a room's timeline, follows its end, and reads back in its log."""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import ClassVar, Final, Literal

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from genie_core.errors import GenieError
from genie_core.room.client.model import PendingMessage
from genie_core.room.protocol.events import Event
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase
from genie_core.room.view.entries import AnswerEntry
from genie_core.room.view.log import text_of
from genie_core.room.view.wording import Code, blocks
from genie_core.text.safe import visible_line
from genie_tui.clipboard import copy
from genie_tui.commands.keymap import Keymap, keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.transfers import FileTransfers
from genie_tui.widgets.timeline.canvas import GUTTER, NAMES, Palette, component
from genie_tui.widgets.timeline.content import TimelineContent
from genie_tui.widgets.timeline.history_pages import (
    HistorySpan,
    PageEdge,
    PageRequest,
    ReadHistory,
    page_request,
    with_page,
)
from genie_tui.widgets.timeline.layout import EntryLayout, estimate
from genie_tui.widgets.timeline.painter import Painter
from genie_tui.widgets.timeline.prose import links_in
from genie_tui.widgets.timeline.streaming import SHORTEST_PAUSE, RunProgress, repaint_pause

NARROWEST: Final = 20
"""Least width that is painted; a narrower screen cuts lines off."""

NO_CODE: Final = "The message has no block of code."
NO_REPLY: Final = "The selected message replies to none."

PATIENCE: Final = 4_000
"""Surplus entries that are kept while they are being read."""


@dataclass(frozen=True, slots=True)
class ScrollTarget:
    """An event to scroll to, so that it is `distance` lines below the top."""

    seq: int
    distance: int
    select: bool = False


class DecisionMarkRequested(Message):
    """The person requests to mark the decision about a message as wrong, or unmark it.

    `decision` is None if there is none yet.
    """

    def __init__(self, message: int, decision: Literal["ignore", "delegate"] | None) -> None:
        super().__init__()
        self.message = message
        self.decision = decision


def nothing_chosen(keymap: Keymap) -> str:
    """Say how to select a message."""
    there = keymap.text(Scope.ROOM, "read-back")
    up, down = (keymap.text(Scope.TIMELINE, name) for name in ("up", "down"))
    return f"Select a message first: {there}, then {up} {down}."


def marked(strip: Strip, pattern: re.Pattern[str], style: Style) -> Strip:
    """Return a strip in which matches have another style."""
    parts, end = list[Strip](), 0
    for match in pattern.finditer(strip.text):
        start, stop = (strip.index_to_cell_position(place) for place in match.span())
        found = Segment.apply_style(strip.crop(start, stop), post_style=style)
        parts += [strip.crop(end, start), Strip(found)]
        end = stop
    return Strip.join([*parts, strip.crop(end)]) if parts else strip


MATCHES: Final = frozenset({"timeline.match-after", "timeline.match-before"})
OF_MESSAGES: Final = frozenset({"timeline.reply", "timeline.copy", "timeline.details"})

DEPENDING: Final = (
    MATCHES
    | OF_MESSAGES
    | {f"timeline.{name}" for name in ("react", "open", "copy-code", "edit", "delete", "retry")}
)
"""Actions that need a message to be selected, or something to be found."""


class EntryView(ScrollView, can_focus=True):
    """Draws a `TimelineContent` line by line, and follows its end while that is in view.

    No widget is made for an entry, and only entries near the visible part are ever drawn. Lines in
    view stay there when entries above them come, go, or turn out to be of another height.

    An entry that arrives while the person does not look, as `is_attended` says, gets a line above
    it. So many messages were `missed` since they last looked at the end, so many of them for them.
    """

    ALLOW_SELECT: ClassVar[bool] = True

    _selected: reactive[int | None] = reactive(None, repaint=False, init=False)

    def __init__(self) -> None:
        super().__init__()
        self.transfers = FileTransfers()
        self.progress = RunProgress()
        self._content = TimelineContent(RoomState(), "")
        self._layout = EntryLayout(self._draw, self._estimate)
        self._palette: Palette | None = None
        self._painter: Painter | None = None
        self._width = 0
        self._reasons = False
        self._wrong: set[int] = set()
        self._following = True
        self._below = 0
        self._settling = False
        self._settled_size = Size(0, 0)
        self._due = False
        self._unread: int | None = None
        self._for_me = 0
        self.missed = self.missed_for_me = 0
        self._found: re.Pattern[str] | None = None
        self.is_attended = True

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.visual_style.rich_style
        line = y + self.scroll_offset.y
        if self._painter is None or line >= self._layout.height:
            return Strip.blank(width, base)
        index, row = self._layout.at(line)
        strips = self._layout.lines(index)
        strip = strips[row] if row < len(strips) else Strip([])
        if index == self._selected and (row or strip.cell_length):
            base = self.get_visual_style(component("selected")).rich_style
            strip = self._with_matches(strip, index, "current")
        strip = strip.adjust_cell_length(width, base).apply_style(base)
        strip = self._with_selection(strip, line).apply_offsets(0, line)
        return self._with_marker(strip) if self._below and y == self._rows - 1 else strip

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw the lines that come into view; follow if the end is among them."""
        super().watch_scroll_y(old_value, new_value)
        if self._settling or self._painter is None:
            return
        if self.size == self._settled_size:
            self._following = round(new_value) >= self._layout.height - self._rows
            self._settle()
            self._scrolled()
        else:
            # The size changed and took the position along; the person did not scroll.
            self._settle_soon()

    def on_resize(self) -> None:
        """Wrap again if the width changed, keeping the top message."""
        self._due = False
        width = max(NARROWEST, self.scrollable_content_region.width)
        if width == self._width or not self._rows:
            self._settle()
            return
        top = self.scroll_offset.y
        anchor = self._layout.at(top) if self._width and len(self._layout) else (0, 0)
        self._width = width
        self._new_painter()
        self._layout.redraw_all(rewrap=True)
        start, height = self._layout.span(anchor[0]) if len(self._layout) else (0, 0)
        self._settle(start + min(anchor[1], max(0, height - 1)))
        self._laid_out()

    def notify_style_update(self) -> None:
        """Redraw if the colours changed, after the component styles are updated."""
        super().notify_style_update()
        if self._painter is not None:
            self.call_later(self._restyle)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text selected by mouse, without the gutter."""
        top = self.scroll_offset.y
        first = selection.start.y if selection.start else top
        last = selection.end.y if selection.end else top + self._rows - 1
        lines = [self._line_text(line, selection) for line in range(first, last + 1)]
        return "\n".join(lines), "\n"

    # For subclasses

    def _scrolled(self) -> None:
        """React to scrolling by the person."""

    def _laid_out(self) -> None:
        """React to the first layout, or to another width."""

    # Drawing

    @property
    def _rows(self) -> int:
        return self.scrollable_content_region.height

    def _draw(self, index: int) -> list[Strip]:
        if self._painter is None:
            return []
        entry = self._content[index]
        strips = self._painter.paint(entry, self._content.thread(entry))
        strips = [self._with_matches(strip, index, "found") for strip in strips]
        if self._unread is not None and self._content.seq_at(index) == self._unread:
            strips = [*self._painter.divider("new", "unread"), *strips]
        return strips

    def _with_matches(self, strip: Strip, index: int, name: str) -> Strip:
        """Return a line of an entry with its matches in the style of this name."""
        if self._found is None or not self._found.search(text_of(self._content[index]) or ""):
            return strip
        return marked(strip, self._found, self.get_visual_style(component(name)).rich_style)

    def _estimate(self, index: int) -> int:
        return estimate(self._content[index], self._width) if self._width else 1

    def _new_painter(self) -> None:
        self._palette = Palette.of(self)
        self._painter = Painter(
            self._palette,
            self._width,
            reasons=self._reasons,
            transfers=self.transfers,
            progress=self.progress,
            wrong=self._wrong,
            hue=lambda name: self._content.hue(name),  # of the content at that time
            how_to_read=self._how_to_read(),
        )

    def _how_to_read(self) -> str:
        """The keys that show a message with its quotes."""
        keymap = keymap_of(self)
        there, details = (
            keymap.text(Scope.ROOM, "read-back"),
            keymap.text(Scope.TIMELINE, "details"),
        )
        return f"{there}, {details} to read"

    def _restyle(self) -> None:
        if Palette.of(self) != self._palette:
            self._redraw_all()

    def _redraw_all(self) -> None:
        if self._painter is not None:
            self._new_painter()
        self._layout.redraw_all()
        self._settle_soon()

    def _with_marker(self, strip: Strip) -> Strip:
        style = self.get_visual_style(component("below")).rich_style
        for_me = f", {self._for_me} for you" if self._for_me else ""
        marker = Strip([Segment(f"  ↓ {self._below} new{for_me}  ", style)])
        left = max(0, (strip.cell_length - marker.cell_length) // 2)
        rest = strip.crop(min(strip.cell_length, left + marker.cell_length))
        return Strip.join([strip.crop(0, left), marker, rest])

    def _with_selection(self, strip: Strip, line: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(line) if selection is not None else None
        if span is None:
            return strip
        start, end = (
            strip.index_to_cell_position(i) if i >= 0 else strip.cell_length for i in span
        )
        style = self.screen.get_component_rich_style("screen--selection")
        chosen = Segment.apply_style(strip.crop(start, end), post_style=style)
        return Strip.join([strip.crop(0, start), Strip(chosen), strip.crop(end)])

    def _line_text(self, line: int, selection: Selection) -> str:
        if not 0 <= line < self._layout.height:
            return ""
        index, row = self._layout.at(line)
        strips = self._layout.lines(index)
        text = strips[row].text if row < len(strips) else ""
        start, end = selection.get_span(line) or (0, -1)
        return text[max(start, GUTTER) : None if end < 0 else end].rstrip()

    # Positions

    def _anchor(self) -> tuple[int, int]:
        """Return the first visible entry with an event, and its distance from the top."""
        top = self.scroll_offset.y
        first = index = self._layout.at(top)[0]
        while index < len(self._content) and self._layout.span(index)[0] < top + self._rows:
            if self._content.seq_at(index) is not None:
                return index, self._layout.span(index)[0] - top
            index += 1
        return first, self._layout.span(first)[0] - top

    def _rearrange(self, change: Callable[[], tuple[int, int]]) -> None:
        """Change the entries at the top, and keep the lines in view where they are.

        `change` returns how many entries at the top are gone, and how many stand there now.
        """
        index, distance = self._anchor() if len(self._content) else (0, 0)
        seq = self._content.seq_at(index) if len(self._content) else None
        removed, added = self._thread(change)
        if self._painter is None or self._following or not len(self._content):
            self._settle_soon()
            return
        here = self._moved(index, seq, removed, added)
        here = min(added, len(self._content) - 1) if here is None else here
        self._settle(self._layout.settle_by(here, distance, self._rows))

    def _moved(self, index: int, seq: int | None, removed: int, added: int) -> int | None:
        """Return an entry's new index after a change, or the next one's; None if it is gone."""
        if index >= removed:
            return index - removed + added
        return None if seq is None else self._content.near(seq)

    def _thread(self, change: Callable[[], tuple[int, int]]) -> tuple[int, int]:
        """Replace the entries at the top, keeping the other drawn lines and the selection."""
        chosen = self._selected
        seq = None if chosen is None else self._content.seq_at(chosen)
        removed, added = change()
        self._layout.splice(0, removed, added)
        if chosen is not None:
            index = self._moved(chosen, seq, removed, added)
            is_same = index is not None and (index >= added or self._content.seq_at(index) == seq)
            self._selected = index if is_same else None
        return removed, added

    def _replaced_from(self, index: int) -> None:
        self._layout.replace_from(index, len(self._content))
        if self._selected is not None and self._selected >= len(self._content):
            self._selected = None
        self._settle_soon()

    def _settle_soon(self) -> None:
        """Settle once for all changes in the message queue."""
        if self._painter is not None and not self._due:
            self._due = True
            self.call_later(self._settle)

    def _settle(self, top: int | None = None) -> None:
        """Measure the visible entries; scroll to the end if following."""
        self._due = False
        if self._painter is None:
            return
        if self._following and self._content.span is not None:
            self._thread(partial(self._content.show, None))
        rows, here = self._rows, self.scroll_offset.y if top is None else top
        end = self._layout.settle_end(rows) if self._following else None
        top = self._layout.settle(here, rows) if end is None else end
        self._settling = True
        try:
            self.virtual_size = Size(self._width, self._layout.height)
            self.scroll_to(y=top, animate=False, force=True, immediate=True)
        finally:
            self._settling = False
        self._settled_size = self.size
        if self._following and self._below:
            self._set_below(0, 0)
        self._attend()
        self.refresh()

    def _go(self, top: int) -> None:
        self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def _follow(self) -> None:
        self._following = True
        self._set_below(0, 0)
        self._attend()

    def attend(self, *, here: bool) -> None:
        """Note whether the person has the terminal before them."""
        self.is_attended = here
        self._attend()

    def _attend(self) -> None:
        if self._following and self.is_attended:
            self.missed = self.missed_for_me = 0

    def _count(self, first: int) -> None:
        """Count the entries that arrived while the person reads back or looks elsewhere."""
        if self._following and self.is_attended:
            return
        arrived = range(first, self._content.settled)
        news = [index for index in arrived if self._content.is_news(self._content[index])]
        if not news:
            return
        for_me = sum(self._content.is_for_me(self._content[index]) for index in news)
        self.missed += len(news)
        self.missed_for_me += for_me
        if self._unread is None:
            self._set_unread(self._content.seq_at(news[0]))
        if not self._following:
            self._set_below(self._below + len(news), self._for_me + for_me)

    def _set_below(self, count: int, for_me: int) -> None:
        if (count, for_me) != (self._below, self._for_me):
            self._below, self._for_me = count, for_me
            self.refresh()

    def _set_unread(self, seq: int | None) -> None:
        """Draw the line above this event, and no longer above another one."""
        before, self._unread = self._unread, seq
        for each in (before, seq):
            index = self._content.near(each) if each is not None else None
            if index is not None:
                self._layout.redraw(index)
        if before != seq:
            self._settle_soon()


class Timeline(EntryView, can_focus=True):
    """Shows all messages, answers and notes of a room, oldest first.

    It holds the latest part of a long room and, while the person reads back, a part of the rest.
    `history`, if set before a state is bound, is where it reads that from. The number of entries is
    bounded either way.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *map(component, NAMES),
        component("selected"),
        component("below"),
        component("found"),
        component("current"),
    }
    DEFAULT_CSS = """
    Timeline {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $foreground 15%;
        & .timeline--muted { color: $foreground 55%; }
        & .timeline--rule { color: $foreground 18%; }
        & .timeline--agent { color: $text-primary; text-style: bold; }
        & .timeline--failed { color: $text-error; }
        & .timeline--waiting { color: $text-warning; }
        & .timeline--notice { color: $text-accent; }
        & .timeline--private { color: $text-secondary; text-style: italic; }
        & .timeline--working { color: $text-primary; }
        & .timeline--done { color: $text-success; }
        & .timeline--mention { color: $text-primary; text-style: bold; }
        & .timeline--link { color: $text-secondary; text-style: underline; }
        & .timeline--heading { color: $text-primary; text-style: bold; }
        & .timeline--quote { color: $foreground 40%; }
        & .timeline--inline { color: $text-accent; background: $surface; }
        & .timeline--code { color: $foreground; background: $surface; }
        & .timeline--keyword { color: $text-primary; }
        & .timeline--string { color: $text-success; }
        & .timeline--number { color: $text-accent; }
        & .timeline--comment { color: $foreground 50%; text-style: italic; }
        & .timeline--name { color: $text-secondary; }
        & .timeline--selected { background: $primary 20%; }
        & .timeline--found { color: $text-primary; background: $primary-muted; }
        & .timeline--current {
            color: $background; background: $primary; text-style: bold underline;
        }
        & .timeline--unread { color: $text-primary; }
        & .timeline--below { color: $text-primary; background: $primary-muted; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.TIMELINE)

    class Left(Message):
        """The person is done reading."""

    class SelectionChanged(Message):
        """Another message is selected, or none."""

    class MatchWanted(Message):
        """The person goes to the match before, -1, or after, 1."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class DetailsRequested(Message):
        """The person requests to read all of a message, with its files and quotes."""

        def __init__(self, thread: MessageThread) -> None:
            super().__init__()
            self.thread = thread

    class PageRead(Message):
        """A page of the log was read, or could not be, as `problem` says then."""

        def __init__(
            self, request: PageRequest, found: HistorySpan | None, problem: str = ""
        ) -> None:
            super().__init__()
            self.request = request
            self.found = found
            self.problem = problem

    def __init__(self) -> None:
        super().__init__()
        self.history: ReadHistory | None = None
        self._reading: PageRequest | None = None
        self._target: ScrollTarget | None = None
        self._repaint: Timer | None = None
        self._pause = SHORTEST_PAUSE
        self._came_from: list[int] = []
        self._offered: frozenset[str] = frozenset()
        self._copied = 0  # blocks of code of the selected message

    # Content

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show a room as seen by `me`, starting with the content of the state."""
        self._content = TimelineContent(state, me, can_read_back=self.history is not None)
        self.progress.bind_state(state, me)
        self._selected = self._reading = self._target = self._unread = None
        self._follow()
        self._replaced_from(0)

    def apply_many(self, events: Iterable[Event]) -> None:
        """Show many events that were applied to the state, at the cost of one.

        Events that are shown already are skipped. The first batch tells more than the state does,
        and so does a whole log from its first event on: they replace the content of the state.
        """
        place = self.reading
        self.progress.keep_running()
        first, touched = self._content.add(events)
        for index in touched:
            self._layout.redraw(index)
        self._replaced_from(first)
        if first:
            self._count(first)
        elif place is not None:
            self.read_at(*place)
        self._forget_old()
        self._show_offers()

    def stream(self, message: int, text: str) -> None:
        """Add text to the growing answer to a message.

        It shows within a twentieth of a second, together with the text that arrives until then.
        """
        if not self._content.stream(message, text):
            return
        if not self.progress.has_text(message):
            self._redraw_message(message)
        self.progress.text_arrived(message)
        self._repaint_soon()

    def show_progress(self, message: int) -> None:
        """Redraw the activity of the agents on a message."""
        if self.progress.has_text(message):
            self._repaint_soon()
        else:
            self._redraw_message(message)

    def _repaint_soon(self) -> None:
        if self._repaint is None and self.is_running:
            self._repaint = self.set_timer(self._pause, self._show_streams)

    def _show_streams(self) -> None:
        self._repaint = None
        started = perf_counter()
        self._content.refresh_tail()
        self._replaced_from(self._content.settled)
        self._settle()
        self._pause = repaint_pause(perf_counter() - started)

    def _redraw_message(self, message: int) -> None:
        index = self._content.index_of(message)
        if index is not None:
            self._layout.redraw(index)
            self._settle_soon()

    def set_unsent(self, unsent: tuple[PendingMessage, ...]) -> None:
        """Show unsent messages at the end; scroll to a new one."""
        if self._content.set_unsent(unsent):
            self._follow()
        self._replaced_from(self._content.settled)

    def show_transfer(self, digest: str) -> None:
        """Redraw a file's progress."""
        for index in self._content.indices_of_file(digest):
            self._layout.redraw(index)
        self._settle_soon()

    @property
    def reasons(self) -> bool:
        """Whether reasons for missing answers are shown."""
        return self._reasons

    def show_reasons(self, on: bool) -> None:  # noqa: FBT001 - it is a switch
        """Show or hide the reason below every message without an answer."""
        if on != self._reasons:
            self._reasons = on
            self._redraw_all()

    def show_wrong(self, messages: Collection[int]) -> None:
        """Mark exactly these messages' decisions as wrong."""
        changed = self._wrong ^ set(messages)
        self._wrong ^= changed
        for message in changed:
            self._redraw_message(message)

    def mark_matches(self, pattern: re.Pattern[str] | None) -> None:
        """Mark the matches in messages and answers; None for nothing."""
        if pattern != self._found:
            self._found = pattern
            self._show_offers()
            self._layout.redraw_all()
            self._settle_soon()

    def mark_unread(self, seen: int) -> None:
        """Draw a line above the first news after an event, if there are any."""
        for index in range(self._content.settled):
            seq = self._content.seq_at(index)
            if seq is not None and seq > seen and self._content.is_news(self._content[index]):
                self._set_unread(seq)
                return

    def mark_read(self) -> None:
        """Remove the line above unread entries."""
        self._set_unread(None)

    # Actions

    def offers(self, action: str) -> bool:
        """Whether an action does something for the selection now."""
        return action not in DEPENDING or action in self._offered

    def watch__selected(self) -> None:
        self._copied = 0
        self._show_offers()
        self.post_message(self.SelectionChanged())

    def _show_offers(self) -> None:
        offered = frozenset(self._offers_now())
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    def _offers_now(self) -> Iterator[str]:
        """Yield the actions of `DEPENDING` that have an effect now."""
        if self._found is not None:
            yield from MATCHES
        thread = self.chosen
        if thread is None:
            return
        yield from OF_MESSAGES
        if not thread.is_private:
            yield "timeline.react"
        text, files = thread.text, thread.said.files
        if self.is_answer_chosen and thread.answer is not None:
            text, files = thread.answer.text, ()
        if files or links_in(text):
            yield "timeline.open"
        if self._code:
            yield "timeline.copy-code"
        if self._content.is_own(thread) and not thread.is_deleted:
            yield from ("timeline.edit", "timeline.delete")
            if thread.phase in (Phase.FAILED, Phase.CANCELLED):
                yield "timeline.retry"

    @property
    def chosen_seq(self) -> int | None:
        """The number of the selected message's or answer's event."""
        return None if self._selected is None else self._content.seq_at(self._selected)

    @property
    def chosen(self) -> MessageThread | None:
        """The selected message, or the selected entry's."""
        return None if self._selected is None else self._content.thread_at(self._selected)

    def _chosen_or_hint(self) -> MessageThread | None:
        """Return the selected message; say how to select one if none is."""
        if self.chosen is None:
            self.notify(nothing_chosen(keymap_of(self)))
        return self.chosen

    @property
    def is_answer_chosen(self) -> bool:
        """Whether the selected entry is an answer."""
        chosen = self._selected
        return chosen is not None and isinstance(self._content[chosen], AnswerEntry)

    def action_go_to_reply(self) -> None:
        """Select the original of the selected reply."""
        thread = self._chosen_or_hint()
        if thread is not None and thread.said.reply_to:
            self._came_from.append(thread.seq)
            self.show_message(thread.said.reply_to)
        elif thread is not None:
            self.notify(NO_REPLY)

    def action_go_back(self) -> None:
        """Select the reply that led to the selected message."""
        if self._came_from:
            self.show_message(self._came_from.pop())

    def action_details(self) -> None:
        if (thread := self._chosen_or_hint()) is not None:
            self.post_message(self.DetailsRequested(thread))

    def action_mark_wrong(self) -> None:
        if (thread := self._chosen_or_hint()) is not None:
            decision = thread.decision.decision if thread.decision else None
            self.post_message(DecisionMarkRequested(thread.seq, decision))

    def action_select(self, step: int) -> None:
        """Move the selection to the next message in a direction, and past the last to the end.

        A selection that is out of view, or none yet, starts from the messages in view.
        """
        index = self._selected
        if index is None or not self._is_in_view(index):
            index = self._message_in_view(last=index is None)
            if index is not None:
                self._select(index)
            return
        index = self._message_from(index + step, step)
        if index is not None:
            self._select(index)
        elif step > 0:
            self.action_follow()

    def _message_from(self, index: int, step: int) -> int | None:
        """Return the first message or answer from an entry on, in a direction."""
        while 0 <= index < len(self._content):
            if text_of(self._content[index]) is not None:
                return index
            index += step
        return None

    def _message_in_view(self, *, last: bool = False) -> int | None:
        """Return the first or last message in view, or the nearest above if there is none.

        The first one begins in view or just above, unless one fills the view.
        """
        if not len(self._content):
            return None
        index, end = self._ends_in_view
        if not last:
            index += self._layout.at(self.scroll_offset.y)[1] > 1 and index < end
            first = self._message_from(index, 1)
            if first is not None and first <= end:
                return first
        return self._message_from(end, -1)

    @property
    def _ends_in_view(self) -> tuple[int, int]:
        """The first and the last entry in view, not by a blank line alone. There must be one."""
        top = self.scroll_offset.y
        first, (last, row) = self._layout.at(top)[0], self._layout.at(top + self._rows - 1)
        is_blank = not row and not self._layout.lines(last)[0].cell_length
        return first, max(first, last - is_blank)

    def _is_in_view(self, index: int) -> bool:
        first, last = self._ends_in_view
        return first <= index <= last

    def _select(self, index: int) -> None:
        self._selected = index
        start, height = self._layout.span(index)
        top = self.scroll_offset.y
        if start < top:
            self._go(start)
        elif start + height > top + self._rows:
            self._go(min(start, start + height - self._rows))
        self.refresh()

    def action_page(self, step: int) -> None:
        """Scroll by a page, keeping two lines in view; take the selection along."""
        self._go(self.scroll_offset.y + step * max(1, self._rows - 2))
        if self._selected is not None and not self._is_in_view(self._selected):
            self._selected = self._message_in_view()
            self.refresh()

    def action_home(self) -> None:
        """Go to the first message and select it, once it is read from the log."""
        self._target = None
        if not self._content.has_more_before or not self._read_back(PageEdge.START):
            self._go(0)
            self._select_first()

    def _select_first(self) -> None:
        first = self._message_from(0, 1)
        if first is not None:
            self._select(first)

    def action_follow(self) -> None:
        """Go to the end and follow it; unread entries count as read."""
        self.mark_read()
        self._selected = self._reading = self._target = None
        self._follow()
        self._settle()

    def action_step(self, step: int) -> None:
        """Go to another match of the searched text."""
        if self._found is not None:
            self.post_message(self.MatchWanted(step))

    def action_copy(self) -> None:
        """Copy the selected message as shown."""
        if self._chosen_or_hint() is None or self._selected is None:
            return
        text = text_of(self._content[self._selected])
        if text is not None:
            copy(self, text)

    def action_copy_code(self) -> None:
        """Copy a block of code of the selected message; the next one each time."""
        if self._chosen_or_hint() is None:
            return
        code = self._code
        if code:
            at = self._copied % len(code)
            self._copied = at + 1
            copy(self, code[at], f"block {at + 1} of {len(code)}" if len(code) > 1 else "")
        else:
            self.notify(NO_CODE)

    @property
    def _code(self) -> list[str]:
        """The blocks of code of the selected message."""
        entry = None if self._selected is None else self._content[self._selected]
        if isinstance(entry, AnswerEntry):
            from genie_tui.widgets.timeline.markdown import code_in  # as the painter does

            return code_in(entry.text)
        parts = blocks((text_of(entry) if entry is not None else None) or "")
        return [each.code for each in parts if isinstance(each, Code)]

    def action_write(self) -> None:
        """Leave, also with a message selected."""
        self.post_message(self.Left())

    def action_leave(self) -> None:
        """Unselect the message, and leave."""
        self._selected = None
        self._came_from.clear()
        self.post_message(self.Left())

    def on_click(self, event: events.Click) -> None:
        """Follow on a click on the marker for new messages; read back at a gap."""
        if self._below and event.y == self._rows - 1:
            event.stop()
            self.action_follow()
        elif (
            self._content.has_more_before and not self._layout.at(event.y + self.scroll_offset.y)[0]
        ):
            self._following = False
            self._look_around()

    # Reading back

    @property
    def reading(self) -> tuple[int, int] | None:
        """The event being read, and its distance from the top in lines; None while following.

        The event is the first in view that shows; it may begin above the top.
        """
        if self._following or not len(self._content):
            return None
        index, distance = self._anchor()
        seq = self._content.seq_at(index)
        return None if seq is None else (seq, distance)

    def read_at(self, seq: int, distance: int = 0) -> None:
        """Scroll to an event, so that it is about `distance` lines below the top.

        An event that is not held is read from the log first. Without a log, nothing happens.
        """
        self._go_to(ScrollTarget(max(1, seq), distance))

    def show_message(self, seq: int) -> None:
        """Scroll to an event, and select it if it is a message or an answer.

        The first match of the searched text in it comes into view.
        """
        self._go_to(ScrollTarget(max(1, seq), self._rows // 3, select=True))

    def _scrolled(self) -> None:
        self._look_around()

    def _laid_out(self) -> None:
        if self._target is not None and self._reading is None:
            self._go_to(self._target)

    def _forget_old(self) -> None:
        """Forget the oldest live entries if there are too many.

        If they are being read, they are fetched from the log first, to stay in view.
        """
        count = self._content.surplus
        if not count:
            return
        place = None if self._following else self._anchor()[0]
        is_read = place is not None and self._content.above <= place < self._content.above + count
        seq = self._content.seq_at(place) if is_read and place is not None else None
        if seq is None or self.history is None or count > PATIENCE:
            self._rearrange(partial(self._content.forget, count))
        elif self._reading is None:
            self._read_back(PageEdge.AT, seq, since=self._content.since_without(count))

    def _go_to(self, target: ScrollTarget) -> None:
        if not self._content.holds(target.seq):
            self._target = target if self._read_back(PageEdge.AT, target.seq) else None
            return
        index = self._content.near(target.seq)
        self._target = target if self._painter is None else None  # once there is room to show it
        if index is None or self._painter is None:
            return
        self._following = False
        distance = target.distance
        if target.select:
            shows = text_of(self._content[index]) is not None
            self._selected = index if shows else None
            distance = min(distance, 2 * self._rows // 3 - self._match_row(index))
        self._settle(self._layout.settle_by(index, distance, self._rows))
        self._look_around()

    def _match_row(self, index: int) -> int:
        """Return the first of an entry's lines that has a match; 0 for none."""
        if self._found is None:
            return 0
        lines = enumerate(self._layout.lines(index))
        return next((row for row, line in lines if self._found.search(line.text)), 0)

    def _look_around(self, after: PageEdge | None = None) -> None:
        """Read a page if the lines in view are near the end of the held entries.

        `after` a page was read, only go on in its direction: the person did not scroll.
        """
        if self._following or self._reading is not None or not len(self._content):
            return
        top, rows, gap = self.scroll_offset.y, self._rows, self._content.gap
        first = self._layout.at(max(0, top - rows))[0]
        if self._content.has_more_before and first == 0 and after is not PageEdge.BACK:
            self._read_back(PageEdge.LIVE if self._content.span is None else PageEdge.FRONT)
        elif gap is not None and first <= gap <= self._layout.at(top + 2 * rows)[0]:
            reads_before = self._anchor()[0] < gap
            if reads_before and after is not PageEdge.FRONT:
                self._read_back(PageEdge.BACK)
            elif not reads_before and after is None:
                self._read_back(PageEdge.LIVE)

    def _read_back(self, edge: PageEdge, seq: int = 0, *, since: int = 0) -> bool:
        """Start to read a page, replacing one being read; False if there is nothing to read."""
        content = self._content
        request = page_request(edge, since or content.since, content.span, seq)
        if self.history is None or request is None or not self.is_running:
            return False
        self._reading = request
        self.run_worker(self._read(self.history, request), group="history")
        return True

    async def _read(self, history: ReadHistory, request: PageRequest) -> None:
        content = self._content
        span, since, earlier = content.span, content.since, content.earlier
        try:
            found = await history(request.before, request.most)
            amendments = await self._amendments(history, found)
            whole = await asyncio.to_thread(
                with_page,
                request,
                span,
                found,
                since,
                earlier,
                content.doubts,
                content.agents,
                amendments,
            )
        except (GenieError, OSError) as error:
            self.post_message(self.PageRead(request, None, str(error)))
        else:
            self.post_message(self.PageRead(request, whole))

    async def _amendments(self, history: ReadHistory, page: Sequence[Event]) -> dict[int, Event]:
        """Read the edits and deletions of messages in a page."""
        amended, here = self._content.amended, {event.seq: event for event in page}
        found: dict[int, Event] = {}
        for message in here.keys() & amended.keys():
            change = here.get(amended[message])
            for event in [change] if change else await history(amended[message] + 1, 1):
                found[message] = event
        return found

    @on(PageRead)
    def _page_read(self, message: PageRead) -> None:
        message.stop()
        request = message.request
        if request is not self._reading:
            return
        self._reading, target, self._target = None, self._target, None
        if message.found is None:
            text = f"Earlier messages can't be read: {visible_line(message.problem)}"
            self.notify(text, severity="warning", markup=False)
        elif request.edge is PageEdge.START or target is not None or not self._following:
            self._following = False
            self._rearrange(partial(self._content.show, message.found))
            if request.edge is PageEdge.START:
                self._settle(0)
                self._select_first()
            elif target is not None:
                self._go_to(target)
            self._look_around(request.edge)
