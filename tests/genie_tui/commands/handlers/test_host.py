"""Moderation, knocks and handing over, as a person meets them on the room screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.genie_tui.room_parts import answer, notes
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedInvites,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    in_room,
    until,
)
from textual import on
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Static

import genie_tui.app
from genie_core.room.client.events import OtherHostsChanged
from genie_core.room.client.model import ConnectionState, ConnectionStatus, NextStep, SessionEnded
from genie_core.room.commands.hosting import cannot_take_over, no_authority, only_host
from genie_core.room.open.requests import NewRoom
from genie_core.room.protocol.errors import InvitesUnknown
from genie_core.room.protocol.events import (
    HostStarted,
    MemberJoined,
    MemberModerated,
    Role,
    RoomCreated,
    RoomSuspended,
)
from genie_core.room.protocol.frames import (
    HostingAccepted,
    HostingOffered,
    InviteIssued,
    JoinRequested,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_tui.app import GenieApp
from genie_tui.screens.dialogs.invite import InviteScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.banner import Banner
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.join_requests import JoinRequests

CAROL = JoinRequested(7, "carol", "", "10.0.0.7")


class Recorder(GenieApp):
    """Keeps what the room screen asks of the app."""

    CSS_PATH = str(Path(genie_tui.app.__file__).with_name("app.tcss"))
    asked: list[Message]

    @on(RoomScreen.HandOver)
    @on(RoomScreen.Reopen)
    @on(RoomScreen.Parted)
    def record(self, message: Message) -> None:
        message.prevent_default()
        self.asked.append(message)


@asynccontextmanager
async def recorded(
    joined: ScriptedJoinedRoom, clock: HandClock | None = None
) -> AsyncIterator[tuple[Recorder, Pilot[Any]]]:
    app = Recorder(
        ScriptedRoomService(joined), NewRoom("Garden"), joined.name, clock=clock or HandClock()
    )
    app.asked = []
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        await until(pilot, lambda: screen.joined is not None)
        await pilot.pause()
        yield app, pilot


@pytest.fixture
def host() -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom(invites=ScriptedInvites())
    made.open_room()
    return made


@pytest.fixture
def member() -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom(name="bob", address="")
    made.feed(RoomCreated("r1", "Garden"), HostStarted("alice"))
    made.feed(MemberJoined("host", engine=True), by="alice")
    made.feed(MemberJoined("member", engine=True), by="bob")
    return made


def order(screen: RoomScreen, text: str) -> None:
    screen.query_one(Composer).post_message(Composer.Submitted(text))


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("/kick bob too loud", ("kick", "bob", None, "too loud")),
        ("/ban bob", ("ban", "bob", None, "")),
        ("/pardon bob", ("pardon", "bob", None, "")),
        ("/mute @bob", ("mute", "bob", None, "")),
        ("/unmute bob", ("unmute", "bob", None, "")),
        ("/role bob guest", ("role", "bob", "guest", "")),
    ],
)
async def test_the_hosts_word_reaches_the_room(
    host: ScriptedJoinedRoom, text: str, asked: object
) -> None:
    async with in_room(host) as (screen, pilot):
        order(screen, text)
        await until(pilot, lambda: host.moderations == [asked])
        order(screen, "/share on")
        await until(pilot, lambda: host.shares == [True])


async def test_others_have_no_authority(member: ScriptedJoinedRoom) -> None:
    async with in_room(member) as (screen, pilot):
        for text in ("/kick alice", "/share on", "/admit carol", "/host carol", "/invite"):
            pilot.app.clear_notifications()
            order(screen, text)
            await until(pilot, lambda: "alice is hosting" in notes(pilot))
        assert (member.moderations, member.shares, member.offers) == ([], [], [])


@pytest.fixture
def holder(member: ScriptedJoinedRoom) -> ScriptedJoinedRoom:
    """Bob, to whom alice gave her role."""
    member.feed(MemberModerated("role", "bob", "host"), by="alice")
    return member


async def test_host_role_moderates_and_admits(holder: ScriptedJoinedRoom) -> None:
    async with in_room(holder) as (screen, pilot):
        order(screen, "/kick carol too loud")
        await until(pilot, lambda: holder.moderations == [("kick", "carol", None, "too loud")])
        order(screen, "/share off")
        await until(pilot, lambda: holder.shares == [False])
        holder.emit(CAROL)
        await until(pilot, lambda: screen.query_one(JoinRequests).callers == (CAROL,))
        order(screen, "/admit carol")
        await until(pilot, lambda: holder.admissions == [(7, True)])


async def test_but_not_over_what_is_the_hosts_alone(holder: ScriptedJoinedRoom) -> None:
    async with in_room(holder) as (screen, pilot):
        for text in ("/share on", "/host carol", "/heirs none"):
            pilot.app.clear_notifications()
            order(screen, text)
            await until(pilot, lambda: "alice is hosting" in notes(pilot))
        assert (holder.shares, holder.offers) == ([], [])


async def test_lost_connection_drops_requests(
    holder: ScriptedJoinedRoom,
) -> None:
    async with in_room(holder) as (screen, pilot):
        door = screen.query_one(JoinRequests)
        holder.emit(CAROL)
        holder.emit(HostingOffered("alice"))
        await until(pilot, lambda: len(door.callers) == 2)
        holder.emit(ConnectionStatus(ConnectionState.RETRYING, "connection lost", retry_in=1.0))
        await until(pilot, lambda: door.callers == (HostingOffered("alice"),))


async def test_requested_invite_is_shown(
    holder: ScriptedJoinedRoom,
) -> None:
    async with in_room(holder) as (screen, pilot):
        holder.emit(InviteIssued("genie1-unasked"))
        order(screen, "/invite --as observer")
        await until(pilot, lambda: holder.invites_asked == [(1, None, "observer", False)])
        assert pilot.app.screen is screen
        holder.emit(InviteIssued("genie1-first"))
        await until(pilot, lambda: isinstance(pilot.app.screen, InviteScreen))
        await until(pilot, lambda: pilot.app.clipboard == "genie1-first")
        holder.emit(InviteIssued("genie1-unasked"))
        order(screen, "/invite --new")
        await until(pilot, lambda: len(holder.invites_asked) == 2)
        holder.emit(InviteIssued("genie1-second"))
        await until(pilot, lambda: pilot.app.clipboard == "genie1-second")
        about = pilot.app.screen.query_one("#invite-about", Static)
        assert "as a member" in str(about.render())


async def test_host_of_old_version_issues_none(
    holder: ScriptedJoinedRoom,
) -> None:
    holder.invite_error = InvitesUnknown("alice")
    async with in_room(holder) as (screen, pilot):
        order(screen, "/invite")
        await until(pilot, lambda: "ask alice" in notes(pilot))


async def test_without_a_connection_nothing_is_changed(host: ScriptedJoinedRoom) -> None:
    host.connected = False
    async with in_room(host) as (screen, pilot):
        for text in ("/mute bob", "/share on"):
            pilot.app.clear_notifications()
            order(screen, text)
            await until(pilot, lambda: "nothing was changed" in notes(pilot))


async def test_a_knock_is_answered_at_the_door(host: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with in_room(host, clock=clock) as (screen, pilot):
        door = screen.query_one(JoinRequests)
        host.emit(CAROL)
        await until(pilot, lambda: door.callers == (CAROL,))
        await pilot.press(*"add")
        assert host.admissions == []
        await pilot.press("f7")
        await until(pilot, lambda: door.has_focus)
        clock.rest()
        await answer(pilot, clock, "a")
        await until(pilot, lambda: host.admissions == [(7, True)])
        await until(pilot, lambda: not door.display)
        await pilot.press("x")
        assert screen.query_one(Composer).draft == "addx"


@pytest.mark.parametrize(
    ("who", "said"),
    [("host", "gives way by itself"), ("member", "is not seen here until")],
)
async def test_second_host_banner_lasts_while_two(
    who: str, said: str, request: pytest.FixtureRequest
) -> None:
    one: ScriptedJoinedRoom = request.getfixturevalue(who)
    async with in_room(one) as (screen, pilot):
        banner = screen.query_one(Banner)
        one.emit(OtherHostsChanged(("ben", "[b]eve")))
        await until(pilot, lambda: banner.display)
        assert "ben and [b]eve host this room, too" in str(banner.render())
        assert said in str(banner.render())
        one.emit(OtherHostsChanged(()))
        await until(pilot, lambda: not banner.display)


async def test_a_knock_is_answered_by_a_command(host: ScriptedJoinedRoom) -> None:
    async with in_room(host) as (screen, pilot):
        host.emit(CAROL)
        await until(pilot, lambda: screen.query_one(JoinRequests).callers)
        order(screen, "/admit dave")
        await until(pilot, lambda: "dave" in notes(pilot))
        order(screen, "/refuse Carol")
        await until(pilot, lambda: host.admissions == [(7, False)])
        assert screen.query_one(JoinRequests).callers == ()


async def test_unanswered_join_request_stays(host: ScriptedJoinedRoom) -> None:
    host.connected = False
    async with in_room(host) as (screen, pilot):
        host.emit(CAROL)
        await until(pilot, lambda: screen.query_one(JoinRequests).callers)
        order(screen, "/admit carol")
        await until(pilot, lambda: host.admissions == [(7, True)])
        assert screen.query_one(JoinRequests).callers == (CAROL,)


async def test_duplicate_name_is_not_admitted(host: ScriptedJoinedRoom) -> None:
    async with in_room(host) as (screen, pilot):
        for knock in (CAROL, JoinRequested(8, "CAROL", "", "10.0.0.9")):
            host.emit(knock)
        await until(pilot, lambda: len(screen.query_one(JoinRequests).callers) == 2)
        order(screen, "/admit carol")
        await until(pilot, lambda: "f7" in notes(pilot))
        assert host.admissions == []


async def test_somebody_is_asked_to_host(host: ScriptedJoinedRoom) -> None:
    async with in_room(host) as (screen, pilot):
        order(screen, "/host bob")
        await until(pilot, lambda: host.offers == ["bob"])
        order(screen, "/host")
        await until(pilot, lambda: "/host NAME" in notes(pilot))
        order(screen, "/host ann")
        await until(pilot, lambda: "already" in notes(pilot))


async def test_an_offer_is_accepted_or_not(member: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with in_room(member, clock=clock) as (screen, pilot):
        door = screen.query_one(JoinRequests)
        for key, accepted in (("d", 0), ("a", 1)):
            member.emit(HostingOffered("alice"))
            await until(pilot, lambda: door.callers == (HostingOffered("alice"),))
            await pilot.press("f7")
            await until(pilot, lambda: door.has_focus)
            clock.rest()
            await answer(pilot, clock, key)
            await until(pilot, lambda: not door.callers)
            assert member.accepted == accepted


async def test_accepted_offer_asks_for_hand_over(
    host: ScriptedJoinedRoom,
) -> None:
    async with recorded(host) as (app, pilot):
        host.emit(HostingAccepted("bob", HostRecord("r1", "bob", "", "")))
        await until(pilot, lambda: app.asked)
        assert isinstance(app.asked[0], RoomScreen.HandOver)
        assert app.asked[0].name == "bob"


async def test_heir_takes_over_while_the_host_is_away(
    member: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    async with recorded(member, clock) as (app, pilot):
        banner = app.screen.query_one(Banner)
        await pilot.press("f8")
        await until(pilot, lambda: "alice is hosting" in notes(pilot))
        member.may_host = False
        member.set_link(ConnectionStatus(ConnectionState.RETRYING, "connection lost"))
        await until(pilot, lambda: banner.display)
        assert "/host" not in str(banner.render())
        member.may_host = True
        clock.rest(1)
        await until(pilot, lambda: "you may host the room" in str(banner.render()))
        await pilot.press("f8")
        await until(pilot, lambda: app.asked)
        assert isinstance(app.asked[0], RoomScreen.Reopen)
        member.set_link(ConnectionStatus(ConnectionState.ONLINE))
        await until(pilot, lambda: not banner.display)


async def test_who_is_no_heir_is_told_so(member: ScriptedJoinedRoom) -> None:
    member.may_host = False
    async with recorded(member) as (app, pilot):
        member.set_link(ConnectionStatus(ConnectionState.RETRYING, "connection lost"))
        await pilot.press("f8")
        await until(pilot, lambda: "alice has not named you" in notes(pilot))
        assert app.asked == []


async def test_host_takes_over_by_command(member: ScriptedJoinedRoom) -> None:
    async with recorded(member) as (app, pilot):
        member.set_link(ConnectionStatus(ConnectionState.RETRYING, "connection lost"))
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        order(screen, "/host")
        await until(pilot, lambda: app.asked)


async def test_a_closed_room_is_taken_over_by_its_key(member: ScriptedJoinedRoom) -> None:
    async with recorded(member) as (app, pilot):
        member.feed(RoomSuspended("bye"))
        member.set_link(ConnectionStatus(ConnectionState.CLOSED, "the host suspended the room"))
        await pilot.press("f8")
        await until(pilot, lambda: app.asked)


async def test_guests_can_not_take_over(member: ScriptedJoinedRoom) -> None:
    member.state.people["bob"].role = "guest"
    async with recorded(member) as (app, pilot):
        member.set_link(ConnectionStatus(ConnectionState.RETRYING, "connection lost"))
        await pilot.press("f8")
        await until(pilot, lambda: "Only members" in notes(pilot))
        assert app.asked == []


async def test_a_parting_is_reported_once(member: ScriptedJoinedRoom) -> None:
    async with recorded(member) as (app, pilot):
        member.ended = SessionEnded(NextStep.HOST, "r1@bob", "handed over")
        for _ in range(2):
            member.set_link(ConnectionStatus(ConnectionState.CLOSED, "handed over"))
        await until(pilot, lambda: app.asked)
        await pilot.pause()
        (message,) = app.asked
        assert isinstance(message, RoomScreen.Parted)
        assert message.parting is member.ended


async def test_who_tells_the_words_of_a_key(host: ScriptedJoinedRoom) -> None:
    async with in_room(host) as (screen, pilot):
        order(screen, "/who Bob")
        await until(pilot, lambda: "key: no key" in notes(pilot))
        order(screen, "/who zoe")
        await until(pilot, lambda: "zoe" in notes(pilot))


def joined_room_of(name: str, role: Role = "member") -> ScriptedJoinedRoom:
    joined = ScriptedJoinedRoom(name=name)
    joined.feed(RoomCreated("r1", "Garden"), HostStarted("alice"))
    joined.feed(MemberJoined("host"), by="alice")
    if name != "alice":
        joined.feed(MemberJoined(role), by=name)
    return joined


def test_only_the_host_has_authority() -> None:
    assert only_host(joined_room_of("alice")) == ""
    assert "alice" in only_host(joined_room_of("bob"))


def test_who_may_instead_is_told() -> None:
    joined = joined_room_of("bob")
    joined.feed(MemberJoined("member"), by="carol")
    joined.feed(MemberModerated("role", "carol", "host"), by="alice")
    assert no_authority(joined).endswith("carol may, too.")


def test_takeover_needs_absent_host() -> None:
    joined = joined_room_of("bob")
    assert "alice is hosting" in cannot_take_over(joined)
    joined.connection = ConnectionStatus(ConnectionState.RETRYING)
    assert cannot_take_over(joined) == ""
    joined.connection = ConnectionStatus(ConnectionState.CLOSED)
    assert cannot_take_over(joined)
    joined.feed(RoomSuspended())
    assert cannot_take_over(joined) == ""


@pytest.mark.parametrize("role", ["guest", "observer"])
def test_others_do_not(role: Role) -> None:
    joined = joined_room_of("bob", role)
    joined.connection = ConnectionStatus(ConnectionState.RETRYING)
    assert "members" in cannot_take_over(joined)


def test_those_who_are_banned_do_not() -> None:
    joined = joined_room_of("bob")
    joined.feed(MemberModerated("ban", "bob"), by="alice")
    joined.connection = ConnectionStatus(ConnectionState.RETRYING)
    assert "members" in cannot_take_over(joined)


def test_the_host_is_told_how_to_hand_over() -> None:
    assert "/host NAME" in cannot_take_over(joined_room_of("alice"))


async def test_shown_invite_marks_room_shared(
    host: ScriptedJoinedRoom,
) -> None:
    service = ScriptedRoomService(host)
    async with in_room(host, service=service) as (_, pilot):
        assert service.shared == []
        await pilot.press("f6")
        await until(pilot, lambda: service.shared == [host.saved])
