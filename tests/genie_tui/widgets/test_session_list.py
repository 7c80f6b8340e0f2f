from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from rich.style import Style
from tests.genie_tui.scripted_room import until
from textual import on
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from genie_core.sessions.listing import SessionRow, Sort
from genie_core.sessions.lock import LockHolder
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.search.query import DocumentKind
from genie_core.sessions.search.snippet import Snippet
from genie_tui.widgets.session_list import (
    HIT_LINES,
    Item,
    SessionList,
    columns,
    fitted,
    header_line,
    hit_lines,
    session_line,
    sort_at,
)


class Stage(App[None]):
    CSS = "SessionList { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[Item] = []

    def compose(self) -> ComposeResult:
        yield SessionList(lambda: 0.0)

    @on(SessionList.Chosen)
    def _keep(self, message: SessionList.Chosen) -> None:
        self.chosen.append(message.item)


def row(number: int) -> SessionRow:
    return SessionRow(f"id{number}", f"Session {number}")


def hit(number: int) -> SearchHit:
    return SearchHit(
        f"id{number}", f"Session {number}", number, 1, 0.0, "ann", "message", Snippet("x")
    )


@asynccontextmanager
async def stage(rows: int, hits: int = 0) -> AsyncIterator[tuple[SessionList, Pilot[Any]]]:
    app = Stage()
    async with app.run_test(size=(60, 12)) as pilot:
        listing = app.query_one(SessionList)
        listing.show_rows([row(number) for number in range(rows)])
        if hits:
            listing.show_hits([hit(number) for number in range(hits)], "found")
        listing.focus()
        await pilot.pause()
        yield listing, pilot


def selected(listing: SessionList) -> Item | None:
    return listing.selected


def lines(listing: SessionList) -> list[str]:
    return [listing.render_line(y).text.strip() for y in range(listing.size.height)]


async def test_cursor_spans_sessions_and_hits() -> None:
    async with stage(30, 10) as (listing, pilot):
        await pilot.press("end")
        assert selected(listing) == hit(9)
        await until(pilot, lambda: lines(listing)[-2].startswith("Session 9"))
        await pilot.press("up", "up")
        assert selected(listing) == hit(7)
        await pilot.press("home")
        assert selected(listing) == row(0)
        await until(pilot, lambda: lines(listing)[0].startswith("Session 0"))
        await pilot.press("pagedown", "k", "j")
        assert selected(listing) == row(11)
        await until(pilot, lambda: lines(listing)[-1].startswith("Session 11"))


async def test_the_heading_stands_between_them() -> None:
    async with stage(2, 2) as (listing, _):
        assert [line.split("  ")[0] for line in lines(listing)[:7]] == [
            "Session 0",
            "Session 1",
            "found",
            "Session 0",
            "x",
            "Session 1",
            "x",
        ]


async def test_selection_survives_list_changes() -> None:
    async with stage(5, 2) as (listing, pilot):
        listing.select("id3")
        listing.show_rows([row(number) for number in (4, 3, 0)])
        assert selected(listing) == row(3)
        assert listing.cursor == 1
        listing.show_rows([SessionRow("id3", "Renamed")])
        assert selected(listing) == SessionRow("id3", "Renamed")
        await pilot.press("end")
        listing.show_rows([row(number) for number in range(9)])
        assert selected(listing) == hit(1)
        listing.show_hits((), "")
        assert selected(listing) == row(8)
        listing.show_rows(())
        assert selected(listing) is None
        await pilot.press("enter", "up", "down", "end")
        assert selected(listing) is None


async def test_enter_or_double_click_opens() -> None:
    async with stage(3, 1) as (listing, pilot):
        app = pilot.app
        assert isinstance(app, Stage)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.chosen == [row(1)])
        await pilot.click(SessionList, offset=(3, 2))
        await until(pilot, lambda: selected(listing) == row(2))
        assert app.chosen == [row(1)]
        await pilot.click(SessionList, offset=(3, 5), times=2)
        await until(pilot, lambda: app.chosen == [row(1), hit(0)])
        await pilot.click(SessionList, offset=(3, 3))  # the heading
        assert selected(listing) == hit(0)


ROW = SessionRow(
    "a",
    "A rather long title of a session [/red]\x1b[2J\u202e",
    names=("ann", "bob"),
    last_activity=1_000.0,
    size=12_345,
    unread=1_234,
    parked=2,
    tags=("home",),
)


def style(name: str) -> Style:
    return Style(bold=name in ("parked", "sorted"))


