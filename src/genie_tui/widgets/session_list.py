"""The list of sessions, with search hits below.

Drawn line by line, so that a thousand sessions cost no more than those in view.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from genie_core.sessions.search.query import DocumentKind
from genie_core.sessions.search.snippet import Snippet
from genie_core.text.format import ago, file_size, short_count
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings

Item: TypeAlias = SessionRow | SearchHit

LEAST_TITLE: Final = 18
"""Minimum width of a title."""

StyleOf: TypeAlias = Callable[[str], Style]
"""Returns the style of a part of the list by its name."""

HIT_LINES: Final = 2

_HIT_WORDS: Final[Mapping[DocumentKind, str]] = {
    "title": "its title",
    "message": "by {by}",
    "answer": "answer of {by}",
    "decision": "decision for {by}",
    "silent": "silence for {by}",
    "approval": "tool call for {by}",
    "approved": "approved tool call for {by}",
    "denied": "denied tool call for {by}",
    "expired": "expired tool call for {by}",
    "parked": "parked tool call for {by}",
    "failed": "failure for {by}",
    "stopped": "stopped answer of {by}",
}

STYLES: Final = (
    *("head", "sorted", "title", "muted", "tag", "unread", "parked", "trouble", "open", "cursor"),
    *("found", "heading"),
)


class SessionList(ScrollView, can_focus=True):
    """Sessions of one line and hits of two. The selection stays while others change.

    `find` is called for the key that focuses the search.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"sessions--{name}" for name in STYLES}
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.SESSION_LIST)

    cursor: reactive[int] = reactive(0)
    """Index of the selected session or hit."""

    class Moved(Message):
        """The selection moved, maybe to none."""

        def __init__(self, item: Item | None) -> None:
            super().__init__()
            self.item = item

    class Chosen(Message):
        """The person wants to open the selected session or hit."""

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
        """The listed sessions in order."""
        return self._rows

    @property
    def hits(self) -> Sequence[SearchHit]:
        """The hits, best first."""
        return self._hits

    @property
    def selected(self) -> Item | None:
        if self.cursor < len(self._rows):
            return self._rows[self.cursor]
        place = self.cursor - len(self._rows)
        return self._hits[place] if place < len(self._hits) else None

    def show_rows(self, rows: Sequence[SessionRow]) -> None:
        kept = self.selected
        self._rows = rows
        self._laid_out(kept)

    def show_hits(self, hits: Sequence[SearchHit], heading: str) -> None:
        """List hits below the sessions, under a heading if given."""
        kept = self.selected
        self._hits, self._heading = hits, heading
        self._laid_out(kept)

    def select(self, id_: str) -> None:
        """Put the cursor on a session, if it is listed."""
        for place, row in enumerate(self._rows):
            if row.id == id_:
                self.cursor = place

    def on_resize(self) -> None:
        self._measure()
        self._keep_in_view()

    def on_key(self, event: events.Key) -> None:
        """Keep letters typed quickly after the search key from running commands.

        Bindings are looked up only after a key has bubbled up, and more keys may follow by then.
        """
        focused = self.screen.focused
        if focused is not None and focused is not self:  # it moved after this key was sent here
            event.stop()
            focused.post_message(events.Key(event.key, event.character))
        elif (
            self._find is not None
            and event.key in keymap_of(self).named(Scope.SESSIONS, "find").keys
        ):
            event.stop()
            self._find()

    def on_click(self, event: events.Click) -> None:
        """Select on a click; open on a second one."""
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
        """Move the cursor, within the list."""
        self.action_go(min(max(self.cursor + by, 0), self._count - 1))

    def action_page(self, by: int) -> None:
        self.action_move(by * max(self.size.height - 1, 1))

    def action_go(self, place: int) -> None:
        """Put the cursor on an item, counted from the end if negative."""
        if self._count:
            self.cursor = place % self._count

    def action_choose(self) -> None:
        if self.selected is not None:
            self.post_message(self.Chosen(self.selected))

    def render_line(self, y: int) -> Strip:
        width, number = self.scrollable_content_region.width, y + self.scroll_offset.y
        base, style = self.rich_style, partial(_style, self)
        if number < len(self._rows):
            strip = session_line(self._rows[number], width, self._clock(), style)
            current = number == self.cursor
        else:
            place, inside = divmod(number - len(self._rows) - 1, HIT_LINES)
            if place >= len(self._hits):
                return Strip.blank(width, base)
            if place < 0:
                strip, current = self._heading_line(inside), False
            else:
                strip = hit_lines(self._hits[place], width, self._clock(), style)[inside]
                current = place == self.cursor - len(self._rows)
        if current:
            base = self.get_component_rich_style("sessions--cursor")
        return strip.apply_style(base).adjust_cell_length(width, base)

    def _heading_line(self, inside: int) -> Strip:
        if inside < HIT_LINES - 1:
            return Strip([])
        return Strip([Segment(self._heading, _style(self, "heading"))])

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
        """Restore the selection at its new place."""
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


