from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.genie_tui.scripted_seat import until
from textual import on
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from genie_core.sessions.listing import SessionRow
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.search.query import Snippet
from genie_tui.widgets.session_list import Item, SessionList


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


async def test_the_cursor_goes_through_sessions_and_hits_and_stays_in_view() -> None:
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


async def test_what_is_selected_stays_so_while_the_list_changes() -> None:
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


async def test_enter_and_a_double_click_open_and_a_single_click_does_not() -> None:
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
