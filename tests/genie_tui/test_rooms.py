"""Several open rooms: which is on the screen, what the others tell, and how all are left."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedInvites,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    until,
)
from textual.events import AppBlur
from textual.pilot import Pilot
from textual.widgets import Static

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.known_programs import ProgramOffer
from genie_core.assistant.models.discover import ModelOffer
from genie_core.errors import GenieError
from genie_core.room.client.events import OnEvent
from genie_core.room.client.model import ConnectionState, ConnectionStatus, NextStep, SessionEnded
from genie_core.room.open.requests import (
    FollowRoom,
    JoinRoom,
    NewRoom,
    OpenRequest,
    OtherWay,
    Question,
    RejoinRoom,
    ReplayRoom,
    ResumeRoom,
)
from genie_core.room.open.service import SavedSummary
from genie_core.room.participant.receipt import Item, Receipt
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.events import (
    AnswerPosted,
    HostStarted,
    MemberLeft,
    MessagePosted,
    RoomCreated,
)
from genie_core.room.security.invite import Invite, write_invite
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.search.snippet import Snippet
from genie_tui.alerts import LONGEST
from genie_tui.app import GenieApp
from genie_tui.exit_report import exit_lines
from genie_tui.onboarding import Onboarding
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.pick import CarefulPickScreen, PickScreen
from genie_tui.screens.help import HelpScreen
from genie_tui.screens.lobby import LobbyScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.screens.sessions import SessionsScreen
from genie_tui.widgets.approvals.card import ApprovalCard
from genie_tui.widgets.status_bar import StatusBar
from genie_tui.widgets.timeline.timeline import Timeline


@dataclass
class ManyRooms(ScriptedRoomService):
    """Opens one scripted room after another."""

    others: list[ScriptedJoinedRoom] = field(default_factory=list)

    async def open(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
        opened = await super().open(opening, on_event)
        if self.others:
            self.joined = self.others.pop(0)
        return opened


def room(title: str, saved: str) -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom(invites=ScriptedInvites(), saved=saved)
    made.open_room(title)
    made.feed(MemberLeft("bob"), by="bob")
    return made


@pytest.fixture
def garden() -> ScriptedJoinedRoom:
    return room("Garden", "garden-1")


@pytest.fixture
def kitchen() -> ScriptedJoinedRoom:
    return room("Kitchen", "kitchen-1")


@asynccontextmanager
async def in_both(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom, clock: HandClock | None = None
) -> AsyncIterator[tuple[GenieApp, Pilot[Any]]]:
    """The app with both rooms open and the kitchen on the screen."""
    service = ManyRooms(garden, others=[kitchen])
    app = GenieApp(service, None, "ann", clock=clock or HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        await app.open(NewRoom("Garden"))
        await until(pilot, lambda: shown(app) == "Garden")
        await app.open(NewRoom("Kitchen"))
        await until(pilot, lambda: shown(app) == "Kitchen")
        yield app, pilot


def shown(app: GenieApp) -> str:
    """The title of the room on the screen."""
    screen = app.screen
    return screen.joined.state.title if isinstance(screen, RoomScreen) and screen.joined else ""


def status(app: GenieApp) -> str:
    return str(app.screen.query_one(StatusBar).render())


async def test_each_room_keeps_its_own_draft(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        await pilot.press(*"salt")
        await pilot.press("ctrl+o", "enter")
        await until(pilot, lambda: shown(app) == "Garden")
        await pilot.press(*"seeds", "enter")
        assert garden.said == [("seeds", False)]
        assert kitchen.said == []
        await pilot.press("ctrl+o", "enter")
        await until(pilot, lambda: shown(app) == "Kitchen")
        assert isinstance(app.screen, RoomScreen)
        assert app.screen.draft == "salt"


@pytest.mark.parametrize("through", [["enter"], [*"lob", "enter"]], ids=["room", "lobby"])
async def test_a_room_left_while_reading_is_read_on(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom, through: list[str]
) -> None:
    kitchen.say_here("one")
    asked = kitchen.say_here("two")
    async with in_both(garden, kitchen) as (app, pilot):
        screen = app.screen
        timeline = screen.query_one(Timeline)
        await pilot.press("f5")
        await until(pilot, lambda: timeline.has_focus)
        await pilot.press("ctrl+o", *through)
        await until(pilot, lambda: app.screen is not screen and not app.screen.is_modal)
        await pilot.press("ctrl+o", "enter")
        await until(pilot, lambda: app.screen is screen)
        await pilot.pause()
        assert app.focused is timeline
        assert timeline.chosen is not None
        assert timeline.chosen.seq == asked


async def test_picker_matches_letters_and_lobby(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        await pilot.press("ctrl+o", *"lob", "enter")
        await until(pilot, lambda: isinstance(app.screen, LobbyScreen))
        told = str(app.screen.query_one("#open-rooms", Static).render())
        assert told == "ctrl+o  back to Kitchen, Garden"
        await pilot.press("ctrl+o", *"gdn", "enter")
        await until(pilot, lambda: shown(app) == "Garden")
        assert (garden.leaves, kitchen.leaves) == ([], [])


def hit(session: str, seq: int) -> SearchHit:
    return SearchHit(session, "Garden", seq, seq, 1.0, "bob", "message", Snippet("apples"))


async def test_hit_in_open_room_leads_there(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    (said,) = garden.feed(MessagePosted("1", "apples"), by="bob")
    garden.feed(MessagePosted("2", "pears"), by="bob")
    async with in_both(garden, kitchen) as (app, pilot):
        await app.on_sessions_screen_hit_chosen(SessionsScreen.HitChosen(hit("garden-1", said.seq)))
        await until(pilot, lambda: shown(app) == "Garden")
        timeline = app.screen.query_one(Timeline)
        await until(pilot, lambda: getattr(timeline.chosen, "seq", 0) == said.seq)


async def test_hit_in_closed_room_is_replayed(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []

    async def keep(opening: object) -> None:
        opened.append(opening)

    async with in_both(garden, kitchen) as (app, _):
        monkeypatch.setattr(app, "open", keep)
        await app.on_sessions_screen_hit_chosen(SessionsScreen.HitChosen(hit("attic-1", 7)))
    assert opened == [ReplayRoom("attic-1", at=7)]


async def test_activity_elsewhere_is_counted(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        assert "ctrl+o rooms" in status(app)
        garden.say_here("salad?", "bob")
        garden.say_here("@ann are you there?", "bob")
        await until(pilot, lambda: "elsewhere: 2 new, 1 for you" in status(app))
        assert "Garden: bob: @ann are you there?  (ctrl+o)" in notes(pilot)
        garden.ask("delete_file")
        await until(pilot, lambda: "elsewhere: ▲ 1 approval" in status(app))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        await pilot.press("enter")
        await until(pilot, lambda: shown(app) == "Garden")
        await until(pilot, lambda: "1 approval" in status(app))
        assert "elsewhere" not in status(app)
        assert garden.answers == []


async def test_dialog_blocks_changing_rooms(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        await pilot.press("f6")
        dialog = app.screen
        assert not isinstance(dialog, RoomScreen)
        await pilot.press("ctrl+o")
        assert app.screen is dialog


async def test_host_change_elsewhere_keeps_screen(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    again = room("Garden", "garden-1")
    async with in_both(garden, kitchen) as (app, pilot):
        service = app._service
        assert isinstance(service, ManyRooms)
        service.joined = again
        before = next(each.screen for each in app.rooms if each.title == "Garden")
        before.draft = "half"
        await pilot.press(*"salt")
        before.post_message(
            RoomScreen.Parted(before, SessionEnded(NextStep.REJOIN, "r1@ann", "parted"))
        )
        await until(pilot, lambda: garden.left and len(app.rooms) == 2)
        await until(pilot, lambda: all(each.joined for each in app.rooms))
        assert shown(app) == "Kitchen"
        await pilot.press(*"y", "enter")
        assert kitchen.said == [("salty", False)]
        await pilot.press("ctrl+o", "enter")
        await until(pilot, lambda: shown(app) == "Garden")
        assert isinstance(app.screen, RoomScreen)
        assert app.screen.joined is again
        assert app.screen.draft == "half"


@pytest.mark.parametrize("is_online", [True, False])
@pytest.mark.parametrize("by_address", [True, False])
async def test_invite_updates_open_room_address(
    kitchen: ScriptedJoinedRoom, is_online: bool, by_address: bool
) -> None:
    digest = "a" * 24
    member = ScriptedJoinedRoom(saved="garden-1")
    member.feed(RoomCreated(f"garden-{digest}", "Garden"), HostStarted("bob"))
    invite = Invite((Address("192.0.2.7", 7654),), "A" * 43, "zH5amHg", b"s" * 16, room=digest)
    way = ":7654" if by_address else write_invite(invite)
    service = ManyRooms(member, others=[kitchen, member], leads={":7654": invite})
    app = GenieApp(service, None, "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        await app.open(NewRoom("Garden"))
        await until(pilot, lambda: shown(app) == "Garden")
        await app.open(NewRoom("Kitchen"))
        await until(pilot, lambda: shown(app) == "Kitchen")
        if not is_online:
            member.connection = ConnectionStatus(ConnectionState.RETRYING)
        await app.open(JoinRoom(way))
        await until(
            pilot, lambda: shown(app) == "Garden" and len(service.openings) == 3 - is_online
        )
        assert len(app.rooms) == 2
        if not is_online:
            again = service.openings[-1]
            assert isinstance(again, RejoinRoom)
            assert (again.id, again.addresses) == ("garden-1", ("192.0.2.7:7654",))


@pytest.mark.parametrize("way", [ResumeRoom("garden-1"), RejoinRoom("garden-1")])
async def test_open_saved_room_is_only_shown(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom, way: OpenRequest
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        await app.open(way)
        await until(pilot, lambda: shown(app) == "Garden")
        assert isinstance(app._service, ManyRooms)
        assert len(app._service.openings) == 2


async def test_one_room_is_left_and_the_other_stays(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        await pilot.press(*"/leave", "enter")
        await until(pilot, lambda: isinstance(app.screen, LobbyScreen))
        await until(pilot, lambda: len(app.rooms) == 1)
        assert (garden.leaves, kitchen.leaves) == ([], [""])
        await pilot.press("ctrl+o", "enter")
        await until(pilot, lambda: shown(app) == "Garden")
        assert "ctrl+o" not in status(app)


async def test_quit_leaves_all_with_one_receipt(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    clock = HandClock()
    garden.receipt = Receipt(parked=(Item(5, "ann", "tidy up", "delete_file"),))
    async with in_both(garden, kitchen, clock) as (app, pilot):
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app.return_value is not None)
        assert app.return_value is not None
        told = "\n".join(exit_lines(app.return_value))
        in_order = ("Suspended 'Kitchen'", "kitchen-1", "Suspended 'Garden'", "tidy up", "garden-1")
        places = [told.index(each) for each in in_order]
        assert places == sorted(places)
    assert app.return_value is not None
    assert [report.title for report in app.return_value] == ["Kitchen", "Garden"]
    assert (garden.leaves, kitchen.leaves) == ([""], [""])


async def test_open_rooms_are_noted_shown_first(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        service = app._service
        assert isinstance(service, ManyRooms)
        service.unused = ("kitchen-1",)
        await pilot.press("ctrl+o", "enter")
        await until(pilot, lambda: shown(app) == "Garden")
        service.joined = room("Attic", "attic-1")
        await app.open(ResumeRoom("attic-1"))
        await until(pilot, lambda: shown(app) == "Attic")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app.return_value is not None)
        assert service.kept_open == ["attic-1", "garden-1"]


async def test_rooms_reopen_in_background(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    service = ManyRooms(garden, others=[kitchen])
    also = [ResumeRoom("kitchen-1")]
    app = GenieApp(service, ResumeRoom("garden-1"), "ann", also=also, clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: len(app.rooms) == 2)
        await until(pilot, lambda: all(room.joined for room in app.rooms))
        assert service.openings == [ResumeRoom("garden-1"), ResumeRoom("kitchen-1")]
        assert shown(app) == "Garden"


async def test_room_opened_meanwhile_opens_once(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    class Slow(ManyRooms):
        async def open(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
            if opening == ResumeRoom("garden-1"):
                await found.wait()
            return await super().open(opening, on_event)

    found = asyncio.Event()
    service = Slow(kitchen, others=[garden])
    also = [ResumeRoom("kitchen-1")]
    app = GenieApp(service, ResumeRoom("garden-1"), "ann", also=also, clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        await app.open(ResumeRoom("kitchen-1"))
        await until(pilot, lambda: shown(app) == "Kitchen")
        found.set()
        await until(pilot, lambda: all(room.joined for room in app.rooms))
        await pilot.pause()
        assert service.openings == [ResumeRoom("kitchen-1"), ResumeRoom("garden-1")]
        assert len(app.rooms) == 2


@pytest.mark.parametrize("in_lobby", [True, False])
async def test_unopened_room_message_goes_to_file(
    garden: ScriptedJoinedRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_lobby: bool
) -> None:
    class Failing(ManyRooms):
        async def open(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
            await failed.wait()
            raise GenieError("the port is taken")

    failed = asyncio.Event()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opening = ResumeRoom("garden-1")
    app = GenieApp(Failing(garden), None if in_lobby else opening, "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        if in_lobby:
            await app.open(opening)
        await until(pilot, lambda: isinstance(app.screen, RoomScreen))
        await pilot.press(*"salt", "enter")
        failed.set()
        await until(pilot, lambda: [*tmp_path.iterdir()])
        (file,) = tmp_path.iterdir()
        if in_lobby:
            await until(pilot, lambda: isinstance(app.screen, LobbyScreen))
        else:
            await until(pilot, lambda: file.name in app.failure)
    assert "salt" in file.read_text()


@pytest.mark.parametrize("missing", ["garden-1", "kitchen-1"])
async def test_failed_reopening_blocks_no_other(garden: ScriptedJoinedRoom, missing: str) -> None:
    class OneMissing(ManyRooms):
        async def open(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
            if opening == ResumeRoom(missing):
                raise OtherWay(f"{missing} is hosted by bob", question)
            return await super().open(opening, on_event)

    question = Question("Join it?", "It is hosted.", "join it", RejoinRoom(missing))
    also = [ResumeRoom("kitchen-1")]
    app = GenieApp(OneMissing(garden), ResumeRoom("garden-1"), "ann", also=also, clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        if missing == "garden-1":  # it is on the screen
            await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
            await pilot.press("escape")
        await until(pilot, lambda: f"{missing} is hosted by bob" in notes(pilot))
        await until(pilot, lambda: shown(app) == "Garden" and len(app.rooms) == 1)
        assert app.failure == ""


async def test_no_to_following_is_noted(garden: ScriptedJoinedRoom) -> None:
    follow, noted = FollowRoom("garden-1", "bob", "r2"), list[object]()

    class Continued(ManyRooms):
        async def open(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
            raise OtherWay("bob continues it", question)

        def decline(self, opening: FollowRoom, rooms: Sequence[str]) -> None:
            noted.append((opening, rooms))

    question = Question("Follow?", "bob continues it.", "follow bob", follow, ("r2", "r3"))
    app = GenieApp(Continued(garden), RejoinRoom("garden-1"), "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.failure)
    assert noted == [(follow, ("r2", "r3"))]


async def test_quit_names_each_occupied_room(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    garden.feed(*_bob_is_back(), by="bob")
    async with in_both(garden, kitchen) as (app, pilot):
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        told = "\n".join(str(each.visual) for each in app.screen.query(Static))
        assert "Suspend Garden for everyone?" in told
        await pilot.press("escape")
        await until(pilot, lambda: shown(app) == "Kitchen")
        assert (garden.leaves, kitchen.leaves) == ([], [])


async def test_a_signal_leaves_all(garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        app.quitting.quit_unattended("SIGTERM")
        await until(pilot, lambda: app.return_value is not None)
    assert (garden.leaves, kitchen.leaves) == (["SIGTERM"], ["SIGTERM"])


async def test_keys_answer_no_card_elsewhere(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    """The card was under the keys; typing goes on in the room that is shown."""
    async with in_both(garden, kitchen) as (app, pilot):
        garden.ask("delete_file")
        await until(pilot, lambda: "▲ 1 approval" in status(app))
        await pilot.press("a", "y", "d", "enter")
        assert garden.answers == []
        assert kitchen.said == [("ayd", False)]
        garden_screen = next(each.screen for each in app.rooms if each.title == "Garden")
        assert not garden_screen.query_one(ApprovalCard).has_focus


async def test_answer_from_elsewhere_is_shown(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    message = garden.say_here("@genie how many seeds?")
    async with in_both(garden, kitchen) as (app, pilot):
        garden.feed(AnswerPosted(message, "Forty seeds.", "ann"))
        await pilot.press("ctrl+o", "enter")
        await until(pilot, lambda: shown(app) == "Garden")
        await pilot.pause()
        lines = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "Forty seeds." in lines


def _bob_is_back() -> Iterator[Any]:
    from genie_core.room.protocol.events import MemberJoined

    yield MemberJoined("member", engine=True)


async def test_help_returns_to_its_room(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("escape")
        await until(pilot, lambda: shown(app) == "Kitchen")


class SlowOnboarding(Onboarding):
    """Finds one model once it is told to."""

    def __init__(self) -> None:
        self.found_one = asyncio.Event()

    async def found(self) -> list[ProgramOffer | ModelOffer]:
        await self.found_one.wait()
        return [ModelOffer(ModelChoice("openai:x"), "openai:x", "")]

    async def offers(self) -> list[ProgramOffer | ModelOffer]:
        return []


async def test_models_are_offered_where_asked(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        app._onboarding = onboarding = SlowOnboarding()
        await pilot.press("f10", "ctrl+o", "enter")
        await until(pilot, lambda: shown(app) == "Garden")
        onboarding.found_one.set()
        kitchen_mode = next(each.mode for each in app.rooms if each.title == "Kitchen")
        stack = app._screen_stacks[kitchen_mode]
        await until(pilot, lambda: isinstance(stack[-1], CarefulPickScreen))
        assert shown(app) == "Garden"


async def test_left_room_gets_no_model_offer(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (app, pilot):
        app._onboarding = onboarding = SlowOnboarding()
        await pilot.press("f10", *"/leave", "enter")
        await until(pilot, lambda: isinstance(app.screen, LobbyScreen) and len(app.rooms) == 1)
        onboarding.found_one.set()
        await until(pilot, lambda: not [w for w in app.workers if w.group == "choosing"])
        assert isinstance(app.screen, LobbyScreen)


async def test_long_message_elsewhere_is_cut(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    async with in_both(garden, kitchen) as (_, pilot):
        garden.feed(MessagePosted("m", "@ann " + "x\n" * 5_000), by="bob")
        await until(pilot, lambda: "(ctrl+o)" in notes(pilot))
        assert len(notes(pilot)) < LONGEST + 20


async def test_room_opened_while_away_is_unread(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    service = ManyRooms(garden, others=[kitchen])
    app = GenieApp(service, None, "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        app.post_message(AppBlur())
        await pilot.pause()
        app.app_focus = False
        await app.open(NewRoom("Garden"))
        (opened,) = app.rooms
        await until(pilot, lambda: opened.joined is not None)
        await pilot.pause()  # what the room said before is shown
        garden.say_here("@ann are you there?", "bob")
        await until(pilot, lambda: opened.screen.counts.missed == 1)


async def test_new_room_offers_earlier_namesake(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    earlier = SavedSummary("garden-0", "Garden", 10.0, people=2, messages=7)
    kitchen.saved = "garden-0"
    service = ManyRooms(garden, rooms=(earlier,), others=[kitchen], unused=("garden-1",))
    app = GenieApp(service, NewRoom("Garden"), "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "your room Garden" in welcome(app))
        assert "ctrl+y" in welcome(app)
        assert "7 messages" in welcome(app)
        await pilot.press(*"salt", "ctrl+y")
        await until(pilot, lambda: shown(app) == "Kitchen")
        assert service.openings[-1] == ResumeRoom("garden-0")
        assert garden.leaves == [""]
        assert service.dropped == ["garden-1"]
        await until(pilot, lambda: len(app.rooms) == 1)
        assert isinstance(app.screen, RoomScreen)
        assert app.screen.draft == "salt"


async def test_used_room_offers_no_earlier_one(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    earlier = SavedSummary("garden-0", "Garden", 10.0, people=2, messages=7)
    service = ManyRooms(garden, rooms=(earlier,), others=[kitchen])
    app = GenieApp(service, NewRoom("Garden"), "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "your room Garden" in welcome(app))
        garden.say_here("hello", "ann")
        await until(pilot, lambda: not app.screen.query_one("#welcome").display)
        await pilot.press("ctrl+y")
        await pilot.pause()
        assert (shown(app), garden.leaves) == ("Garden", [])


async def test_occupied_room_is_left_on_confirm(
    garden: ScriptedJoinedRoom, kitchen: ScriptedJoinedRoom
) -> None:
    garden.feed(*_bob_is_back(), by="bob")
    earlier = SavedSummary("garden-0", "Garden", 10.0, people=2, messages=7)
    service = ManyRooms(garden, rooms=(earlier,), others=[kitchen])
    app = GenieApp(service, NewRoom("Garden"), "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "your room Garden" in welcome(app))
        await pilot.press("ctrl+y")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("escape")
        await until(pilot, lambda: shown(app) == "Garden")
        assert garden.leaves == []


async def test_key_edits_without_earlier_room(
    garden: ScriptedJoinedRoom,
) -> None:
    app = GenieApp(ManyRooms(garden), NewRoom("Garden"), "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: shown(app) == "Garden")
        assert "your room" not in welcome(app)
        await pilot.press("ctrl+y")
        assert shown(app) == "Garden"
        assert garden.leaves == []


def welcome(app: GenieApp) -> str:
    return str(app.screen.query_one("#welcome", Static).render())
