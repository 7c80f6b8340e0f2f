import asyncio
import threading
import time
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import (
    DEADLINE,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    too_late,
    until,
)
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, OptionList, Static

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.known_programs import ProgramOffer
from genie_core.assistant.models.discover import ModelOffer
from genie_core.errors import GenieError
from genie_core.room.client.events import OnEvent
from genie_core.room.open.requests import (
    JoinRoom,
    NearbyRoom,
    NewRoom,
    OpenRequest,
    RejoinRoom,
    ResumeRoom,
)
from genie_core.room.open.service import SavedSummary
from genie_tui.app import GenieApp
from genie_tui.onboarding import Onboarding
from genie_tui.screens.help import HelpScreen
from genie_tui.screens.lobby import LATEST, LobbyScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.model_picker import ModelPicker


def rooms() -> list[SavedSummary]:
    now = time.time()
    return [
        SavedSummary("one", "Garden [/red]", now - 7_300, 3, 128),
        SavedSummary("two", "Standup\x1b[2J", now - 90, 1, 4_210, "damaged line 12"),
    ]


HERE = ("192.0.2.7:7654",)
WORDS = "amber-river-olive-stone-cabin-music"
KNOWN = NearbyRoom("r1", "Garden [/red]", "hana", "k1", WORDS, "pin1", HERE, copy="r1@ann")
STRANGE = NearbyRoom("r2", "Standup\x1b[2J", "bob\u202e", "k2", WORDS, "pin2", HERE)


def service_with(*saved: SavedSummary, error: GenieError | None = None) -> ScriptedRoomService:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    return ScriptedRoomService(joined, error, saved)


async def entered(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, RoomScreen))


