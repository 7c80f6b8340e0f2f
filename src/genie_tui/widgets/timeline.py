"""The room's conversation, drawn line by line so that its length does not matter."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from functools import partial
from time import perf_counter
from typing import ClassVar, Final

from rich.segment import Segment
from textual import events, on
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from genie_core.errors import GenieError
from genie_core.room.event import Event
from genie_core.room.exchange import Exchange
from genie_core.room.fold import RoomState
from genie_core.room.seat import Unsent
from genie_tui.keymap import Scope, bindings
from genie_tui.shelf import Shelf
from genie_tui.text import visible_line
from genie_tui.widgets.conversation import Conversation
from genie_tui.widgets.doings import Doings
from genie_tui.widgets.entry import message_of, said_in
from genie_tui.widgets.marked import MarkWanted, exchanged
from genie_tui.widgets.paint import GUTTER, Painter, estimate
from genie_tui.widgets.palette import NAMES, Palette, component
from genie_tui.widgets.past_pages import Edge, Past, Target, Want, stretched, wanted
from genie_tui.widgets.past_stretch import Stretch
from genie_tui.widgets.stream import OFTEN, pause
from genie_tui.widgets.window import Window

PATIENCE: Final = 4_000
"""Entries that are kept beyond what should be, while they are read."""

NARROWEST: Final = 20
"""Columns that are painted at least; a narrower screen cuts lines off."""


class Timeline(ScrollView, can_focus=True):
    """Everything that was said, answered and noted in the room, oldest first.

    It follows what arrives while its end is in view and stays put while somebody reads back. No
    widget is made for a message, and only messages near the visible part are ever drawn.

    Of a long room it holds the latest part. `past`, if set before a state is bound, is where it
    gets the rest from as somebody reads back; it holds a bounded part of that, too.
    """

    ALLOW_SELECT: ClassVar[bool] = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *map(component, NAMES),
        component("selected"),
        component("below"),
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
        & .timeline--author-0 { color: $text-success; text-style: bold; }
        & .timeline--author-1 { color: $text-accent; text-style: bold; }
        & .timeline--author-2 { color: $text-secondary; text-style: bold; }
        & .timeline--author-3 { color: $foreground; text-style: bold; }
        & .timeline--selected { background: $primary 20%; }
        & .timeline--below { color: $text-primary; background: $primary-muted; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.TIMELINE)

    class StopRequested(Message):
        """The person wants work to stop: for one message, or all of it when None."""

        def __init__(self, message: int | None) -> None:
            super().__init__()
            self.message = message

    class DetailsRequested(Message):
        """The person wants to read all of a message, with what it brought along."""

        def __init__(self, exchange: Exchange) -> None:
            super().__init__()
            self.exchange = exchange

    class NewBelow(Message):
        """The number of messages that arrived below the part being read changed."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    class PastRead(Message):
        """A part of the log was read, or could not be, as `problem` says then."""

        def __init__(self, want: Want, found: Stretch | None, problem: str = "") -> None:
            super().__init__()
            self.want = want
            self.found = found
            self.problem = problem

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that every widget has for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.shelf = Shelf()
        self.doings = Doings()
        self.past: Past | None = None
        self._reading: Want | None = None
        self._target: Target | None = None
        self._talk = Conversation(RoomState(), "")
        self._window = Window(self._draw, self._estimate)
        self._palette: Palette | None = None
        self._painter: Painter | None = None
        self._width = 0
        self._reasons = False
        self._wrong: set[int] = set()
        self._selected: int | None = None
        self._following = True
        self._below = 0
        self._settling = False
        self._settled_size = Size(0, 0)
        self._due = False
        self._repaint: Timer | None = None
        self._pause = OFTEN

    # What there is to show

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show this room from now on, as seen by `me`, beginning with what it holds already."""
        self._talk = Conversation(state, me, can_read_back=self.past is not None)
        self._selected = self._reading = self._target = None
        self._follow()
        self._replaced_from(0)

    def apply(self, event: Event) -> None:
        """Take in an event that was just applied to the state."""
        self.apply_many((event,))

    def apply_many(self, events: Iterable[Event]) -> None:
        """Take in many events that were applied to the state, at the cost of one.

        Events that are known from the state are skipped, unless they start at the first one: a
        whole log tells more than the state does, and replaces what that showed.
        """
        place = self.reading
        first, touched = self._talk.add(events)
        for index in touched:
            self._window.redraw(index)
        self._replaced_from(first)
        if first:
            self._count(first)
        elif place is not None:
            self.read_at(*place)
        self._forget_old()

    def stream(self, message: int, text: str) -> None:
        """Add text to the answer that is being written for a message.

        It shows within a twentieth of a second, together with what else arrives until then.
        """
        if not self._talk.stream(message, text):
            return
        if not self.doings.is_written(message):
            self._redraw_message(message)
        self.doings.wrote(message)
        if self._repaint is None and self.is_running:
            self._repaint = self.set_timer(self._pause, self._show_streams)

    def show_doing(self, message: int) -> None:
        """Show anew what the agents that work on a message are at."""
        if self.doings.is_written(message):
            if self._repaint is None and self.is_running:
                self._repaint = self.set_timer(self._pause, self._show_streams)
        else:
            self._redraw_message(message)

    def _redraw_message(self, message: int) -> None:
        index = self._talk.place_of(message)
        if index is not None:
            self._window.redraw(index)
            self._settle_soon()

    def set_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Show these messages at the end as not sent yet; a new one brings the end into view."""
        if self._talk.set_unsent(unsent):
            self._follow()
        self._replaced_from(self._talk.settled)

    def show_transfer(self, digest: str) -> None:
        """Show anew how far a file has come."""
        for index in self._talk.places_of(digest):
            self._window.redraw(index)
        self._settle_soon()

    @property
    def reasons(self) -> bool:
        """Whether it shows why nobody answered."""
        return self._reasons

    def show_reasons(self, on: bool) -> None:  # noqa: FBT001 - a switch is what it is
        """Show or hide the reason behind every message that nobody answered."""
        if on != self._reasons:
            self._reasons = on
            self._redraw_all()

    def show_wrong(self, messages: Collection[int]) -> None:
        """Show exactly these messages as those whose decisions the person marked as wrong."""
        for message in exchanged(self._wrong, messages):
            self._redraw_message(message)

    # Where one reads

    @property
    def reading(self) -> tuple[int, int] | None:
        """Which event is read, and how many lines below the top it is; None while it follows.

        The event is the first in view that shows; it may begin above the top.
        """
        if self._following or not len(self._talk):
            return None
        index, distance = self._anchor()
        seq = self._talk.seq_at(index)
        return None if seq is None else (seq, distance)

    def read_at(self, seq: int, distance: int = 0) -> None:
        """Go to an event, so that it is so many lines below the top, or near; `reading` tells.

        What is not held is read from the log first. Without one, nothing happens.
        """
        self._go_to(Target(max(1, seq), distance))

    def show_message(self, seq: int) -> None:
        """Go to a message, or to any other event, and select it if somebody said it."""
        self._go_to(Target(max(1, seq), self._rows // 3, select=True))

    # What is in view

    def render_line(self, y: int) -> Strip:
        """One line of what is in view, `y` lines from the top."""
        width, base = self.size.width, self.visual_style.rich_style
        line = y + self.scroll_offset.y
        if self._painter is None or line >= self._window.height:
            return Strip.blank(width, base)
        index, row = self._window.at(line)
        strips = self._window.lines(index)
        strip = strips[row] if row < len(strips) else Strip([])
        if index == self._selected and (row or strip.cell_length):
            base = self.get_visual_style(component("selected")).rich_style
        strip = strip.adjust_cell_length(width, base).apply_style(base)
        strip = self._with_selection(strip, line).apply_offsets(0, line)
        return self._with_marker(strip) if self._below and y == self._rows - 1 else strip

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw what comes into view, and find out whether that is the end."""
        super().watch_scroll_y(old_value, new_value)
        if self._settling or self._painter is None:
            return
        if self.size == self._settled_size:
            self._following = round(new_value) >= self._window.height - self._rows
            self._settle()
            self._look_around()
        else:
            # The room for the lines changed and took the position along; nobody scrolled.
            self._settle_soon()

    def on_resize(self) -> None:
        """Wrap again if the width changed, with the same message at the top."""
        self._due = False
        width = max(NARROWEST, self.scrollable_content_region.width)
        if width == self._width or not self._rows:
            self._settle()
            return
        top = self.scroll_offset.y
        anchor = self._window.at(top) if self._width and len(self._window) else (0, 0)
        self._width = width
        self._new_painter()
        self._window.redraw_all(rewrap=True)
        start, height = self._window.span(anchor[0]) if len(self._window) else (0, 0)
        self._settle(start + min(anchor[1], max(0, height - 1)))
        if self._target is not None and self._reading is None:
            self._go_to(self._target)

    def notify_style_update(self) -> None:
        """Look whether the colours changed, once the component styles are up to date too."""
        super().notify_style_update()
        if self._painter is not None:
            self.call_later(self._restyle)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that was selected with the mouse, without what stands beside it."""
        top = self.scroll_offset.y
        first = selection.start.y if selection.start else top
        last = selection.end.y if selection.end else top + self._rows - 1
        lines = [self._line_text(line, selection) for line in range(first, last + 1)]
        return "\n".join(lines), "\n"

    # What the person does

    @property
    def chosen(self) -> Exchange | None:
        """The message that is selected, or that the selected answer is to."""
        return None if self._selected is None else self._talk.exchange_at(self._selected)

    def action_details(self) -> None:
        """Ask to read all of the selected message."""
        if (exchange := self.chosen) is not None:
            self.post_message(self.DetailsRequested(exchange))

    def action_mark_wrong(self) -> None:
        """Ask for the decision about the selected message to be marked, or not any more."""
        if (exchange := self.chosen) is not None:
            decision = exchange.decision.decision if exchange.decision else None
            self.post_message(MarkWanted(exchange.seq, decision))

    def action_select(self, step: int) -> None:
        """Move the selection to the next message in a direction, and past the last to the end."""
        index = self._selected
        if index is None:
            last = self.scroll_offset.y + self._rows - 1
            index = self._window.at(last)[0] + 1 if len(self._window) else 0
            step = -1
        index += step
        while 0 <= index < len(self._talk) and said_in(self._talk[index]) is None:
            index += step
        if index >= len(self._talk):
            self.action_follow()
        elif index >= 0:
            self._select(index)

    def action_page(self, step: int) -> None:
        """Read on or back by a page, less two lines to find one's place."""
        self._go(self.scroll_offset.y + step * max(1, self._rows - 2))

    def action_home(self) -> None:
        """Read from the start."""
        self._target = None
        if not self._talk.has_more_before or not self._read_back(Edge.START):
            self._go(0)

    def action_follow(self) -> None:
        """Go to the end and stay there as more arrives."""
        self._selected = self._reading = self._target = None
        self._follow()
        self._settle()

    def action_copy(self) -> None:
        """Copy the selected message as it is shown."""
        text = None if self._selected is None else said_in(self._talk[self._selected])
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.notify("Message copied.", markup=False, timeout=2)

    def action_stop(self) -> None:
        """Ask for the work on the selected message to stop, or for all of it without selection.

        With a message selected that nobody works on, only the selection goes.
        """
        if self._selected is None:
            self.post_message(self.StopRequested(None))
            return
        message = message_of(self._talk[self._selected])
        if self._talk.is_running(message):
            self.post_message(self.StopRequested(message))
        else:
            self._selected = None
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Jump to what is new when its marker is clicked, and read back where more is to come."""
        if self._below and event.y == self._rows - 1:
            event.stop()
            self.action_follow()
        elif self._talk.has_more_before and not self._window.at(event.y + self.scroll_offset.y)[0]:
            self._following = False
            self._look_around()

    # How it is done

    @property
    def _rows(self) -> int:
        return self.scrollable_content_region.height

    def _draw(self, index: int) -> list[Strip]:
        if self._painter is None:
            return []
        entry = self._talk[index]
        return self._painter.paint(entry, self._talk.exchange(entry))

    def _estimate(self, index: int) -> int:
        return estimate(self._talk[index], self._width) if self._width else 1

    def _new_painter(self) -> None:
        self._palette = Palette.of(self)
        self._painter = Painter(
            self._palette,
            self._width,
            reasons=self._reasons,
            shelf=self.shelf,
            doings=self.doings,
            wrong=self._wrong,
        )

    def _restyle(self) -> None:
        if Palette.of(self) != self._palette:
            self._redraw_all()

    def _redraw_all(self) -> None:
        if self._painter is not None:
            self._new_painter()
        self._window.redraw_all()
        self._settle_soon()

    # Reading back, and forgetting

    def _anchor(self) -> tuple[int, int]:
        """The first entry in view that shows an event, and how many lines below the top it is."""
        top = self.scroll_offset.y
        first = index = self._window.at(top)[0]
        while index < len(self._talk) and self._window.span(index)[0] < top + self._rows:
            if self._talk.seq_at(index) is not None:
                return index, self._window.span(index)[0] - top
            index += 1
        return first, self._window.span(first)[0] - top

    def _rearrange(self, change: Callable[[], tuple[int, int]]) -> None:
        """Change what is at the top, and leave in view what is there.

        `change` returns how many entries at the top are gone, and how many stand there now.
        """
        index, distance = self._anchor() if len(self._talk) else (0, 0)
        seq = self._talk.seq_at(index) if len(self._talk) else None
        removed, added = self._exchange(change)
        if self._painter is None or self._following or not len(self._talk):
            self._settle_soon()
            return
        here = self._moved(index, seq, removed, added)
        here = min(added, len(self._talk) - 1) if here is None else here
        self._settle(self._window.settle_by(here, distance, self._rows))

    def _moved(self, index: int, seq: int | None, removed: int, added: int) -> int | None:
        """Where an entry is after such a change, or the one that follows; None if it is gone."""
        if index >= removed:
            return index - removed + added
        return None if seq is None else self._talk.near(seq)

    def _forget_old(self) -> None:
        """Let go of the oldest live entries if there are too many, unless they are being read.

        Then what is read is fetched from the log first, to stay in view.
        """
        count = self._talk.surplus
        if not count:
            return
        place = None if self._following else self._anchor()[0]
        is_read = place is not None and self._talk.above <= place < self._talk.above + count
        seq = self._talk.seq_at(place) if is_read and place is not None else None
        if seq is None or self.past is None or count > PATIENCE:
            self._rearrange(partial(self._talk.forget, count))
        elif self._reading is None:
            self._read_back(Edge.AT, seq, since=self._talk.since_without(count))

    def _go_to(self, target: Target) -> None:
        if not self._talk.holds(target.seq):
            self._target = target if self._read_back(Edge.AT, target.seq) else None
            return
        index = self._talk.near(target.seq)
        self._target = target if self._painter is None else None  # once there is room to show it
        if index is None or self._painter is None:
            return
        self._following = False
        if target.select:
            shows = said_in(self._talk[index]) is not None
            self._selected = index if shows else None
        self._settle(self._window.settle_by(index, target.distance, self._rows))
        self._look_around()

    def _look_around(self, after: Edge | None = None) -> None:
        """Read more if what is in view comes near the end of what is held.

        What was read `after` something is only gone on with: nobody scrolled.
        """
        if self._following or self._reading is not None or not len(self._talk):
            return
        top, rows, gap = self.scroll_offset.y, self._rows, self._talk.gap
        first = self._window.at(max(0, top - rows))[0]
        if self._talk.has_more_before and first == 0 and after is not Edge.BACK:
            self._read_back(Edge.LIVE if self._talk.stretch is None else Edge.FRONT)
        elif gap is not None and first <= gap <= self._window.at(top + 2 * rows)[0]:
            reads_before = self._anchor()[0] < gap
            if reads_before and after is not Edge.FRONT:
                self._read_back(Edge.BACK)
            elif not reads_before and after is None:
                self._read_back(Edge.LIVE)

    def _read_back(self, edge: Edge, seq: int = 0, *, since: int = 0) -> bool:
        """Begin to read a part of the log, in place of what is being read; False without one."""
        talk = self._talk
        want = wanted(edge, since or talk.since, talk.stretch, seq)
        if self.past is None or want is None or not self.is_running:
            return False
        self._reading = want
        self.run_worker(self._read(self.past, want), group="past")
        return True

    async def _read(self, past: Past, want: Want) -> None:
        talk = self._talk
        stretch, since, earlier = talk.stretch, talk.since, talk.earlier
        try:
            found = await past(want.before, want.most)
            whole = await asyncio.to_thread(stretched, want, stretch, found, since, earlier)
        except (GenieError, OSError) as error:
            self.post_message(self.PastRead(want, None, str(error)))
        else:
            self.post_message(self.PastRead(want, whole))

    @on(PastRead)
    def _past_read(self, message: PastRead) -> None:
        message.stop()
        want = message.want
        if want is not self._reading:
            return
        self._reading, target, self._target = None, self._target, None
        if message.found is None:
            text = f"Earlier messages can't be read: {visible_line(message.problem)}"
            self.notify(text, severity="warning", markup=False)
        elif want.edge is Edge.START or target is not None or not self._following:
            self._following = False
            self._rearrange(partial(self._talk.show, message.found))
            if want.edge is Edge.START:
                self._settle(0)
            elif target is not None:
                self._go_to(target)
            self._look_around(want.edge)

    def _exchange(self, change: Callable[[], tuple[int, int]]) -> tuple[int, int]:
        """Change what is at the top, and keep what was drawn of the rest, and what is selected."""
        chosen = self._selected
        seq = None if chosen is None else self._talk.seq_at(chosen)
        removed, added = change()
        self._window.splice(0, removed, added)
        if chosen is not None:
            index = self._moved(chosen, seq, removed, added)
            is_same = index is not None and (index >= added or self._talk.seq_at(index) == seq)
            self._selected = index if is_same else None
        return removed, added

    def _replaced_from(self, index: int) -> None:
        self._window.replace_from(index, len(self._talk))
        if self._selected is not None and self._selected >= len(self._talk):
            self._selected = None
        self._settle_soon()

    def _show_streams(self) -> None:
        self._repaint = None
        started = perf_counter()
        self._talk.refresh_tail()
        self._replaced_from(self._talk.settled)
        self._settle()
        self._pause = pause(perf_counter() - started)

    def _settle_soon(self) -> None:
        """Settle once for everything that happens until the message queue is empty."""
        if self._painter is not None and not self._due:
            self._due = True
            self.call_later(self._settle)

    def _settle(self, top: int | None = None) -> None:
        """Measure what is in view and go where it belongs: the end, or where it was."""
        self._due = False
        if self._painter is None:
            return
        if self._following and self._talk.stretch is not None:
            self._exchange(partial(self._talk.show, None))
        rows, here = self._rows, self.scroll_offset.y if top is None else top
        end = self._window.settle_end(rows) if self._following else None
        top = self._window.settle(here, rows) if end is None else end
        self._settling = True
        try:
            self.virtual_size = Size(self._width, self._window.height)
            self.scroll_to(y=top, animate=False, force=True, immediate=True)
        finally:
            self._settling = False
        self._settled_size = self.size
        if self._following and self._below:
            self._set_below(0)
        self.refresh()

    def _go(self, top: int) -> None:
        self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def _follow(self) -> None:
        self._following = True
        self._set_below(0)

    def _select(self, index: int) -> None:
        self._selected = index
        start, height = self._window.span(index)
        top = self.scroll_offset.y
        if start < top:
            self._go(start)
        elif start + height > top + self._rows:
            self._go(min(start, start + height - self._rows))
        self.refresh()

    def _count(self, first: int) -> None:
        if self._following:
            return
        arrived = range(first, self._talk.settled)
        news = sum(self._talk.is_news(self._talk[index]) for index in arrived)
        if news:
            self._set_below(self._below + news)

    def _set_below(self, count: int) -> None:
        if count != self._below:
            self._below = count
            self.post_message(self.NewBelow(count))
            self.refresh()

    def _with_marker(self, strip: Strip) -> Strip:
        style = self.get_visual_style(component("below")).rich_style
        marker = Strip([Segment(f"  ↓ {self._below} new  ", style)])
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
        if not 0 <= line < self._window.height:
            return ""
        index, row = self._window.at(line)
        strips = self._window.lines(index)
        text = strips[row].text if row < len(strips) else ""
        start, end = selection.get_span(line) or (0, -1)
        return text[max(start, GUTTER) : None if end < 0 else end].rstrip()
