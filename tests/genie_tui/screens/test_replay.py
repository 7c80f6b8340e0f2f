import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.sessions.replay.recorded import a_day, append, save
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from tests.genie_tui.widgets.room_log import RoomLog
from textual.notifications import Notification
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from genie_core.assistant.what_if.report import CaseResult, Comparison, WhatIfReport
from genie_core.room.open.requests import ReplayRoom, ResumeRoom
from genie_core.room.open.service import RoomService
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalResolved,
    DecisionMade,
    Event,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessagePosted,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import WINDOW
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import Locations, find_locations
from genie_core.settings.model import Settings
from genie_eval.report_files import save as save_report
from genie_tui.app import GenieApp
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.dialogs.what_if import WhatIfScreen
from genie_tui.screens.lobby import LobbyScreen
from genie_tui.screens.replay import ReplayScreen
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.approvals.panel import PastApprovals
from genie_tui.widgets.roster import Roster
from genie_tui.widgets.seek_bar import SeekBar
from genie_tui.widgets.side_panel import SidePanel, Tab
from genie_tui.widgets.status_bar import StatusBar
from genie_tui.widgets.timeline.timeline import Timeline

SIZE = (122, 40)
END = len(a_day().events)


@pytest.fixture
def places(tmp_path: Path) -> Locations:
    return find_locations({"GENIE_HOME": str(tmp_path)})


@pytest.fixture
def saved(places: Locations) -> SavedSession:
    return save(places.sessions, a_day().events)


@asynccontextmanager
async def watching(
    places: Locations,
    opening: ReplayRoom,
    clock: HandClock | None = None,
    size: tuple[int, int] = SIZE,
    *,
    is_empty: bool = False,
) -> AsyncIterator[tuple[ReplayScreen, Pilot[Any]]]:
    """The app with a replay on screen, all of its log read, and its first moment shown."""
    app = GenieApp(
        RoomService("ann", Settings(), places), opening, "ann", clock=clock or HandClock()
    )
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        await until(pilot, lambda: is_empty or place(screen) > 0)
        await until(pilot, lambda: "reading" not in words(screen))
        yield screen, pilot


def lines(widget: Widget) -> list[str]:
    drawn = [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]
    return [line for line in drawn if line]


def words(screen: ReplayScreen) -> str:
    return screen.query_one(SeekBar).render().plain.splitlines()[-1]


def said(screen: ReplayScreen) -> str:
    return "\n".join(lines(screen.query_one(Timeline)))


def place(screen: ReplayScreen) -> int:
    """The number of the event that is shown; 0 while the recording is being opened."""
    _, _, place = words(screen).partition("event ")
    return int(place.split(" of")[0].replace(",", "")) if place else 0


async def at(screen: ReplayScreen, pilot: Pilot[Any], seq: int) -> None:
    await until(pilot, lambda: place(screen) == seq)
    await pilot.pause()


async def press(screen: ReplayScreen, pilot: Pilot[Any], key: str, seq: int) -> None:
    await pilot.press(key)
    await at(screen, pilot, seq)


# As it was


def a_busy_evening() -> ScriptedJoinedRoom:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    first = joined.say_here("what is it?")
    joined.feed(
        DecisionMade(first, "delegate", query="what is it?", receiver="ann", elapsed=0.25),
        AnswerPosted(first, "It is **that**.", elapsed=1.5),
    )
    quiet = joined.say_here("thanks")
    joined.feed(DecisionMade(quiet, "ignore", reason="thanks need no answer"))
    denied = joined.ask("delete_file", "please tidy up", path="old.txt")
    message = joined.state.calls[denied].message
    joined.feed(
        ApprovalResolved(message, denied, "denied", reason="keep it"),
        AnswerPosted(message, "Then not."),
    )
    edited = joined.ask("write_file", "write it down", path="notes.txt")
    message = joined.state.calls[edited].message
    joined.feed(
        ApprovalResolved(message, edited, "approved", arguments={"path": "n.txt"}, how="edit"),
        RunFailed(message, "agent", "the model is away"),
    )
    stopped = joined.say_here("go on for ever", "bob")
    joined.feed(DecisionMade(stopped, "delegate"), RunCancelled(stopped, "stopped by ann"))
    joined.feed(MemberModerated("mute", "bob"))
    joined.feed(MessagePosted("y", "/me waves", emote=True), MemberJoined("guest"), by="cleo")
    joined.feed(MemberLeft("bob"))
    joined.ask("grep", "find it", pattern="x")
    return joined


