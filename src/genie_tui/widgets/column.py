"""A column of entries, drawn line by line so that its length does not matter."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from rich.segment import Segment
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from genie_core.room.state.room_state import RoomState
from genie_tui.transfers import FileTransfers
from genie_tui.widgets.conversation import Conversation
from genie_tui.widgets.doings import Doings
from genie_tui.widgets.gutter import GUTTER
from genie_tui.widgets.height import estimate
from genie_tui.widgets.paint import Painter
from genie_tui.widgets.palette import Palette, component
from genie_tui.widgets.window import Window

NARROWEST: Final = 20
"""Columns that are painted at least; a narrower screen cuts lines off."""


class Column(ScrollView, can_focus=True):
    """Shows a conversation, and follows its end while that is in view.

    No widget is made for an entry, and only entries near the visible part are ever drawn. What is
    in view stays there when entries above it come, go, or turn out to be of another height.
    """

    ALLOW_SELECT: ClassVar[bool] = True

    class NewBelow(Message):
        """The number of messages that arrived below the part being read changed."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    def __init__(self) -> None:
        super().__init__()
        self.transfers = FileTransfers()
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
            self._scrolled()
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
        self._laid_out()

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

    # What comes after it, for those who have something to do then

    def _scrolled(self) -> None:
        """Somebody went to another place."""

    def _laid_out(self) -> None:
        """There is room to show something, or another width for it."""

    # Drawing

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
            transfers=self.transfers,
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

    # Where things are

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