@pytest.mark.parametrize("width", range(1, 160))
def test_a_line_is_never_wider_than_the_list(width: int) -> None:
    assert session_line(ROW, width, 2_000.0, style).cell_length <= width
    wide = SessionRow("a", "日本語の部屋" * 20, tags=("日本",))
    assert session_line(wide, width, 0.0, style).cell_length <= width
    assert header_line(width, Sort.SIZE, style).cell_length <= width


def test_what_matters_most_has_room_first() -> None:
    assert [column.name for column in columns(20)] == ["title"]
    assert [column.name for column in columns(32)] == ["title", "activity"]
    assert [column.name for column in columns(55)] == ["title", "activity", "size", "new"]
    assert len(columns(100)) == 5
    assert sum(column.width for column in columns(100)) + 4 == 100


def test_everything_is_there_where_there_is_room() -> None:
    text = session_line(ROW, 140, 4_600.0, style).text
    for part in ("[/red]␛[2J⟨U+202E⟩", "#home", "ann, bob", "1 h ago", "12 kB", "▲2 1.2k new"):
        assert part in text
    assert "7 new" in session_line(SessionRow("a", "Garden", unread=7), 80, 0.0, style).text


def test_holder_shows_at_usual_widths() -> None:
    held = LockHolder(7, "cleo")
    for width in (75, 115):
        assert (
            "open by cleo"
            in session_line(SessionRow("a", "T" * 99, holder=held), width, 0, style).text
        )
    assert (
        "▲2 open "
        in session_line(SessionRow("a", "T", holder=held, parked=2), 75, 0, style).text + " "
    )


def test_the_column_that_sorts_is_marked() -> None:
    assert "size ▾" in header_line(100, Sort.SIZE, style).text
    assert "title ▴" in header_line(100, Sort.TITLE, style).text
    assert "new ▾" in header_line(100, Sort.UNREAD, style).text


def test_a_place_in_the_head_is_one_in_a_column() -> None:
    title, people, activity, size, new = columns(100)
    assert (title.name, new.name) == ("title", "new")
    assert sort_at(100, 0) is sort_at(100, title.width - 1) is Sort.TITLE
    assert sort_at(100, title.width) is None  # between two
    assert sort_at(100, title.width + 1) is None  # nobody sorts by people
    assert sort_at(100, 100 - new.width) is sort_at(100, 99) is Sort.UNREAD
    assert sort_at(100, 100 - new.width - 1 - size.width) is Sort.SIZE
    assert sort_at(100, title.width + people.width + 2 + activity.width // 2) is Sort.ACTIVITY
    assert sort_at(100, 100) is None


def test_what_is_wrong_or_past_a_limit_is_marked() -> None:
    for row in (SessionRow("a", "Garden", note="damaged"), SessionRow("a", "Garden", due="old")):
        assert session_line(row, 80, 0.0, style).text.startswith("! Garden")
    assert "(no title)" in session_line(SessionRow("a", ""), 80, 0.0, style).text
    assert "…" in session_line(SessionRow("a", "Garden"), 80, 0.0, style).text


def test_text_is_cut_where_there_is_no_more_room() -> None:
    parts = [("ab", style("")), ("cd", style("parked"))]
    assert fitted(parts, 4).text == "abcd"
    assert fitted(parts, 3).text == "ab…"
    assert fitted(parts, 1).text == "…"
    assert fitted([("日本語", style(""))], 4).cell_length <= 4


FOUND = Style(bold=True)


def apples(kind: DocumentKind = "message") -> SearchHit:
    snippet = Snippet("plant [/red] apples\x1b[2J now", ((13, 19),))
    return SearchHit("a", "Garden", 7, 4, 100.0, "ann\u202e", kind, snippet)


def hit_style(name: str) -> Style:
    return FOUND if name == "found" else Style()


def test_hit_shows_place_and_text() -> None:
    where, says = hit_lines(apples(), 80, 4_000.0, hit_style)
    assert where.text == "Garden  by ann⟨U+202E⟩ · 1 h ago"
    assert says.text == "  plant [/red] apples␛[2J now"
    assert [part.text for part in says if part.style == FOUND] == ["apples"]


@pytest.mark.parametrize("width", range(1, 60))
def test_it_has_exactly_its_lines_however_narrow(width: int) -> None:
    lines = hit_lines(apples(), width, 4_000.0, hit_style)
    assert len(lines) == HIT_LINES
    assert all(line.cell_length <= width for line in lines)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("title", "its title"),
        ("answer", "answer of ann"),
        ("decision", "decision for ann"),
        ("approval", "tool call for ann"),
        ("denied", "denied tool call for ann"),
        ("failed", "failure for ann"),
    ],
)
def test_what_was_found_is_named(kind: DocumentKind, words: str) -> None:
    assert words in hit_lines(apples(kind), 80, 4_000.0, hit_style)[0].text
