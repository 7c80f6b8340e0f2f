from collections.abc import Sequence

import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from genie_core.room.protocol.events import (
    AnswerPosted,
    Event,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
)
from genie_core.sessions.search import room as room_search
from genie_tui.screens.dialogs import search
from genie_tui.screens.dialogs.search import SearchScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.timeline.timeline import Timeline


def say(joined: ScriptedJoinedRoom, *texts: str, by: str = "bob") -> list[int]:
    return [joined.feed(MessagePosted(text, text), by=by)[0].seq for text in texts]


def rows(app: App[object]) -> Sequence[str]:
    return [str(each.prompt) for each in app.screen.query_one(OptionList).options]


def told(app: App[object]) -> str:
    return str(app.screen.query_one("#search-count", Static).render())


def chosen(screen: RoomScreen) -> int | None:
    thread = screen.query_one(Timeline).chosen
    return thread.seq if thread is not None else None


async def open_search(pilot: Pilot[object], text: str) -> None:
    await pilot.press(*f"/search {text}", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))


async def test_hits_are_counted_and_lead_there(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        first, second, _ = say(joined, "an old offer", "the last offer", "pears")
        joined.say_here("an offer of mine")
        await open_search(pilot, "offer from:bob")
        await until(pilot, lambda: told(pilot.app) == "2 hits")
        assert ["the last offer" in rows(pilot.app)[0], "an old" in rows(pilot.app)[1]] == [
            True
        ] * 2
        await pilot.press("down", "enter")
        await until(pilot, lambda: pilot.app.screen is screen and chosen(screen) == first)
        await pilot.press("escape")
        await open_search(pilot, '"last offer"')
        await until(pilot, lambda: told(pilot.app) == "1 hit")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is screen and chosen(screen) == second)


async def test_edited_text_is_searched(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_search, "PAGE", 2)  # the changes are in later parts of the log
    async with in_room(joined) as (_, pilot):
        edited, deleted = say(joined, "teh vendor", "the secret vendor")
        asked = joined.say_here("who sells it?")
        joined.feed(AnswerPosted(asked, "A seller does."))
        joined.feed(MessageEdited(edited, "the seller"), MessageDeleted(deleted), by="bob")
        await open_search(pilot, "vendor")
        await until(pilot, lambda: told(pilot.app) == "nothing found")
        await pilot.press(*["backspace"] * 6, *"seller")
        await until(pilot, lambda: told(pilot.app) == "2 hits")
        assert "genie" in rows(pilot.app)[0]


async def test_partial_hits_survive_failure(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with in_room(joined) as (_, pilot):
        (place,) = say(joined, "an apple")

        async def past(before: int, _most: int) -> list[Event]:
            if before <= place:
                raise OSError("the disk is gone")
            return joined.events[place - 1 :]

        monkeypatch.setattr(joined, "past", past)
        await open_search(pilot, "apple")
        await until(pilot, lambda: "the disk is gone" in told(pilot.app))
        assert len(rows(pilot.app)) == 1
        await pilot.press(*" kind:foo")
        await until(pilot, lambda: "kind: takes message, answer" in told(pilot.app))
        assert rows(pilot.app) == []
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, RoomScreen))


async def test_latest_of_many_hits_are_listed(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_SHOWN", 3)
    async with in_room(joined) as (_, pilot):
        say(joined, *(f"apple {number}" for number in range(5)))
        await open_search(pilot, "apple")
        await until(pilot, lambda: told(pilot.app) == "5 hits, of which the latest 3 are listed")
        assert ["apple 4" in rows(pilot.app)[0], len(rows(pilot.app))] == [True, 3]


async def test_text_of_people_is_no_markup(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        say(joined, "[bold]apple[/] \x1b[2J")
        await open_search(pilot, "x")
        await pilot.press("backspace", *"[bold]")
        await until(pilot, lambda: told(pilot.app) == "1 hit")
        assert "[bold]apple[/]" in rows(pilot.app)[0]
        assert "\x1b" not in rows(pilot.app)[0]