async def test_a_saved_room_is_resumed_by_enter() -> None:
    service = service_with(*rooms())
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.query_one("#saved", OptionList).has_focus)
        await pilot.press("down", "enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [ResumeRoom("two")])


async def test_early_typing_follows_its_key() -> None:
    app = GenieApp(service_with(*rooms()), None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.query_one("#saved", OptionList).has_focus)
        for key in "nSpring in June":
            app.post_message(Key(key, key))
        title = app.screen.query_one("#new-title", Input)
        await until(pilot, lambda: title.value == "Spring in June")


async def test_crash_and_limits_update_list() -> None:
    service = service_with(*rooms())
    service.past = "2 sessions are past your limit [/red]"
    one, two = rooms()
    service.rooms_then = (two, replace(one, messages=129))
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        past = app.screen.query_one("#past-limits", Static)
        await until(pilot, lambda: past.display)
        assert str(past.render()) == service.past
        listed = app.screen.query_one("#saved", OptionList)
        await until(pilot, lambda: "129 messages" in str(listed.get_option_at_index(1).prompt))
        assert listed.highlighted == 1  # what was chosen before


async def test_saved_rooms_escape_markup() -> None:
    app = GenieApp(service_with(*rooms()), None, "ann")
    async with app.run_test() as pilot:
        listed = app.screen.query_one("#saved", OptionList)
        await until(pilot, lambda: listed.option_count == 2)
        first, second = (str(listed.get_option_at_index(place).prompt) for place in (0, 1))
        assert "Garden [/red]" in first
        for part in ("2 h ago", "3 people", "128 messages"):
            assert part in first
        assert "\x1b" not in second
        assert "damaged line 12" in second


async def test_only_latest_saved_are_listed() -> None:
    many = [SavedSummary(str(n), f"Room {n}", time.time() - n, 1, 1) for n in range(LATEST + 3)]
    app = GenieApp(service_with(*many), None, "ann")
    async with app.run_test() as pilot:
        listed = app.screen.query_one("#saved", OptionList)
        await until(pilot, lambda: listed.option_count == LATEST)
        more = app.screen.query_one("#more-saved", Static)
        assert more.display
        assert "3 more" in str(more.render())


@pytest.mark.parametrize("title", ["Spring", ""])
async def test_a_new_room_takes_its_title(title: str) -> None:
    service = service_with()
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.query_one("#new-title", Input).has_focus)
        await pilot.press(*title, "enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [NewRoom(title)])


async def test_joining_by_keyboard_alone() -> None:
    service = service_with(*rooms())
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        await until(pilot, lambda: lobby.query_one("#saved", OptionList).has_focus)
        await pilot.press("j", *"127.0.0.1:7", "tab", "space", "shift+tab", "enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [JoinRoom("127.0.0.1:7", guest=True)])
        assert lobby.query_one("#guest", Checkbox).value


async def test_an_empty_address_is_explained() -> None:
    app = GenieApp(service_with(), None, "ann")
    async with app.run_test() as pilot:
        app.screen.query_one("#address", Input).focus()
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query_one("#lobby-error").display)
        assert isinstance(app.screen, LobbyScreen)


async def test_failed_opening_keeps_input() -> None:
    service = service_with(*rooms(), error=GenieError("nobody answers at [/red] 127.0.0.1:7"))
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        await until(pilot, lambda: lobby.query_one("#saved", OptionList).has_focus)
        address = lobby.query_one("#address", Input)
        address.focus()
        await pilot.press(*"127.0.0.1:7", "enter")
        error = lobby.query_one("#lobby-error", Static)
        await until(pilot, lambda: error.display)
        await until(pilot, lambda: app.screen is lobby)
        assert "[/red]" in str(error.render())
        assert address.value == "127.0.0.1:7"
        service.error = None
        await until(pilot, lambda: address.has_focus)
        await pilot.press("enter")
        await entered(pilot)
        await until(pilot, lambda: len(service.openings) == 2)


async def test_unreadable_saved_rooms_are_explained() -> None:
    class Broken(ScriptedRoomService):
        def saved(self) -> list[SavedSummary]:
            raise GenieError("the folder can't be read")

    app = GenieApp(Broken(ScriptedJoinedRoom()), None, "ann")
    async with app.run_test() as pilot:
        error = app.screen.query_one("#lobby-error", Static)
        await until(pilot, lambda: "can't be read" in str(error.render()))


async def test_late_results_are_dropped_at_exit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = threading.Event()

    class Slow(ScriptedRoomService):
        def saved(self) -> list[SavedSummary]:
            read.wait(DEADLINE)
            raise GenieError("the folder can't be read")

    class Unhurried(ScriptedRoomService):
        async def open(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
            self.openings.append(opening)
            await opened.wait()
            return self.joined

    def come() -> None:
        read.set()
        slow.announce(KNOWN)

    slow = Slow(ScriptedJoinedRoom())
    too_late(monkeypatch, LobbyScreen, "saved", come)
    app = GenieApp(slow, None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: slow.on_change is not None)
    opened, service = asyncio.Event(), Unhurried(ScriptedJoinedRoom())
    too_late(monkeypatch, RoomScreen, "opening", opened.set)
    app = GenieApp(service, NewRoom("Garden"), "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: service.openings)
    assert service.joined.left


async def test_known_nearby_room_joins_by_enter() -> None:
    service = service_with()
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: service.on_change)
        service.announce(KNOWN, STRANGE)
        listed = app.screen.query_one("#nearby", OptionList)
        await until(pilot, lambda: listed.display and listed.option_count == 2)
        listed.focus()
        listed.highlighted = 0
        await pilot.press("enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [RejoinRoom("r1@ann", HERE, "pin1")])


async def test_a_strange_room_asks_for_its_invite() -> None:
    service = service_with()
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        await until(pilot, lambda: service.on_change)
        service.announce(STRANGE)
        listed = lobby.query_one("#nearby", OptionList)
        await until(pilot, lambda: listed.display)
        listed.focus()
        listed.highlighted = 0
        await pilot.press("enter")
        await until(pilot, lambda: lobby.query_one("#address", Input).has_focus)
        hint = lobby.query_one("#join-hint", Static)
        assert hint.display
        assert "invite" in str(hint.render())
        assert not {"\x1b", "\u202e"} & set(str(hint.render()))
        assert service.openings == []
        await pilot.press(*"genie1-x", "enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [JoinRoom("genie1-x")])


async def test_nearby_rooms_escape_markup() -> None:
    service = service_with()
    service.nearby = (KNOWN, STRANGE)
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        listed = app.screen.query_one("#nearby", OptionList)
        await until(pilot, lambda: listed.option_count == 2)
        known, strange = (str(listed.get_option_at_index(place).prompt) for place in (0, 1))
        for part in ("Garden [/red]", "hana", "known"):
            assert part in known
        assert WORDS not in known
        listed.highlighted = 0

        def prompt(place: int) -> str:
            return str(listed.get_option_at_index(place).prompt)

        await until(pilot, lambda: f"host's key: {WORDS}" in prompt(0))
        assert "host's key" not in prompt(1)
        listed.highlighted = 1
        await until(pilot, lambda: "host's key" in prompt(1))
        assert "host's key" not in prompt(0)
        assert "needs an invite" in strange
        assert not {"\x1b", "\u202e"} & set(strange)


async def test_nearby_list_keeps_selection() -> None:
    service = service_with()
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        listed = lobby.query_one("#nearby", OptionList)
        assert lobby.query_one("#no-nearby").display
        await until(pilot, lambda: service.on_change)
        service.announce(STRANGE)
        listed.highlighted = 0
        service.announce(KNOWN, STRANGE)
        assert listed.highlighted == 1
        service.announce()
        await until(pilot, lambda: not listed.display)
        assert lobby.query_one("#no-nearby").display


async def test_saved_room_rejoins_by_network() -> None:
    now = time.time()
    saved = [
        SavedSummary("r1@ann", "Garden", now - 90, 2, 3, host="hana [/b]"),
        SavedSummary("r3@ann", "Away", now - 900, 2, 3, host="bob"),
    ]
    service = service_with(*saved)
    service.nearby = (KNOWN,)
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        listed = app.screen.query_one("#saved", OptionList)
        await until(pilot, lambda: listed.has_focus)
        await until(pilot, lambda: app.screen.query_one("#nearby").display)
        assert "hosted by hana [/b]" in str(listed.get_option_at_index(0).prompt)
        await pilot.press("enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [RejoinRoom("r1@ann", HERE, "pin1")])


async def test_absent_room_rejoins_old_address() -> None:
    service = service_with(SavedSummary("r3@ann", "Away", time.time(), 2, 3, host="bob"))
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.query_one("#saved", OptionList).has_focus)
        await pilot.press("enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [RejoinRoom("r3@ann")])


async def test_open_room_stops_browsing() -> None:
    service = service_with(error=GenieError("nobody answers"))
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: service.browsing == 1)
        await app.push_screen(HelpScreen())
        await until(pilot, lambda: service.browsing == 0)
        await app.pop_screen()
        await until(pilot, lambda: service.browsing == 1)
    assert service.browsing == 0


async def test_broken_invite_is_pasted_whole() -> None:
    app = GenieApp(service_with(), None, "ann")
    async with app.run_test() as pilot:
        address = app.screen.query_one("#address", Input)
        address.focus()
        await pilot.pause()
        app.screen.post_message(Paste(" genie1-abc\n  def\r\nghi \n"))
        await until(pilot, lambda: address.value == "genie1-abcdefghi")


@pytest.mark.parametrize("width", [40, 60, 80])
async def test_rows_fit_one_line(width: int) -> None:
    app = GenieApp(service_with(*rooms()), None, "ann")
    async with app.run_test(size=(120, 30)) as pilot:
        saved = app.screen.query_one("#saved", OptionList)
        await until(pilot, lambda: saved.option_count)
        await pilot.resize_terminal(width, 30)
        await pilot.pause()
        prompt = str(saved.get_option_at_index(0).prompt).split("\n")[0]
        assert "Garden" in prompt
        assert "2 h ago" in prompt
        assert ("128 messages" in prompt) == (width == 80)
        assert len(prompt) <= saved.content_size.width


@pytest.mark.parametrize("size", [(40, 20), (60, 16)])
async def test_small_terminal_reaches_all(size: tuple[int, int]) -> None:
    service = service_with(*rooms())
    service.nearby = (KNOWN, STRANGE)
    app = GenieApp(service, None, "ann")
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.screen.query_one("#nearby").display)
        address = app.screen.query_one("#address", Input)
        await until(pilot, lambda: app.screen.query_one("#saved", OptionList).has_focus)
        await pilot.press("j")
        await until(pilot, lambda: address.has_focus)
        await until(pilot, lambda: app.screen.region.contains_region(address.region))


async def test_own_room_is_joined_where_hosted() -> None:
    own = rooms()[0]
    taken_over = replace(KNOWN, copy=own.id)
    service = service_with(own)
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.query_one("#saved", OptionList).has_focus)
        await until(pilot, lambda: service.browsing)
        service.announce(taken_over)
        await pilot.press("enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [RejoinRoom(own.id, HERE, KNOWN.pin)])


class Advice:
    """Offers what it is told to, and remembers what became of it."""

    def __init__(self, *offers: ProgramOffer | ModelOffer, error: GenieError | None = None) -> None:
        self.ready = asyncio.Event()
        self.given = list(offers)
        self.error = error
        self.done: list[object] = []

    async def offers(self) -> list[ProgramOffer | ModelOffer]:
        await self.ready.wait()
        return self.given

    async def take(self, choice: ModelChoice | ProgramOffer) -> None:
        if self.error is not None:
            raise self.error
        self.done.append(choice)

    async def found(self) -> list[ProgramOffer | ModelOffer]:
        return await self.offers()

    async def decline(self) -> None:
        self.done.append("never")

    def dismiss(self) -> None:
        self.done.append("not now")


SMALL = ModelChoice("vllm:small", "http://127.0.0.1:1234/v1")
OFFERS = (
    ModelOffer(SMALL, "small [/red] (LM Studio)", "runs on this machine\x1b[2J"),
    ModelOffer(ModelChoice("openai:gpt-5-mini"), "openai:gpt-5-mini", "OPENAI_API_KEY is set"),
)


async def test_offered_models_never_take_focus() -> None:
    advice = Advice(*OFFERS)
    app = GenieApp(service_with(), None, "ann", onboarding=cast("Onboarding", advice))
    async with app.run_test() as pilot:
        title = app.screen.query_one("#new-title", Input)
        await until(pilot, lambda: title.has_focus)
        card = app.screen.query_one(ModelPicker)
        await pilot.press("f7", *"Sp")
        assert not card.display
        advice.ready.set()
        await until(pilot, lambda: card.display)
        await pilot.press(*"ring")
        assert (title.value, title.has_focus) == ("Spring", True)
        listed = card.query_one(OptionList)
        lines = [str(each.prompt) for each in listed.options]
        assert "small [/red] (LM Studio)" in lines[0]
        assert "runs on this machine␛[2J" in lines[0]
        assert [line.split("  ")[0] for line in lines[2:]] == [
            "No model",
            "Don't ask again",
        ]
        await pilot.press("f7")
        await until(pilot, lambda: listed.has_focus)
        await pilot.press("enter")
        await until(pilot, lambda: advice.done == [SMALL])
        await until(pilot, lambda: not card.display and title.has_focus)
        assert title.value == "Spring"


async def test_no_models_found_shows_setup() -> None:
    advice = Advice()
    advice.ready.set()
    app = GenieApp(service_with(), None, "ann", onboarding=cast("Onboarding", advice))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.query_one("#new-title", Input).has_focus)
        await pilot.press("f7")
        await until(pilot, lambda: "genie-tui secrets set ANTHROPIC_API_KEY" in notes(pilot))


async def test_installed_agent_is_offered() -> None:
    codex = ProgramOffer("codex", "Codex", "installed: codex-acp")
    advice = Advice(codex, *OFFERS)
    advice.ready.set()
    app = GenieApp(service_with(), None, "ann", onboarding=cast("Onboarding", advice))
    async with app.run_test() as pilot:
        card = app.screen.query_one(ModelPicker)
        await until(pilot, lambda: card.display)
        assert "installed: codex-acp" in str(card.query_one(OptionList).options[0].prompt)
        await pilot.press("f7")
        await until(pilot, lambda: card.query_one(OptionList).has_focus)
        await pilot.press("enter")
        await until(pilot, lambda: advice.done == [codex])


@pytest.mark.parametrize(
    ("keys", "done"),
    [(("escape",), "not now"), (("end", "enter"), "never"), (("down", "down", "enter"), None)],
)
async def test_offered_models_can_be_put_away(keys: tuple[str, ...], done: str | None) -> None:
    advice = Advice(*OFFERS)
    advice.ready.set()
    app = GenieApp(service_with(), None, "ann", onboarding=cast("Onboarding", advice))
    async with app.run_test() as pilot:
        card = app.screen.query_one(ModelPicker)
        await until(pilot, lambda: card.display)
        await pilot.press("f7")
        await until(pilot, lambda: card.query_one(OptionList).has_focus)
        await pilot.press(*keys)
        await until(pilot, lambda: advice.done == [done or ModelChoice()])
        await until(pilot, lambda: not card.display)


async def test_unwritable_choice_is_explained() -> None:
    advice = Advice(*OFFERS, error=GenieError("can't write [/red]"))
    advice.ready.set()
    app = GenieApp(service_with(), None, "ann", onboarding=cast("Onboarding", advice))
    async with app.run_test() as pilot:
        card = app.screen.query_one(ModelPicker)
        await until(pilot, lambda: card.display)
        await pilot.press("f7")
        await until(pilot, lambda: card.query_one(OptionList).has_focus)
        await pilot.press("enter")
        error = app.screen.query_one("#lobby-error", Static)
        await until(pilot, lambda: error.display)
        assert "can't write [/red]" in str(error.render())


async def test_enter_after_leaving_resumes_room() -> None:
    service = service_with()
    service.joined.saved = "garden"
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        title = lobby.query_one("#new-title", Input)
        await until(pilot, lambda: title.has_focus)
        await pilot.press(*"Garden", "enter")
        await entered(pilot)
        service.rooms = [SavedSummary("garden", "Garden", time.time(), 1, 0), *rooms()]
        await pilot.press(*"/leave", "enter")
        listed = lobby.query_one("#saved", OptionList)
        await until(pilot, lambda: app.screen is lobby and listed.has_focus)
        assert title.value == ""
        await pilot.press("enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [NewRoom("Garden"), ResumeRoom("garden")])


async def test_typed_title_survives_help() -> None:
    app = GenieApp(service_with(), None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        title = lobby.query_one("#new-title", Input)
        await until(pilot, lambda: title.has_focus)
        await pilot.press(*"Gar", "f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is lobby)
        assert title.value == "Gar"


async def test_escape_leads_to_saved_rooms() -> None:
    service = service_with()
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        title = app.screen.query_one("#new-title", Input)
        await until(pilot, lambda: title.has_focus)
        await pilot.press("G", "backspace")
        service.rooms = rooms()
        await pilot.press("f1", "escape")  # it lists them anew
        listed = app.screen.query_one("#saved", OptionList)
        await until(pilot, lambda: listed.option_count == 2)
        await pilot.press("escape", "enter")
        await entered(pilot)
        await until(pilot, lambda: service.openings == [ResumeRoom("one")])


async def test_arrows_walk_fields() -> None:
    service = service_with(*rooms())
    service.nearby = (KNOWN,)
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        saved, nearby = (lobby.query_one(each, OptionList) for each in ("#saved", "#nearby"))
        await until(pilot, lambda: saved.has_focus and nearby.display)
        await pilot.press("down", "down")
        assert nearby.has_focus
        assert nearby.highlighted == 0
        await pilot.press("down")
        assert lobby.query_one("#new-title").has_focus
        await pilot.press("down")
        assert lobby.query_one("#address").has_focus
        await pilot.press("up", "up", "up")
        assert saved.has_focus
        assert saved.highlighted == 1


async def test_open_room_is_listed_with_unread() -> None:
    service = service_with()
    service.joined.saved = "garden"
    service.rooms = [
        SavedSummary("garden", "Garden", time.time(), 0, 0),
        SavedSummary("two", "Standup", time.time(), 2, 7, unread=3),
    ]
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        listed = lobby.query_one("#saved", OptionList)
        await until(pilot, lambda: listed.has_focus)
        assert "3 new" in str(listed.get_option_at_index(1).prompt)
        await app.open(NewRoom("Garden"))
        await entered(pilot)
        await until(pilot, lambda: cast("RoomScreen", app.screen).joined is not None)
        await pilot.press("ctrl+o", *"lob", "enter")
        await until(pilot, lambda: app.screen is lobby)
        service.joined.say_here("hello @ann", "bob")
        await until(pilot, lambda: "1 new, 1 for you" in str(listed.get_option_at_index(0).prompt))
        line = str(listed.get_option_at_index(0).prompt)
        assert "open" in line
        assert "1 message" in line
        assert "1 new, 1 for you" in str(lobby.query_one("#open-rooms", Static).render())
        nearby = lobby.query_one("#nearby", OptionList)
        await until(pilot, lambda: service.on_change)
        service.announce(replace(KNOWN, copy="garden"), STRANGE)  # the first one is open here
        await until(pilot, lambda: [each.id for each in nearby.options] == [STRANGE.id])
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, RoomScreen))


async def test_unsearched_network_says_so() -> None:
    service = service_with()
    service.stays_local = True
    app = GenieApp(service, None, "ann")
    async with app.run_test() as pilot:
        none = app.screen.query_one("#no-nearby", Static)
        await until(pilot, lambda: str(none.render()) == "Not searched: the setting 'local' is on.")
