"""The room's conversation, drawn line by line so that its length does not matter."""

from collections.abc import Collection, Iterable
from time import perf_counter
from typing import ClassVar, Final

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from genie_core.room.event import Event
from genie_core.room.exchange import Exchange
from genie_core.room.fold import RoomState
from genie_core.room.seat import Unsent
from genie_tui.keymap import Scope, bindings
from genie_tui.shelf import Shelf
from genie_tui.widgets.conversation import Conversation
from genie_tui.widgets.doings import Doings
from genie_tui.widgets.entry import message_of, said_in
from genie_tui.widgets.marked import MarkWanted, exchanged
from genie_tui.widgets.paint import GUTTER, Painter, estimate
from genie_tui.widgets.palette import NAMES, Palette, component
from genie_tui.widgets.stream import OFTEN, pause
from genie_tui.widgets.window import Window

NARROWEST: Final = 20
"""Columns that are painted at least; a narrower screen cuts lines off."""


class Timeline(ScrollView, can_focus=True):
    """Everything that was said, answered and noted in the room, oldest first.

    It follows what arrives while its end is in view and stays put while somebody reads back. No
    widget is made for a message, and only messages near the visible part are ever drawn.
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
        self._talk = Conversation(state, me)
        self._selected = None
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
        first, touched = self._talk.add(events)
        for index in touched:
            self._window.redraw(index)
        self._replaced_from(first)
        self._count(first)

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

    def show_reasons(self, on: bool) -> None:  # noqa: FBT001 - a switch is what it is
        """Show or hide the reason behind every message that nobody answered."""
        if on != self._reasons:
            self._reasons = on
            self._redraw_all()

    def show_wrong(self, messages: Collection[int]) -> None:
        """Show exactly these messages as those whose decisions the person marked as wrong."""
        for message in exchanged(self._wrong, messages):
            self._redraw_message(message)

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
        self._go(0)

    def action_follow(self) -> None:
        """Go to the end and stay there as more arrives."""
        self._selected = None
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
        """Jump to what is new when its marker is clicked."""
        if self._below and event.y == self._rows - 1:
            event.stop()
            self.action_follow()

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
