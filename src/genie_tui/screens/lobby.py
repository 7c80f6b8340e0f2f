"""The lobby: resume a saved room, join one on the network or by invite, or open a new one."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import WorkType

from genie_core.assistant.known_programs import ProgramOffer
from genie_core.errors import GenieError
from genie_core.room.open.requests import (
    FollowRoom,
    JoinRoom,
    NearbyRoom,
    NewRoom,
    OpenRequest,
    RejoinRoom,
    ResumeRoom,
)
from genie_core.room.open.service import RoomService, SavedSummary
from genie_core.text.format import ago, counted
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.onboarding import HOW_TO_GET_ONE, NONE_FOUND, Onboarding
from genie_tui.widgets.key_footer import KeyFooter
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.model_picker import ModelPicker
from genie_tui.widgets.status_bar import Counts
from genie_tui.widgets.tick import Tick
from genie_tui.widgets.too_small import TooSmall

TITLE: Final = 28
"""Columns for a room's title in the list."""

LATEST: Final = 8
"""How many saved rooms are listed; the sessions screen has the others."""

HOST: Final = 21
"""Columns for a host's name."""

WIDE: Final = TITLE + HOST + 19
"""Columns from which a room nearby has its state beside its name."""

WIDEST: Final = 76
ASIDE: Final = 8
"""Columns of the lobby at most, and those beside the rows of a list."""


NONE_NEARBY: Final = "None found. A host's invite works all the same."
NOT_SOUGHT: Final = "Not searched: the setting 'local' is on."