async def shown_live(joined: ScriptedJoinedRoom) -> tuple[list[str], ...]:
    async with in_room(joined, (120, 60)) as (screen, pilot):
        await until(pilot, lambda: "find it" in "\n".join(lines(screen.query_one(Timeline))))
        return panes(screen)


def panes(screen: Screen[None]) -> tuple[list[str], ...]:
    return tuple(lines(screen.query_one(kind)) for kind in (Timeline, Roster, ActivityList))


@pytest.mark.parametrize("way", ["at once", "step by step", "there and back", "played"])
async def test_end_equals_live_screen(places: Locations, way: str) -> None:
    joined = a_busy_evening()
    live = await shown_live(joined)
    assert all(len(pane) > 2 for pane in live)
    saved = save(places.sessions, joined.events)
    head, clock = len(joined.events), HandClock()
    opening = ReplayRoom(saved.id, None if way == "played" else 1)
    async with watching(places, opening, clock, (122, 64)) as (screen, pilot):
        if way == "played":
            await pilot.press(*["plus"] * 5)
            while place(screen) < head:
                clock.rest(0.2)
                await pilot.pause()
        elif way == "step by step":
            await pilot.press(*["right"] * (head - 1))
            await at(screen, pilot, head)
        elif way == "there and back":
            await press(screen, pilot, "end", head)
            for seq in range(head - 1, head - 6, -1):
                await press(screen, pilot, "left", seq)
        await press(screen, pilot, "end", head)
        await until(pilot, lambda: panes(screen) == live or "find it" in said(screen))
        await pilot.pause()
        for shown, was in zip(panes(screen), live, strict=True):
            assert shown == was


async def test_long_replay_ends_like_room(places: Locations) -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    for number in range(2 * WINDOW + 300):
        seq = joined.say_here(f"message {number}", ("ann", "bob")[number % 3 == 0])
        if number % 5 == 0:
            joined.feed(DecisionMade(seq, "ignore", reason=f"reason {number}"))
    joined.ask("grep", "find it", pattern="x")
    live = await shown_live(joined)
    saved = save(places.sessions, joined.events)
    head = len(joined.events)
    async with watching(places, ReplayRoom(saved.id, 1), size=(122, 64)) as (screen, pilot):
        await press(screen, pilot, "end", head)
        await until(pilot, lambda: "find it" in said(screen))
        for shown, was in zip(panes(screen), live, strict=True):
            rows = min(len(shown), len(was))  # the two screens leave different space for them
            assert shown[-rows:] == was[-rows:]


# Not live


async def test_status_says_replay_and_no_input(places: Locations, saved: SavedSession) -> None:
    before = {path: path.read_bytes() for path in saved.folder.iterdir() if path.suffix != ".idx"}
    async with watching(places, ReplayRoom(saved.id, END)) as (screen, pilot):
        assert "REPLAY" in screen.query_one(StatusBar).render().plain
        assert "online" not in screen.query_one(StatusBar).render().plain
        await pilot.press("x", "x", "enter")
        assert not screen.query("Composer, ApprovalCard")
    for path, content in before.items():
        assert path.read_bytes() == content


async def test_past_approval_cannot_be_answered(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, 12)) as (screen, pilot):
        await pilot.press("ctrl+g")
        assert screen.query_one(SidePanel).tab is Tab.APPROVALS
        text = str(screen.query_one("#past-approvals", Static).render())
        assert "delete_file" in text
        assert "old.txt" in text
        assert not screen.query_one(PastApprovals).can_focus
        await press(screen, pilot, "right", 13)
        assert "No tool call was waiting" in str(
            screen.query_one("#past-approvals", Static).render()
        )


