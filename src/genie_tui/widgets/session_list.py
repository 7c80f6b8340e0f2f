"""The list of sessions, and below it what was found in them.

Drawn line by line, so that a thousand sessions cost no more than those in view.
"""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from genie_core.sessions.listing import SessionRow, Sort
from genie_core.sessions.search.documents import SearchHit
from genie_tui.action import Scope
from genie_tui.keymap import bindings, by_key
from genie_tui.widgets.session_columns import head, line, sort_at
from genie_tui.widgets.session_hit import HIT_LINES, hit_lines

Item: TypeAlias = SessionRow | SearchHit

STYLES: Final = (
    *("head", "sorted", "title", "muted", "tag", "unread", "parked", "trouble", "open", "cursor"),
    *("found", "heading"),
)

_FIND_KEYS: Final = frozenset(
    key for key, action in by_key(Scope.SESSIONS).items() if action.run == "find"
)


class SessionList(ScrollView, can_focus=True):
    """Rows of one line and hits of two. The selected one stays selected while others change.

    `find` is called for the key that leads to where one types.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"sessions--{name}" for name in STYLES}
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.SESSION_LIST)

    cursor: reactive[int] = reactive(0)
    """Place of the selected one among the sessions and hits."""

    class Moved(Message):
        """Another one is selected, or none."""

        def __init__(self, item: Item | None) -> None:
            super().__init__()
            self.item = item

    class Chosen(Message):
        """The person wants into the selected one."""

        def __init__(self, item: Item) -> None:
            super().__init__()
            self.item = item

    def __init__(
        self, clock: Callable[[], float] = time.time, find: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self._find = find
        self._clock = clock
        self._rows: Sequence[SessionRow] = ()
        self._hits: Sequence[SearchHit] = ()
        self._heading = ""
        self._reported: Item | None = None

    @property
    def rows(self) -> Sequence[SessionRow]:
        """The sessions that are listed, in their order."""
        return self._rows

    @property
    def hits(self) -> Sequence[SearchHit]:
        """What was found in sessions, the best first."""
        return self._hits

    @property
    def selected(self) -> Item | None:
        """What is under the cursor."""
        if self.cursor < len(self._rows):
            return self._rows[self.cursor]
        place = self.cursor - len(self._rows)
        return self._hits[place] if place < len(self._hits) else None

    def show_rows(self, rows: Sequence[SessionRow]) -> None:
        """List these sessions."""
        kept = self.selected
        self._rows = rows
        self._laid_out(kept)

    def show_hits(self, hits: Sequence[SearchHit], heading: str) -> None:
        """List these hits below the sessions, under a heading; without one there is none."""
        kept = self.selected
        self._hits, self._heading = hits, heading
        self._laid_out(kept)

    def select(self, id_: str) -> None:
        """Put the cursor on a session, if it is listed."""
        for place, row in enumerate(self._rows):
            if row.id == id_:
                self.cursor = place

    def on_resize(self) -> None:
        """Lay the lines out for the new width."""
        self._measure()
        self._keep_in_view()

    def on_key(self, event: events.Key) -> None:
        """Let no letter that is typed fast after the key for finding be taken for a command.

        Bindings are looked for only once a key has bubbled up, and others may follow it by then.
        """
        focused = self.screen.focused
        if focused is not None and focused is not self:  # it moved after this key was sent here
            event.stop()
            focused.post_message(events.Key(event.key, event.character))
        elif self._find is not None and event.key in _FIND_KEYS:
            event.stop()
            self._find()

    def on_click(self, event: events.Click) -> None:
        """Select what is clicked; a second click opens it."""
        place = self._at(event.y + self.scroll_offset.y)
        if place is None:
            return
        if place == self.cursor and event.chain > 1:
            self.action_choose()
        self.cursor = place

    def watch_cursor(self) -> None:
        """Report the selection and keep it in view."""
        self.refresh()
        if self.selected != self._reported:
            self._reported = self.selected
            self.post_message(self.Moved(self.selected))
        self._keep_in_view()

    def action_move(self, by: int) -> None:
        """Move the cursor, as far as there is something."""
        self.action_go(min(max(self.cursor + by, 0), self._count - 1))

    def action_page(self, by: int) -> None:
        """Move the cursor by a screenful."""
        self.action_move(by * max(self.size.height - 1, 1))

    def action_go(self, place: int) -> None:
        """Put the cursor somewhere, counted from the end if negative."""
        if self._count:
            self.cursor = place % self._count

    def action_choose(self) -> None:
        """Ask to open what is selected."""
        if self.selected is not None:
            self.post_message(self.Chosen(self.selected))

    def render_line(self, y: int) -> Strip:
        """Draw one line of the list."""
        width, number = self.scrollable_content_region.width, y + self.scroll_offset.y
        base = self.rich_style
        if number < len(self._rows):
            strip = line(self._rows[number], width, self._clock(), self._style)
            current = number == self.cursor
        else:
            place, inside = divmod(number - len(self._rows) - 1, HIT_LINES)
            if place >= len(self._hits):
                return Strip.blank(width, base)
            if place < 0:
                strip, current = self._heading_line(inside), False
            else:
                strip = hit_lines(self._hits[place], width, self._clock(), self._style)[inside]
                current = place == self.cursor - len(self._rows)
        if current:
            base = self.get_component_rich_style("sessions--cursor")
        return strip.apply_style(base).adjust_cell_length(width, base)

    def _heading_line(self, inside: int) -> Strip:
        if inside < HIT_LINES - 1:
            return Strip([])
        return Strip([Segment(self._heading, self._style("heading"))])

    @property
    def _count(self) -> int:
        return len(self._rows) + len(self._hits)

    def _at(self, y: int) -> int | None:
        if y < len(self._rows):
            return y
        place = (y - len(self._rows) - 1) // HIT_LINES
        return len(self._rows) + place if 0 <= place < len(self._hits) else None

    def _line_of(self, place: int) -> int:
        behind = place - len(self._rows)
        return place if behind < 0 else len(self._rows) + 1 + behind * HIT_LINES

    def _laid_out(self, kept: Item | None) -> None:
        """Take up the selection again where it is by now."""
        items: list[Item] = [*self._rows, *self._hits]
        place = next((at for at, item in enumerate(items) if _same(item, kept)), None)
        if place is None:
            place = min(self.cursor, max(len(items) - 1, 0))
        self.set_reactive(SessionList.cursor, place)
        self._measure()
        self.watch_cursor()

    def _measure(self) -> None:
        found = 1 + len(self._hits) * HIT_LINES if self._heading else 0
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, len(self._rows) + found)

    def _keep_in_view(self) -> None:
        y, top, height = self._line_of(self.cursor), self.scroll_offset.y, self.size.height
        lines = 1 if self.cursor < len(self._rows) else HIT_LINES
        if y < top:
            self.scroll_to(y=y, animate=False, force=True)
        elif y + lines > top + height:
            self.scroll_to(y=y + lines - height, animate=False, force=True)

    def _style(self, name: str) -> Style:
        style = self.get_component_rich_style(f"sessions--{name}")
        return Style(color=style.color, bold=style.bold, italic=style.italic)


class SessionHead(Widget):
    """The line above the list that names its columns."""

    COMPONENT_CLASSES: ClassVar[set[str]] = SessionList.COMPONENT_CLASSES

    sort: reactive[Sort] = reactive(Sort.ACTIVITY)

    class Picked(Message):
        """A column was clicked by which the list can be sorted."""

        def __init__(self, sort: Sort) -> None:
            super().__init__()
            self.sort = sort

    def on_click(self, event: events.Click) -> None:
        """Ask to sort by what is clicked."""
        place = event.get_content_offset(self)
        sort = None if place is None else sort_at(self.content_size.width - 1, place.x)
        if sort is not None:
            self.post_message(self.Picked(sort))

    def render_line(self, y: int) -> Strip:
        """Draw it as wide as the list, which keeps a column for its scroll bar."""
        width = self.content_size.width - 1
        base = self.rich_style
        return (
            head(width, self.sort, self._style)
            .apply_style(base)
            .adjust_cell_length(self.content_size.width, base)
        )

    def _style(self, name: str) -> Style:
        style = self.get_component_rich_style(f"sessions--{name}")
        return Style(color=style.color, bold=style.bold)


def _same(item: Item, kept: Item | None) -> bool:
    """Whether it is the same session or hit, whatever has changed about it."""
    if isinstance(item, SessionRow) and isinstance(kept, SessionRow):
        return item.id == kept.id
    if isinstance(item, SearchHit) and isinstance(kept, SearchHit):
        return (item.session, item.seq) == (kept.session, kept.seq)
    return False