@dataclass(frozen=True, slots=True)
class RoomHere:
    """An open room; `saved` is the id of its saved copy, `counts` its waiting items."""

    title: str
    saved: str = ""
    people: int = 0
    messages: int = 0
    counts: Counts = field(default_factory=Counts)


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
        open_rooms: Callable[[], Sequence[RoomHere]] = tuple,
    ) -> None:
        super().__init__()
        self._open_rooms = open_rooms
        self._service = service
        self._onboarding = onboarding
        self._person = person
        self._greeted = False
        self._chose = False
        self._here: dict[str, RoomHere] = {}
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
            yield Static(id="no-nearby", markup=False)
            yield Static("New room", classes="lobby-label", markup=False)
            yield LineInput(placeholder="Room name (optional)", id="new-title", max_length=80)
            yield Static("Join a room", classes="lobby-label", markup=False)
            yield WayInput(placeholder="Invite from the host: genie1-…, or HOST:PORT", id="address")
            yield Static(id="join-hint", markup=False)
            yield Tick("Join as a guest: the host's agent answers me", id="guest", compact=True)
        yield KeyFooter("app.rooms")  # a line above tells of open rooms

    def on_screen_resume(self) -> None:
        """Look for rooms, at first and after one could not be opened.

        A thread reads the disk, and the network comes later still, so that the first paint waits
        for neither.
        """
        self.show_open()
        none = NOT_SOUGHT if self._service.stays_local else NONE_NEARBY
        self.query_one("#no-nearby", Static).update(none)
        self.run_worker(self._list_saved(), group="saved", exclusive=True)
        self.call_after_refresh(self._start_looking)

    def begin_anew(self) -> None:
        """Return from a room: forget its options, and choose the latest saved one."""
        if self._chose:
            self._chose = self._greeted = False
            for typed in self.query(Input):
                typed.value = ""
            self.query_one("#saved", OptionList).highlighted = None
            self.set_focus(None)

    def show_open(self) -> None:
        """Show which rooms are open, their waiting items, and the key that leads to them."""
        rooms = self._open_rooms()
        here = self.query_one("#open-rooms", Static)
        named = ", ".join(_named(room) for room in rooms if room.title)
        key = keymap_of(self).text(Scope.APP, "rooms")
        here.update(Content.assemble((key, "bold $primary"), f"  back to {named or 'the room'}"))
        here.display = bool(rooms)
        self._here = {room.saved: room for room in rooms if room.saved}
        listed = self.query_one("#saved", OptionList)
        for id_ in self._here.keys() & self._saved.keys():
            listed.replace_option_prompt(id_, self._line(self._saved[id_]))
        self._list_nearby()

    def on_screen_suspend(self) -> None:
        """Stop browsing the network while another screen is shown."""
        self.workers.cancel_group(self, "nearby")

    def _start_looking(self) -> None:
        if self.is_current:
            looking: WorkType[None] = self._look_around  # a coroutine might never be awaited
            self.run_worker(looking, group="nearby", exclusive=True)
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
        listed.add_options([Option(self._line(room), id=room.id) for room in latest])
        if before is not None and before.id in self._saved:
            listed.highlighted = listed.get_option_index(before.id)
        self._show_more(len(rooms) - len(latest))
        self.set_class(bool(rooms), "-has-saved")
        if self._is_untouched and not self._greeted:
            listed.highlighted = 0 if rooms else None
            # The list can't be focused while it is hidden.
            self.call_after_refresh(self._greet, listed if rooms else self._new_title)
        self._greeted = True

    def _greet(self, field: Widget) -> None:
        """Begin at a field, unless the person began elsewhere meanwhile."""
        if self._is_untouched:
            field.focus()

    @property
    def _is_untouched(self) -> bool:
        return self.focused in (None, self._new_title) and not self._new_title.value

    @property
    def _new_title(self) -> Input:
        return self.query_one("#new-title", Input)

    def _line(self, room: SavedSummary) -> Content:
        return _summary(room, time.time(), self._columns, self._here.get(room.id))

    def on_descendant_focus(self) -> None:
        """Highlight a row of a list that is entered, so that enter opens it."""
        if isinstance(self.focused, OptionList) and self.focused.highlighted is None:
            self.focused.action_first()

    def on_key(self, event: events.Key) -> None:
        """Move between the fields by arrows that no list takes."""
        step = {"up": -1, "down": 1}.get(keymap_of(self).meaning(Scope.LOBBY, event.key))
        at = self.focused
        if step is None or (isinstance(at, OptionList) and not _is_at_end(at, step)):
            return
        event.stop()
        event.prevent_default()
        to = self.focus_next() if step > 0 else self.focus_previous()
        if isinstance(to, OptionList):
            to.action_first() if step > 0 else to.action_last()

    @property
    def _columns(self) -> int:
        """The columns for a row of a list."""
        return min(self.size.width, WIDEST) - ASIDE

    def on_resize(self) -> None:
        """Lay out the rows for the new width."""
        saved, nearby = self.query_one("#saved", OptionList), self.query_one("#nearby", OptionList)
        for id_, room in self._saved.items():
            saved.replace_option_prompt(id_, self._line(room))
        for option in nearby.options:
            self._draw_nearby(nearby, option)

    def _show_more(self, count: int) -> None:
        """Say where to find the saved rooms that are not listed."""
        more = self.query_one("#more-saved", Static)
        key = keymap_of(self).text(Scope.LOBBY, "all-sessions")
        more.update(Content.assemble((f"{count:,} more: ", ""), (key, "bold $primary")))
        more.display = count > 0

    def _show_nearby(self, rooms: Sequence[NearbyRoom]) -> None:
        if not self.is_running:  # the list is gone already
            return
        self._nearby = {room.id: room for room in rooms}
        self._list_nearby()

    def _list_nearby(self) -> None:
        """List the rooms on the network that are not open here."""
        listed = self.query_one("#nearby", OptionList)
        before = listed.highlighted_option
        shown = {id_: room for id_, room in self._nearby.items() if room.copy not in self._here}
        listed.clear_options()
        listed.add_options(
            [Option(_announced(room, self._columns), id=id_) for id_, room in shown.items()]
        )
        if before is not None and before.id in shown:
            listed.highlighted = listed.get_option_index(before.id)
        self.set_class(bool(shown), "-has-nearby")

    @on(OptionList.OptionHighlighted, "#nearby")
    def _show_key(self, event: OptionList.OptionHighlighted) -> None:
        """Show the host's key in the highlighted row alone."""
        for option in event.option_list.options:
            self._draw_nearby(event.option_list, option)

    def _draw_nearby(self, listed: OptionList, option: Option) -> None:
        room = self._nearby.get(option.id or "")
        if room is not None and option.id is not None:
            selected = listed.highlighted_option is option
            listed.replace_option_prompt(
                option.id, _announced(room, self._columns, selected=selected)
            )

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
        elif room.continued:
            self._choose(FollowRoom(room.continued, "", room.room, room.pin, room.addresses))
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
        self._chose = True
        self.show_error("")
        self._hint("")
        self.post_message(self.Chosen(opening))

    def action_new_room(self) -> None:
        self.query_one("#new-title", Input).focus()

    def action_join_room(self) -> None:
        self.query_one("#address", Input).focus()

    def action_offers(self) -> None:
        """Go to the offers; say how to get a model if none is found."""
        picker = self.query_one(ModelPicker)
        if picker.display:
            picker.focus_list()
        elif self._onboarding is not None:
            self.run_worker(self._explain_none(self._onboarding), group="offers", exclusive=True)

    async def _explain_none(self, onboarding: Onboarding) -> None:
        if await onboarding.found():
            key = keymap_of(self).text(Scope.APP, "settings")
            self.notify(
                f"Nothing is offered here now. The settings ({key}) have agents and models."
            )
        else:
            self.notify(f"{NONE_FOUND}\n{HOW_TO_GET_ONE}", timeout=12)

    def action_saved_rooms(self) -> None:
        self.query_one("#saved", OptionList).focus()