# Moving


async def test_keys_lead_to_what_stands_out(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, 1)) as (screen, pilot):
        ways = [("d", 6), ("d", 9), ("D", 6), ("a", 12), ("p", 13), ("f", 14), ("M", 10)]
        for key, seq in [*ways, ("shift+left", 8), ("m", 10), ("P", 10), ("home", 1), ("end", END)]:
            await press(screen, pilot, key, seq)
        await press(screen, pilot, "P", 13)
        assert words(screen).endswith("● answer of a person")
        for key, seq in [("5", 8), ("0", 1), ("9", 15), ("left", 14), ("A", 12)]:
            await press(screen, pilot, key, seq)
        assert "delete_file" in "\n".join(lines(screen.query_one(ActivityList)))
        await press(screen, pilot, "home", 1)
        assert "seeds" not in said(screen)
        assert not any("answers" in line for line in lines(screen.query_one(ActivityList)))


async def test_a_click_on_the_bar_leads_there(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, 1)) as (screen, pilot):
        bar = screen.query_one(SeekBar)
        await pilot.click(SeekBar, offset=(bar.size.width // 2 + 2, 1))
        await until(pilot, lambda: place(screen) in (END // 2, END // 2 + 1))
        await pilot.click(SeekBar, offset=(bar.size.width + 1, 1))
        await at(screen, pilot, END)
        await pilot.click(SeekBar, offset=(0, 1))  # where the keys lead, too
        await at(screen, pilot, 1)
        await pilot.press("left")
        await at(screen, pilot, 1)


async def test_it_plays_in_the_time_of_its_clock(places: Locations, saved: SavedSession) -> None:
    clock = HandClock()
    async with watching(places, ReplayRoom(saved.id), clock) as (screen, pilot):
        assert "playing" in words(screen)
        clock.rest(2.0)
        await at(screen, pilot, 3)
        await pilot.press("plus")
        assert "2×" in words(screen)
        clock.rest(1.0)
        await at(screen, pilot, 5)
        await pilot.press("space")
        assert "paused" in words(screen)
        clock.rest(100.0)
        await pilot.pause()
        assert place(screen) == 5
        await pilot.press("space")
        while place(screen) < END:
            clock.rest(1.0)
            await pilot.pause()
        await until(pilot, lambda: "paused" in words(screen))


async def test_a_search_leads_to_what_was_said(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, 1)) as (screen, pilot):
        await pilot.press("slash", *"tidy", "enter")
        await at(screen, pilot, 10)
        assert screen.focused is None
        await pilot.press("n")
        notices = pilot.app._notifications
        await until(pilot, lambda: any("tidy" in each.message for each in notices))
        assert place(screen) == 10
        await pilot.press("slash", "d", "escape")
        assert place(screen) == 10
        assert not screen.query_one("#replay-find", Input).has_class("-open")


# Reading


async def test_why_nobody_answered(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, 9)) as (screen, pilot):
        assert "a greeting" not in said(screen)
        await pilot.press("w")
        await until(pilot, lambda: "a greeting" in said(screen))
        await pilot.press("up", "w")
        await until(pilot, lambda: isinstance(pilot.app.screen, FullViewScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)


async def test_a_decision_is_marked_and_stays_so(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, 9)) as (screen, pilot):
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: "marked" in said(screen))
        await pilot.press("up", "exclamation_mark")
        await until(pilot, lambda: "marked" not in said(screen))
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: "marked" in said(screen))
    async with watching(places, ReplayRoom(saved.id, END)) as (screen, pilot):
        await until(pilot, lambda: "marked" in said(screen))


async def test_keyboard_reaches_activity_and_back(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, END)) as (screen, pilot):
        assert screen.focused is None
        await pilot.press("f2")
        await until(pilot, lambda: screen.query_one(ActivityPanel).has_focus_within)
        await pilot.press("escape")
        await until(pilot, lambda: screen.focused is None)
        assert pilot.app.screen is screen


