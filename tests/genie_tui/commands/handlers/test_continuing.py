"""A member continues the room as a new one, or follows another who does."""

from dataclasses import replace

import pytest
from tests.genie_tui.commands.handlers.test_host import Recorder, order, recorded
from tests.genie_tui.room_parts import answer, notes
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, until

from genie_core.room.client.events import ContinuationsChanged
from genie_core.room.client.model import ConnectionState, ConnectionStatus, Continuation
from genie_core.room.commands.hosting import cannot_continue
from genie_core.room.open.requests import ContinueRoom, FollowRoom
from genie_core.room.protocol.events import HostStarted, MemberJoined, RoomCreated
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.banner import Banner
from genie_tui.widgets.join_requests import JoinRequests

AWAY = ConnectionStatus(ConnectionState.RETRYING, "connection lost")
CAROLS = Continuation("r2", "Garden", "carol", "alice", "p", ("10.0.0.7:7654",), ("dave",), 1.0)
OTHER = Continuation("r3", "Garden", "eve", "alice", "q", ("10.0.0.8:7654",), (), 1.0)


@pytest.fixture
def member() -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom(name="bob", address="", may_host=False, saved="r1@bob")
    made.feed(RoomCreated("r1", "Garden"), HostStarted("alice"))
    made.feed(MemberJoined("host", engine=True), by="alice")
    made.feed(MemberJoined("member", engine=True, key="bobs"), by="bob")
    return made


def requested(app: Recorder, member: ScriptedJoinedRoom) -> object:
    (message,) = app.asked
    assert isinstance(message, RoomScreen.Reopen)
    return message.way(member)


@pytest.mark.parametrize("how", ["f8", "/host", "/continue"])
async def test_continuing_is_confirmed_first(member: ScriptedJoinedRoom, how: str) -> None:
    clock = HandClock()
    async with recorded(member, clock) as (app, pilot):
        member.set_link(AWAY)
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        await pilot.press(how) if how == "f8" else order(screen, how)
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("enter")  # too early to count
        assert app.asked == []
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: app.asked)
        assert requested(app, member) == ContinueRoom("r1@bob")


async def test_banner_offers_it_after_a_minute(member: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with recorded(member, clock) as (app, pilot):
        banner = app.screen.query_one(Banner)
        member.set_link(AWAY)
        await until(pilot, lambda: banner.display)
        assert "new room" not in str(banner.render())
        clock.rest(61)
        await until(pilot, lambda: "continues in a new room of yours" in str(banner.render()))


async def test_host_who_is_here_is_not_replaced(member: ScriptedJoinedRoom) -> None:
    async with recorded(member) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        order(screen, "/continue")
        await until(pilot, lambda: "alice is hosting" in notes(pilot))


def test_guests_can_not_continue(member: ScriptedJoinedRoom) -> None:
    member.connection = AWAY
    assert cannot_continue(member) == ""
    member.state.people["bob"].role = "guest"
    assert "no guests" in cannot_continue(member)


@pytest.mark.parametrize("key", ["a", "d"])
async def test_question_is_answered_when_keys_count(member: ScriptedJoinedRoom, key: str) -> None:
    clock = HandClock()
    async with recorded(member, clock) as (app, pilot):
        requests = app.screen.query_one(JoinRequests)
        member.set_link(AWAY)
        member.emit(ContinuationsChanged((CAROLS,)))
        await until(pilot, lambda: requests.callers == (CAROLS,))
        text = str(requests.query_one("#join-request-text").render())
        assert "carol continues this room as a new one" in text
        assert "alice has been away" in text
        assert "also there: dave" in text
        await pilot.press("f7")
        await until(pilot, lambda: requests.has_focus)
        await pilot.press("enter")  # chooses nothing
        assert requests.callers == (CAROLS,)
        clock.rest()
        await answer(pilot, clock, key)
        await until(pilot, lambda: not requests.callers)
        if key == "a":
            follow = FollowRoom("r1@bob", "carol", "r2", "p", CAROLS.addresses)
            await until(pilot, lambda: app.asked)
            assert requested(app, member) == follow
        else:
            await until(pilot, lambda: member.declined == ["r2"])
            assert app.asked == []


async def test_questions_end_when_the_host_is_back(member: ScriptedJoinedRoom) -> None:
    async with recorded(member) as (app, pilot):
        requests = app.screen.query_one(JoinRequests)
        member.set_link(AWAY)
        member.emit(ContinuationsChanged((CAROLS, OTHER)))
        await until(pilot, lambda: requests.callers == (CAROLS, OTHER))
        assert requests.border_title == "1 of 2"
        joined_by_dave = replace(OTHER, present=("dave",))
        member.emit(ContinuationsChanged((joined_by_dave,)))
        await until(pilot, lambda: requests.callers == (joined_by_dave,))
        assert "also there: dave" in str(requests.query_one("#join-request-text").render())
        member.emit(ContinuationsChanged(()))
        await until(pilot, lambda: not requests.callers)
