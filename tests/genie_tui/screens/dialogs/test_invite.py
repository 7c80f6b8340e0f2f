from typing import Any

import pytest
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedInvites,
    ScriptedJoinedRoom,
    in_room,
    until,
)
from textual.pilot import Pilot
from textual.widgets import Static

from genie_core.room.commands.arguments import InviteOptions
from genie_core.room.protocol.address import Address
from genie_core.room.security.invite import Invite, write_invite
from genie_core.text.format import clock_time
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.invite import InviteScreen, Terms, renewed
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.keys_line import KeyText

TEXT = write_invite(
    Invite(
        (Address("192.168.1.20", 7654), Address("10.0.0.3", 7654)),
        "A" * 43,
        "p1",
        b"s" * 16,
        "Garden",
    )
)


@pytest.fixture
def joined() -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom(invites=ScriptedInvites(TEXT))
    made.open_room()
    return made


async def to_invite(pilot: Pilot[Any]) -> InviteScreen:
    await pilot.press("f6")
    await until(pilot, lambda: isinstance(pilot.app.screen, InviteScreen))
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, InviteScreen)
    return screen


def shown(screen: InviteScreen, selector: str) -> str:
    return str(screen.query_one(selector, Static).render())


async def test_it_shows_the_invite_and_has_it_copied(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        screen = await to_invite(pilot)
        assert shown(screen, "#invite-string") == TEXT
        assert "Garden" in shown(screen, "#invite-title")
        assert "192.168.1.20:7654, 10.0.0.3:7654" in shown(screen, "#invite-about")
        assert pilot.app.clipboard == TEXT
        assert any("copied" in note.message for note in pilot.app._notifications)


async def test_the_code_is_there_where_it_fits(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined, (120, 50)) as (_, pilot):
        screen = await to_invite(pilot)
        code = screen.query_one("#invite-code", Static)
        assert code.display
        assert screen.region.contains_region(code.region)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: not code.display)
        assert shown(screen, "#invite-string") == TEXT


async def test_a_new_one_is_made_after_a_question(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (_, pilot):
        screen = await to_invite(pilot)
        hosting = joined.invites
        assert hosting is not None
        for answer in ("escape", "enter"):
            assert hosting.renewals == []
            clock.rest()
            await pilot.press("n")
            await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
            await until(pilot, lambda: pilot.app.screen.is_mounted)  # it guards its keys
            clock.rest()
            await pilot.press(answer)
            await until(pilot, lambda: pilot.app.screen is screen)
        await until(pilot, lambda: len(hosting.renewals) == 1)
        await until(pilot, lambda: shown(screen, "#invite-string") == "genie1-number1")
        await until(pilot, lambda: pilot.app.clipboard == "genie1-number1")


async def test_command_makes_limited_invite(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (room, pilot):
        command = Composer.Submitted("/invite --once --for 2h")
        room.query_one(Composer).post_message(command)
        await until(pilot, lambda: isinstance(pilot.app.screen, InviteScreen))
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, InviteScreen)
        assert joined.invites is not None
        assert joined.invites.issued == [(1, 7200.0)]
        assert joined.invites.renewals == []
        assert shown(screen, "#invite-string") == pilot.app.clipboard == "genie1-another1"
        assert "One person can join as a member, once until" in shown(screen, "#invite-about")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is room)
        again = await to_invite(pilot)
        assert shown(again, "#invite-string") == pilot.app.clipboard == TEXT
        assert "Anyone who has it" in shown(again, "#invite-about")


async def test_limited_invite_keeps_its_terms(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (room, pilot):
        room.query_one(Composer).post_message(Composer.Submitted("/invite --new --once"))
        await until(pilot, lambda: isinstance(pilot.app.screen, InviteScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is room)
        again = await to_invite(pilot)
        assert shown(again, "#invite-string") == "genie1-number1"
        assert "One person" in shown(again, "#invite-about")


async def test_others_have_no_invite_to_show(joined: ScriptedJoinedRoom) -> None:
    joined.hosting.invites, joined.name = None, "bob"
    async with in_room(joined) as (room, pilot):
        await pilot.press("f6")
        await until(pilot, lambda: list(pilot.app._notifications))
        assert pilot.app.screen is room
        assert any("ann is hosting" in note.message for note in pilot.app._notifications)


async def test_without_an_open_invite_it_says_so(joined: ScriptedJoinedRoom) -> None:
    joined.hosting.invites, clock = ScriptedInvites(""), HandClock()
    async with in_room(joined, clock=clock) as (_, pilot):
        screen = await to_invite(pilot)
        assert "There is no invite" in shown(screen, "#invite-string")
        assert "genie-tui join :7654" in shown(screen, "#invite-string")
        clock.rest()
        keys = screen.query_one(KeyText)
        await until(pilot, lambda: str(keys.render()) == "esc back")
        assert pilot.app.clipboard == ""


async def test_key_makes_invite_after_all_ended(joined: ScriptedJoinedRoom) -> None:
    invites = ScriptedInvites("")
    invites.takes_invites = True
    joined.hosting.invites = invites
    async with in_room(joined) as (_, pilot):
        screen = await to_invite(pilot)
        assert "to make one" in shown(screen, "#invite-string")


def test_terms_say_whom_it_lets_in() -> None:
    assert "Anyone who has it" in Terms().text
    assert "One person" in Terms(once=True).text
    hosting = ScriptedInvites()
    terms = renewed(hosting, InviteOptions(lifetime=60.0), 1_000.0)
    assert hosting.issued == [(None, 60.0)]
    assert terms.until == clock_time(1_060.0)
    assert terms.invite == "genie1-another1"
    renewed(hosting, InviteOptions(new=True, once=True), 1_000.0)
    assert hosting.renewals == [(1, None)]