async def test_activity_row_leads_to_message(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, END)) as (screen, pilot):
        activity_list, timeline = screen.query_one(ActivityList), screen.query_one(Timeline)
        await pilot.press("f2")
        await until(pilot, lambda: screen.query_one(ActivityPanel).has_focus_within)
        await pilot.press("home")
        await until(pilot, lambda: activity_list.selected is not None)
        row = activity_list.selected
        await pilot.press("m")
        await until(pilot, lambda: screen.focused is None)
        await until(pilot, lambda: timeline.chosen is not None)
        assert row is not None
        assert timeline.chosen is not None
        assert timeline.chosen.seq == row.said.seq


async def test_it_fits_a_small_screen(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, 9), size=(70, 18)) as (screen, pilot):
        await until(pilot, lambda: "good morning" in said(screen))
        assert not screen.query_one(SidePanel).is_on_screen
        await pilot.press("f3")
        await until(pilot, lambda: screen.query_one(SidePanel).is_on_screen)
        await pilot.press("escape")
        await until(pilot, lambda: not screen.query_one(SidePanel).is_on_screen)
        assert pilot.app.screen is screen


# Following


async def test_a_room_that_is_written_to_is_followed(places: Locations) -> None:
    log = a_day()
    saved = save(places.sessions, log.events)
    opening = ReplayRoom(saved.id, follow=True, note="open in another process")
    async with watching(places, opening) as (screen, pilot):
        await at(screen, pilot, END)
        assert "following" in words(screen)
        assert "paused" not in words(screen)
        assert "another process" in str(screen.query_one("#replay-note", Static).render())
        append(saved, [log.say("bob", "something new")])
        await until(pilot, lambda: "something new" in said(screen))


async def test_held_room_is_played_then_followed(
    places: Locations,
) -> None:
    log = a_day()
    saved = save(places.sessions, log.events)
    with saved.held():
        async with watching(places, ReplayRoom(saved.id)) as (screen, pilot):
            await until(pilot, lambda: "playing" in words(screen))
            await pilot.press("end")
            await until(pilot, lambda: "following" in words(screen))
            append(saved, [log.say("bob", "something new")])
            await until(pilot, lambda: "something new" in said(screen))


async def test_a_room_that_is_held_is_shown_instead(places: Locations, saved: SavedSession) -> None:
    app = GenieApp(
        RoomService("ann", Settings(local=True), places),
        ResumeRoom(saved.id),
        "ann",
        clock=HandClock(),
    )
    with saved.held():
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: isinstance(app.screen, ReplayScreen))
            screen = app.screen
            assert isinstance(screen, ReplayScreen)
            await until(pilot, lambda: "following" in words(screen))
            assert "process" in str(screen.query_one("#replay-note", Static).render())
            await pilot.press("escape")
            await until(pilot, lambda: app.return_code is not None)
    assert app.failure == ""


# Coming and going


async def test_leaving_ends_what_began_with_it(places: Locations, saved: SavedSession) -> None:
    async with watching(places, ReplayRoom(saved.id, 3)) as (_, pilot):
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.return_code is not None)
    assert pilot.app.return_code == 0


async def test_from_the_lobby_one_comes_back_to_it(places: Locations, saved: SavedSession) -> None:
    app = GenieApp(RoomService("ann", Settings(local=True), places), None, "ann", clock=HandClock())
    async with app.run_test(size=SIZE) as pilot:
        lobby = app.screen
        assert isinstance(lobby, LobbyScreen)
        await app.open(ReplayRoom(saved.id, 3))
        replay = app.screen
        assert isinstance(replay, ReplayScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is lobby)
        replay._frame()  # as a timer does that is due while the screen is removed
        await app.open(ReplayRoom("2020-nothing"))
        await until(pilot, lambda: app.screen is lobby)
        await until(
            pilot, lambda: "nothing" in str(lobby.query_one("#lobby-error", Static).render())
        )


