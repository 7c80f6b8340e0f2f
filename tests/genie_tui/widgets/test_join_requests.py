from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.genie_tui.command_keys import CommandKeysApp
from tests.genie_tui.room_parts import answer
from tests.genie_tui.scripted_room import HandClock, until
from textual import events, on
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, Static

from genie_core.room.protocol.frames import HostingOffered, JoinRequested
from genie_core.room.security.identity import Identity, words
from genie_tui.widgets.join_requests import JoinRequests
from genie_tui.widgets.keys_line import KeysLine

KEY = Identity.generate().key
CAROL = JoinRequested(1, "carol", KEY, "10.0.0.7")
DAVE = JoinRequested(2, "dave", "", "10.0.0.8")


class Host(CommandKeysApp):
    """A join_requests, and somewhere to write."""

    clock: HandClock

    def __init__(self) -> None:
        super().__init__(HandClock())
        self.join_requests = JoinRequests(self.clock)
        self.answers: list[tuple[object, bool]] = []
        self.dismissed = 0

    def compose(self) -> ComposeResult:
        yield self.join_requests
        yield Input()

    @on(JoinRequests.Answered)
    def note(self, message: JoinRequests.Answered) -> None:
        self.answers.append((message.caller, message.allow))

    @on(JoinRequests.Dismissed)
    def note_dismissal(self) -> None:
        self.dismissed += 1


@asynccontextmanager
async def at_the_door() -> AsyncIterator[tuple[Host, Pilot[Any]]]:
    app = Host()
    async with app.run_test() as pilot:
        app.query_one(Input).focus()
        await pilot.pause()
        yield app, pilot


async def turn_to(app: Host, pilot: Pilot[Any]) -> None:
    app.join_requests.focus()
    await until(pilot, lambda: app.join_requests.has_focus)
    app.clock.rest()


def text_of(app: Host) -> str:
    return str(app.query_one("#join-request-text", Static).render())


async def test_panel_opens_without_taking_focus() -> None:
    async with at_the_door() as (app, pilot):
        await until(pilot, lambda: not app.join_requests.display)
        app.join_requests.take(CAROL)
        await until(pilot, lambda: app.join_requests.display)
        assert app.query_one(Input).has_focus


async def test_it_tells_name_words_and_address() -> None:
    async with at_the_door() as (app, _):
        app.join_requests.take(CAROL)
        for part in ("carol", words(KEY), "10.0.0.7"):
            assert part in text_of(app)


async def test_typing_answers_nothing() -> None:
    async with at_the_door() as (app, pilot):
        await pilot.press("d")
        app.join_requests.take(CAROL)
        app.clock.rest(60)
        await pilot.press(*"adnad")
        assert app.answers == []
        assert app.query_one(Input).value == "dadnad"


async def test_keys_count_once_the_keyboard_rested() -> None:
    async with at_the_door() as (app, pilot):
        app.join_requests.take(CAROL)
        app.join_requests.focus()
        await until(pilot, lambda: app.join_requests.has_focus)
        await pilot.press("a", "d", "n")
        assert app.answers == []
        assert "moment" in str(app.query_one(KeysLine).render())
        app.clock.rest()
        await answer(pilot, app.clock, "a")
        await until(pilot, lambda: app.answers == [(CAROL, True)])


async def test_typed_text_passes_through() -> None:
    async with at_the_door() as (app, pilot):
        typed: list[str] = []
        app.join_requests.write = typed.append
        app.join_requests.take(CAROL)
        await turn_to(app, pilot)
        for key in ("a", "n", "d", "space", "enter"):
            await pilot.press(key)
            app.clock.rest()
        await pilot.pause()
        assert app.answers == []
        assert "".join(typed) == "and "


async def test_no_other_key_answers() -> None:
    async with at_the_door() as (app, pilot):
        app.join_requests.take(CAROL)
        await turn_to(app, pilot)
        for key in ("enter", "space", "y", "s", "b", "A", "D"):
            app.clock.rest()
            app.post_message(events.Key(key, key))
        await pilot.pause()
        assert app.answers == []


async def test_the_next_caller_is_guarded_too() -> None:
    async with at_the_door() as (app, pilot):
        app.join_requests.take(CAROL)
        app.join_requests.take(DAVE)
        await turn_to(app, pilot)
        await answer(pilot, app.clock, "d")
        await until(pilot, lambda: app.answers)
        app.join_requests.remove_caller(CAROL)
        await answer(pilot, app.clock, "d")
        assert app.answers == [(CAROL, False)]
        app.clock.rest()
        await answer(pilot, app.clock, "d")
        await until(pilot, lambda: app.answers == [(CAROL, False), (DAVE, False)])


async def test_withdrawn_request_arms_guard() -> None:
    async with at_the_door() as (app, pilot):
        app.join_requests.take(CAROL)
        app.join_requests.take(DAVE)
        await turn_to(app, pilot)
        app.join_requests.take(JoinRequested(1, "carol", KEY, "10.0.0.7", over=True))
        await pilot.press("a")
        assert app.answers == []
        assert app.join_requests.callers == (DAVE,)
        app.join_requests.take(JoinRequested(2, "dave", "", "", over=True))
        await until(pilot, lambda: app.dismissed)
        assert not app.join_requests.display


async def test_next_walks_around() -> None:
    async with at_the_door() as (app, pilot):
        for caller in (CAROL, DAVE, HostingOffered("alice")):
            app.join_requests.take(caller)
        assert "1 of 3" in str(app.join_requests.border_title)
        for name in ("dave", "alice", "carol"):
            await turn_to(app, pilot)
            await pilot.press("n")
            await until(pilot, lambda name=name: name in text_of(app))  # type: ignore[misc]  # a lambda's default


async def test_an_offer_asks_whether_to_host() -> None:
    async with at_the_door() as (app, pilot):
        app.join_requests.take(HostingOffered("alice"))
        app.join_requests.take(HostingOffered("alice"))
        assert len(app.join_requests.callers) == 1
        assert "alice asks you to host" in text_of(app)
        await turn_to(app, pilot)
        await until(pilot, lambda: "I host" in str(app.query_one(KeysLine).render()))


async def test_escape_lets_them_wait() -> None:
    async with at_the_door() as (app, pilot):
        app.join_requests.take(CAROL)
        await turn_to(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.dismissed)
        assert app.join_requests.callers == (CAROL,)


async def test_names_fold_and_are_never_markup() -> None:
    async with at_the_door() as (app, _):
        app.join_requests.take(JoinRequested(9, "[/red]\x1b", "x", "[b]"))
        assert "[/red]␛" in text_of(app)
        assert "no valid key" in text_of(app)
        app.join_requests.take(CAROL)
        assert app.join_requests.knocks_by("CAROL") == [CAROL]


async def test_local_request_says_this_machine() -> None:
    async with at_the_door() as (app, pilot):
        app.join_requests.take(JoinRequested(3, "erik", "", "loopback"))
        await pilot.pause()
        assert "erik, from this machine" in text_of(app)


async def test_an_agent_that_asks_is_called_one() -> None:
    async with at_the_door() as (app, _):
        app.join_requests.take(JoinRequested(3, "bot", KEY, "10.0.0.7", kind="agent"))
        shown = str(app.query_one("#join-request-text", Static).render())
        assert "bot, an agent, from 10.0.0.7" in shown
        assert "Ask its owner" in shown