class SessionListHeader(Widget):
    """The column names above the list."""

    COMPONENT_CLASSES: ClassVar[set[str]] = SessionList.COMPONENT_CLASSES

    sort: reactive[Sort] = reactive(Sort.ACTIVITY)

    class Picked(Message):
        """The person clicked a sortable column."""

        def __init__(self, sort: Sort) -> None:
            super().__init__()
            self.sort = sort

    def on_click(self, event: events.Click) -> None:
        """Sort by the clicked column."""
        place = event.get_content_offset(self)
        sort = None if place is None else sort_at(self.content_size.width - 1, place.x)
        if sort is not None:
            self.post_message(self.Picked(sort))

    def render_line(self, y: int) -> Strip:
        """Draw the header as wide as the list without its scroll bar."""
        width = self.content_size.width - 1
        base = self.rich_style
        return (
            header_line(width, self.sort, partial(_style, self))
            .apply_style(base)
            .adjust_cell_length(self.content_size.width, base)
        )


def _style(widget: Widget, name: str) -> Style:
    style = widget.get_component_rich_style(f"sessions--{name}")
    return Style(color=style.color, bold=style.bold, italic=style.italic)


def _same(item: Item, kept: Item | None) -> bool:
    """Whether two items are the same session or hit, possibly changed."""
    if isinstance(item, SessionRow) and isinstance(kept, SessionRow):
        return item.id == kept.id
    if isinstance(item, SearchHit) and isinstance(kept, SearchHit):
        return (item.session, item.seq) == (kept.session, kept.seq)
    return False


# Columns


@dataclass(frozen=True, slots=True)
class SessionColumn:
    """A column of the list; one without a width takes the rest."""

    name: str
    width: int
    sort: Sort | None = None
    right: bool = False


_NAME: Final = SessionColumn("title", 0, Sort.TITLE)
_NEWS: Final = SessionColumn("new", 12, Sort.UNREAD)
_OTHERS: Final = (
    SessionColumn("activity", 11, Sort.ACTIVITY, right=True),
    _NEWS,
    SessionColumn("size", 8, Sort.SIZE, right=True),
    SessionColumn("people", 18),
)
"""In order of priority for space."""

_ORDER: Final = ("title", "people", "activity", "size", "new")


def columns(width: int) -> list[SessionColumn]:
    """Return the columns that fit; the title gets the remaining width."""
    rest = width - LEAST_TITLE
    chosen: list[SessionColumn] = []
    for column in _OTHERS:
        if column.width + 1 <= rest:
            rest -= column.width + 1
            chosen.append(column)
    chosen.append(SessionColumn(_NAME.name, LEAST_TITLE + max(rest, 0), _NAME.sort))
    return sorted(chosen, key=lambda column: _ORDER.index(column.name))