async def test_an_unknown_room_is_said_in_a_line(places: Locations, saved: SavedSession) -> None:
    app = GenieApp(RoomService("ann", Settings(), places), ReplayRoom(saved.id + "x"), "ann")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.return_code is not None)
    assert app.return_code == 1
    assert saved.id in app.failure


async def test_markup_and_escapes_stay_text(places: Locations) -> None:
    log = RoomLog()
    log.say("b[red]ob", "[bold]loud[/] \x1b[31mred")
    saved = save(places.sessions, log.events, "[blink]title")
    async with watching(places, ReplayRoom(saved.id, 1)) as (screen, pilot):
        await until(pilot, lambda: "[bold]loud[/]" in said(screen))
        assert "\x1b" not in said(screen)
        assert "[blink]title" in screen.query_one(StatusBar).render().plain
        await pilot.press("slash", "left_square_bracket", "x", "enter")
        notices = pilot.app._notifications
        await until(pilot, lambda: any("[x" in each.message for each in notices))


async def test_event_of_later_version_is_named(places: Locations) -> None:
    log = RoomLog()
    log.say("ann", "one")
    saved = save(places.sessions, log.events)
    line = encode_line(Event(2, log.events[0].at, "ann", MemberLeft("bob")))
    with saved.log_path.open("ab") as file:
        file.write(with_crc(line.replace(b'"left"', b'"waved"')))
    async with watching(places, ReplayRoom(saved.id, 2)) as (screen, pilot):
        await until(pilot, lambda: "'waved'" in said(screen))


def with_crc(line: bytes) -> bytes:
    """A line that another program wrote: its checksum fits."""
    data, _, _ = line.rpartition(b',"crc"')
    return b'%b,"crc":"%08x"}\n' % (data, zlib.crc32(data))


async def test_an_empty_log_is_an_empty_room(places: Locations) -> None:
    saved = save(places.sessions, [])
    async with watching(places, ReplayRoom(saved.id), is_empty=True) as (screen, pilot):
        await until(pilot, lambda: "Garden" in screen.query_one(StatusBar).render().plain)
        await pilot.press("space", "right", "left", "d", "5", "end", "home", "space")
        await pilot.pause()
        assert "event 0 of 0" in words(screen)


async def test_backward_clock_still_plays_to_end(places: Locations) -> None:
    log = a_day()
    events: Iterable[Event] = [
        replace_at(event, event.at - 5_000 * (event.seq > 8)) for event in log.events
    ]
    saved = save(places.sessions, events)
    clock = HandClock()
    async with watching(places, ReplayRoom(saved.id), clock) as (screen, pilot):
        while place(screen) < END:
            clock.rest(1.0)
            await pilot.pause()
        assert "tidy" in said(screen)


def replace_at(event: Event, at: float) -> Event:
    return Event(event.seq, at, event.by, event.body)


async def test_report_rows_lead_to_messages(places: Locations, saved: SavedSession) -> None:
    clock = HandClock()
    async with watching(places, ReplayRoom(saved.id, at=END), clock) as (screen, pilot):
        await pilot.press("r")
        await until(pilot, lambda: any("--reasoner" in each.message for each in toasts(screen)))
        message = next(each for each in a_day().events if isinstance(each.body, MessagePosted))
        outcome = CaseResult(
            message.seq,
            1.0,
            "ann",
            "ann",
            "x",
            Comparison("ignore"),
            Comparison("delegate", query="x"),
        )
        report = WhatIfReport(
            session=saved.id, title="t", template="x", model="m", at=1.0, changed=(outcome,)
        )
        save_report(report, saved.folder)
        await pilot.press("r")
        await until(pilot, lambda: isinstance(screen.app.screen, WhatIfScreen))
        await until(pilot, lambda: screen.app.screen.is_mounted)
        await pilot.pause()
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: place(screen) == message.seq)


def toasts(screen: ReplayScreen) -> list[Notification]:
    return list(screen.app._notifications)