def _is_at_end(listed: OptionList, step: int) -> bool:
    """Whether a list has no row after the highlighted one in a direction."""
    end = 0 if step < 0 else listed.option_count - 1
    return listed.highlighted in (None, end)


def _named(room: RoomHere) -> str:
    counts = f" ({room.counts})" if str(room.counts) else ""
    return f"{visible_line(room.title)}{counts}"


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


def _announced(room: NearbyRoom, width: int, *, selected: bool = False) -> Content:
    """Return a room's title, host and standing; of a selected one also the host's key in words."""
    title = _cut(room.title, min(TITLE, width))
    host = _cut(room.host, min(HOST, max(width - TITLE - 2, 0)))
    status = ("needs an invite", "$text-accent")
    if room.known:
        status = ("known", "$text-success")
    elif room.continues:
        status = (f"continues “{visible_line(room.continues)}”", "$text-accent")
    elif room.claimed:
        status = (f"claims to be “{visible_line(room.claimed)}”", "$text-error")
    gap = "  " if width >= WIDE else "\n  "
    words = (f"\n  host's key: {room.words}" if selected else "", "$foreground-muted")
    return Content.assemble(title, "  ", host.stylize("$foreground-muted"), gap, status, words)


def _summary(room: SavedSummary, now: float, width: int, here: RoomHere | None) -> Content:
    """Return a room's title and, as far as there is room, its last use and its content."""
    note = f"\n  {visible_line(room.note)}" if room.note else ""
    host = f"\n  hosted by {visible_line(room.host)}" if room.host is not None else ""
    if here is None:
        when, style = ago(now - room.last_activity), "$foreground-muted"
        people, messages = room.people, room.messages
        new = f"{room.unread:,} new" if room.unread else ""
    else:
        when, style = "open", "$text-success"
        people, messages, new = here.people, here.messages, str(here.counts)
    line = _cut(room.title, max(min(TITLE, width - 12), 12))
    facts = (
        (when, 10, style),
        (counted(people, "person", "people"), 9, "$foreground-muted"),
        (counted(messages, "message"), 15, "$foreground-muted"),
    )
    for fact, columns, colour in facts:
        if line.cell_length + 2 + columns > width:
            break
        line = Content.assemble(line, (f"  {fact:<{columns}}", colour))
    return Content.assemble(
        line,
        (host, "$foreground-muted"),
        (f"\n  {new}" if new else "", "$text-accent"),
        (note, "$text-accent"),
    )


def _cut(text: str, columns: int) -> Content:
    return Content(visible_line(text)).truncate(columns, ellipsis=True, pad=True)