def sort_at(width: int, x: int) -> Sort | None:
    """Return the sort order of the header's column at x, if any."""
    start = 0
    for column in columns(width):
        if start <= x < start + column.width:
            return column.sort
        start += column.width + 1
    return None


def header_line(width: int, sort: Sort, style: StyleOf) -> Strip:
    """Draw the column names, marking the sorted one."""
    cells = []
    for column in columns(width):
        chosen = column.sort is sort
        name = f"{column.name} {'▴' if sort is Sort.TITLE else '▾'}" if chosen else column.name
        cells.append(_cell([(name, style("sorted" if chosen else "head"))], column))
    return _beside(cells, width)


def session_line(row: SessionRow, width: int, now: float, style: StyleOf) -> Strip:
    return _beside(
        [_cell(_parts(row, column.name, now, style), column) for column in columns(width)], width
    )


def _parts(row: SessionRow, name: str, now: float, style: StyleOf) -> list[tuple[str, Style]]:
    muted = style("muted")
    match name:
        case "title":
            return list(_title(row, style))
        case "people":
            names = ", ".join(map(visible_line, row.names))
            return [(names or (f"{row.people:,}" if row.people else ""), muted)]
        case "activity":
            return [(ago(now - row.last_activity), muted)]
        case "size":
            return [("…" if row.size is None else file_size(row.size), muted)]
        case _:
            return list(_news(row, style))


def _title(row: SessionRow, style: StyleOf) -> Iterator[tuple[str, Style]]:
    if row.note or row.due:
        yield "! ", style("trouble")
    yield visible_line(row.title) or "(no title)", style("title")
    for tag in row.tags:
        yield f" #{visible_line(tag)}", style("tag")


def _news(row: SessionRow, style: StyleOf) -> Iterator[tuple[str, Style]]:
    if row.parked:
        yield f"▲{short_count(row.parked)} ", style("parked")
    if row.holder is not None:
        by = "" if row.parked else f" by {row.holder.who}"
        yield f"open{by}", style("open")
    if row.unread:
        yield f"{short_count(row.unread)} new", style("unread")


def fitted(parts: Iterable[tuple[str, Style]], width: int) -> Strip:
    """Join texts in several styles and cut them at a width."""
    strip = Strip([Segment(text, style) for text, style in parts if text])
    if strip.cell_length <= width:
        return strip
    cut = list(strip.crop(0, max(width - 1, 0)))
    return Strip([*cut, Segment("…", cut[-1].style if cut else None)])


def _cell(parts: list[tuple[str, Style]], column: SessionColumn) -> list[Segment]:
    shown = fitted(parts, column.width)
    blank = Segment(" " * (column.width - shown.cell_length))
    return [blank, *shown] if column.right else [*shown, blank]


def _beside(cells: list[list[Segment]], width: int) -> Strip:
    parts: list[Segment] = []
    for number, cell in enumerate(cells):
        parts += [Segment(" "), *cell] if number else cell
    return Strip(parts).crop(0, width)


# Hits


def hit_lines(hit: SearchHit, width: int, now: float, style: StyleOf) -> list[Strip]:
    """Draw a hit in exactly `HIT_LINES` lines."""
    muted = style("muted")
    about = _HIT_WORDS[hit.kind].format(by=visible_line(hit.by))
    where = [
        (visible_line(hit.title) or "(no title)", style("title")),
        (f"  {about} · {ago(now - hit.at)}", muted),
    ]
    found = style("found")
    parts = ((text, found if is_match else muted) for text, is_match in snippet_parts(hit.snippet))
    says = [("  ", muted), *parts]
    return [fitted(where, width), fitted(says, width)]


def snippet_parts(snippet: Snippet) -> Iterator[tuple[str, bool]]:
    """Yield a snippet's parts, safe to show, and whether each is a match."""
    at = 0
    for low, high in snippet.marks:
        yield visible_line(snippet.text[at:low]), False
        yield visible_line(snippet.text[low:high]), True
        at = high
    yield visible_line(snippet.text[at:]), False
