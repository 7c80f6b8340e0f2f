"""The lobby: resume a saved room, join one on the network or by invite, or open a new one."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from genie_core.assistant.known_programs import ProgramOffer
from genie_core.errors import GenieError
from genie_core.room.open.requests import (
    JoinRoom,
    NearbyRoom,
    NewRoom,
    OpenRequest,
    RejoinRoom,
    ResumeRoom,
)
from genie_core.room.open.service import RoomService, SavedSummary
from genie_core.text.format import ago
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.onboarding import Onboarding
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.model_picker import ModelPicker
from genie_tui.widgets.tick import Tick
from genie_tui.widgets.too_small import TooSmall

TITLE: Final = 28
"""Columns for a room's title in the list."""

LATEST: Final = 8
"""How many saved rooms are listed; the sessions screen has the others."""

HOST: Final = 20
"""Columns for a host's name."""


class WayInput(LineInput):
    """Takes an invite or an address; a pasted invite may be broken into lines."""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace("".join(event.text.split()), *sorted(self.selection))


class LobbyScreen(Screen[None]):
    """Opens rooms by keyboard; a failed attempt keeps the typed text."""

    CSS_PATH = "lobby.tcss"
    AUTO_FOCUS = "#new-title"
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.LOBBY)

    class Chosen(Message):
        """The person asks to join a room."""

        def __init__(self, opening: OpenRequest) -> None:
            super().__init__()
            self.opening = opening

    def __init__(
        self,
        service: RoomService,
        person: str,
        onboarding: Onboarding | None = None,
        open_rooms: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        super().__init__()
        self._open_rooms = open_rooms
        self._service = service
        self._onboarding = onboarding
        self._person = person
        self._greeted = False
        self._saved: dict[str, SavedSummary] = {}
        self._nearby: dict[str, NearbyRoom] = {}

    def compose(self) -> ComposeResult:
        yield TooSmall()
        with VerticalScroll(id="lobby", can_focus=False):
            yield Static(_title(self._person), id="lobby-title", markup=False)
            yield Static(id="open-rooms", markup=False)
            yield Static(id="lobby-error", markup=False)
            yield ModelPicker()
            yield Static("Saved rooms", classes="lobby-label", markup=False)
            yield OptionList(id="saved", markup=False, compact=True)
            yield Static(
                "None yet: name a new room below, or paste an invite.", id="no-saved", markup=False
            )
            yield Static(id="more-saved", markup=False)
            yield Static(id="past-limits", markup=False)
            yield Static("On this network", classes="lobby-label", markup=False)
            yield OptionList(id="nearby", markup=False, compact=True)
            yield Static(
                "None found. A host's invite works all the same.", id="no-nearby", markup=False
            )
            yield Static("New room", classes="lobby-label", markup=False)
            yield LineInput(placeholder="Room name (optional)", id="new-title", max_length=80)
            yield Static("Join a room", classes="lobby-label", markup=False)
            yield WayInput(placeholder="Invite from the host: genie1-…, or HOST:PORT", id="address")
            yield Static(id="join-hint", markup=False)
            yield Tick("Join as a guest: the host's agent answers me", id="guest", compact=True)
        yield Footer(show_command_palette=False, compact=True)

    def on_screen_resume(self) -> None:
        """Look for rooms, at first and after one could not be opened.

        A thread reads the disk, and the network comes later still, so that the first paint waits
        for neither.
        """
        self._show_open(self._open_rooms())
        self.run_worker(self._list_saved(), group="saved", exclusive=True)
        self.call_after_refresh(self._start_looking)

    def _show_open(self, titles: Sequence[str]) -> None:
        """Show which rooms are open, and the key that leads to them."""
        here = self.query_one("#open-rooms", Static)
        named = ", ".join(visible_line(title) for title in titles if title)
        key = keymap_of(self).text(Scope.APP, "rooms")
        here.update(Content.assemble((key, "bold $primary"), f"  back to {named or 'the room'}"))
        here.display = bool(titles)

    def on_screen_suspend(self) -> None:
        """Stop browsing the network while another screen is shown."""
        self.workers.cancel_group(self, "nearby")

    def _start_looking(self) -> None:
        if self.is_current:
            self.run_worker(self._look_around(), group="nearby", exclusive=True)
            if self._onboarding is not None:
                self.run_worker(self._seek(self._onboarding), group="onboarding", exclusive=True)

    async def _look_around(self) -> None:
        async with self._service.browse(self._show_nearby):
            await asyncio.Event().wait()

    async def _seek(self, onboarding: Onboarding) -> None:
        offers = await onboarding.offers()
        if not self.is_running:  # the card is gone already
            return
        self.query_one(ModelPicker).show(offers)
        if offers and self.focused is not None:
            self.call_after_refresh(self.focused.scroll_visible, animate=False)

    @on(ModelPicker.Picked)
    async def _take(self, message: ModelPicker.Picked) -> None:
        said = "The offline helper will answer."
        if isinstance(message.choice, ProgramOffer):
            said = f"{message.choice.label} answers in the next room when you address it."
        elif message.choice.name:
            said = f"{message.choice.name} answers in the next room."
        if self._onboarding is not None:
            await self._put_away(self._onboarding.take(message.choice), said)

    @on(ModelPicker.Dismissed)
    async def _dismiss(self, message: ModelPicker.Dismissed) -> None:
        if self._onboarding is None:
            return
        if message.for_ever:
            await self._put_away(self._onboarding.decline(), "You won't be asked again.")
        else:
            self._onboarding.dismiss()
            self._end_offers()

    async def _put_away(self, doing: Awaitable[None], said: str) -> None:
        try:
            await doing
        except GenieError as error:
            self.show_error(str(error))
        else:
            key = keymap_of(self).text(Scope.APP, "settings")
            self.notify(f"{said} You can change it in the settings ({key}).")
        self._end_offers()

    def _end_offers(self) -> None:
        self.query_one(ModelPicker).show(())
        self.query_one("#new-title", Input).focus()

    def show_error(self, text: str) -> None:
        """Show why a room could not be opened, until the next attempt."""
        if not self.is_running:  # the screen is gone
            return
        error = self.query_one("#lobby-error", Static)
        error.update(Content(visible_line(text)))
        error.display = bool(text)

    async def _list_saved(self) -> None:
        """List the saved rooms from their metadata, and again once that is up to date."""
        try:
            rooms = await asyncio.to_thread(self._service.saved)
            self._show_saved(rooms)
            past = await asyncio.to_thread(self._service.catch_up)
            self._show_past(past)
            fresh = await asyncio.to_thread(self._service.saved)
        except GenieError as error:
            self.show_error(str(error))
        else:
            if fresh != rooms:
                self._show_saved(fresh)

    def _show_past(self, line: str) -> None:
        """Show which rooms exceed this person's limits."""
        if not self.is_running:
            return
        past = self.query_one("#past-limits", Static)
        past.update(Content(visible_line(line)))
        past.display = bool(line)

    def _show_saved(self, rooms: Sequence[SavedSummary]) -> None:
        if not self.is_running:  # the list is gone already
            return
        listed = self.query_one("#saved", OptionList)
        before = listed.highlighted_option
        listed.clear_options()
        latest = rooms[:LATEST]
        self._saved = {room.id: room for room in latest}
        now = time.time()
        listed.add_options([Option(_summary(room, now), id=room.id) for room in latest])
        if before is not None and before.id in self._saved:
            listed.highlighted = listed.get_option_index(before.id)
        self._show_more(len(rooms) - len(latest))
        self.set_class(bool(rooms), "-has-saved")
        title = self.query_one("#new-title", Input)
        untouched = self.focused in (None, title) and not title.value
        if rooms and untouched and not self._greeted:
            listed.highlighted = 0
            self.call_after_refresh(listed.focus)  # it can't be focused while it is hidden
        self._greeted = True

    def _show_more(self, count: int) -> None:
        """Say where to find the saved rooms that are not listed."""
        more = self.query_one("#more-saved", Static)
        key = keymap_of(self).text(Scope.LOBBY, "all-sessions")
        more.update(Content.assemble((f"{count:,} more: ", ""), (key, "bold $primary")))
        more.display = count > 0

    def _show_nearby(self, rooms: Sequence[NearbyRoom]) -> None:
        if not self.is_running:  # the list is gone already
            return
        listed = self.query_one("#nearby", OptionList)
        before = listed.highlighted_option
        self._nearby = {room.id: room for room in rooms}
        listed.clear_options()
        listed.add_options([Option(_announced(room), id=id_) for id_, room in self._nearby.items()])
        if before is not None and before.id in self._nearby:
            listed.highlighted = listed.get_option_index(before.id)
        self.set_class(bool(rooms), "-has-nearby")

    @on(OptionList.OptionSelected, "#saved")
    def _open_saved(self, event: OptionList.OptionSelected) -> None:
        room = self._saved.get(event.option_id or "")
        if room is None:
            return
        is_up = any(each.copy == room.id for each in self._nearby.values())
        mine = room.host is None and not is_up  # another member may host one's own by now
        self._choose(ResumeRoom(room.id) if mine else self._way_back(room.id))

    def _way_back(self, copy: str) -> RejoinRoom:
        """Return how to reopen a room with a copy, by its current announcement."""
        here = next((room for room in self._nearby.values() if room.copy == copy), None)
        return RejoinRoom(copy) if here is None else _rejoining(here)

    @on(OptionList.OptionSelected, "#nearby")
    def _join_nearby(self, event: OptionList.OptionSelected) -> None:
        room = self._nearby.get(event.option_id or "")
        if room is None:
            return
        if room.known:
            self._choose(_rejoining(room))
        else:
            self._ask_for_invite(room)

    def _ask_for_invite(self, room: NearbyRoom) -> None:
        self._hint(f"Ask {room.host} for an invite to “{room.title}”, and paste it here.")
        self.query_one("#address", WayInput).focus()

    def _hint(self, text: str) -> None:
        hint = self.query_one("#join-hint", Static)
        hint.update(Content(visible_line(text)))
        hint.display = bool(text)

    @on(Input.Submitted, "#new-title")
    def _new(self, event: Input.Submitted) -> None:
        self._choose(NewRoom(event.value.strip()))

    @on(Input.Submitted, "#address")
    def _join(self, event: Input.Submitted) -> None:
        address = event.value.strip()
        if not address:
            self.show_error("Paste the invite that the host gave you.")
            return
        self._choose(JoinRoom(address, guest=self.query_one("#guest", Tick).value))

    def _choose(self, opening: OpenRequest) -> None:
        self.show_error("")
        self._hint("")
        self.post_message(self.Chosen(opening))

    def action_new_room(self) -> None:
        self.query_one("#new-title", Input).focus()

    def action_join_room(self) -> None:
        self.query_one("#address", Input).focus()

    def action_offers(self) -> None:
        self.query_one(ModelPicker).focus_list()

    def action_saved_rooms(self) -> None:
        self.query_one("#saved", OptionList).focus()


def _title(person: str) -> Content:
    return Content.assemble(
        ("✦ ", "$text-accent"),
        ("genie", "bold"),
        ("   group chat with agents\n", "$foreground-muted"),
        ("  you are ", "$foreground-muted"),
        (visible_line(person), "bold $text-primary"),
    )


def _rejoining(room: NearbyRoom) -> RejoinRoom:
    return RejoinRoom(room.copy, room.addresses, room.pin)


def _announced(room: NearbyRoom) -> Content:
    title = Content(visible_line(room.title)).truncate(TITLE, ellipsis=True, pad=True)
    host = Content(visible_line(room.host)).truncate(HOST, ellipsis=True, pad=True)
    status = ("needs an invite", "$text-accent")
    if room.known:
        status = ("known", "$text-success")
    elif room.claimed:
        status = (f"claims to be “{visible_line(room.claimed)}”", "$text-error")
    words = (f"\n  {room.words}", "$foreground-muted")
    return Content.assemble(title, "  ", host.stylize("$foreground-muted"), "  ", status, words)


def _summary(room: SavedSummary, now: float) -> Content:
    title = Content(visible_line(room.title)).truncate(TITLE, ellipsis=True, pad=True)
    people = "1 person" if room.people == 1 else f"{room.people} people"
    note = f"\n  {visible_line(room.note)}" if room.note else ""
    host = f"\n  hosted by {visible_line(room.host)}" if room.host is not None else ""
    messages = "1 message " if room.messages == 1 else f"{room.messages:,} messages"
    facts = f"  {ago(now - room.last_activity):>10}  {people:>9}  {messages:>15}"
    return Content.assemble(
        title, (facts, "$foreground-muted"), (host, "$foreground-muted"), (note, "$text-warning")
    )
