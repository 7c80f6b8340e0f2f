"""The lobby: resume a saved room, open a new one, or join one."""

import asyncio
import time
from collections.abc import Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Checkbox, Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from genie_core.errors import GenieError
from genie_tui.bridge import Doorman, SavedSummary
from genie_tui.keymap import Scope, bindings
from genie_tui.moments import ago
from genie_tui.opening import JoinRoom, NewRoom, Opening, ResumeRoom
from genie_tui.text import visible_line
from genie_tui.widgets.too_small import TooSmall

TITLE: Final = 30
"""Columns for a room's title in the list."""


class LobbyScreen(Screen[None]):
    """Everything in it works by keyboard; a failed attempt leaves what was typed."""

    CSS_PATH = "lobby.tcss"
    AUTO_FOCUS = "#new-title"
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.LOBBY)

    class Chosen(Message):
        """The person wants into a room."""

        def __init__(self, opening: Opening) -> None:
            super().__init__()
            self.opening = opening

    def __init__(self, doorman: Doorman, person: str) -> None:
        super().__init__()
        self._doorman = doorman
        self._person = person
        self._greeted = False

    def compose(self) -> ComposeResult:
        """One column in the middle."""
        yield TooSmall()
        with Vertical(id="lobby"):
            yield Static(_title(self._person), id="lobby-title", markup=False)
            yield Static(id="lobby-error", markup=False)
            yield Static("Saved rooms", classes="lobby-label", markup=False)
            yield OptionList(id="saved", markup=False, compact=True)
            yield Static("none yet", id="no-saved", markup=False)
            yield Static("New room", classes="lobby-label", markup=False)
            yield Input(placeholder="what it is about", id="new-title", max_length=80)
            yield Static("Join a room", classes="lobby-label", markup=False)
            yield Input(placeholder="HOST:PORT, as on the host's screen", id="address")
            yield Checkbox("as a guest, without an engine of my own", id="guest", compact=True)
        yield Footer(show_command_palette=False, compact=True)

    def on_screen_resume(self) -> None:
        """Look for saved rooms, at first and after a room could not be entered.

        The disk is read in a thread, so that the first paint does not wait for it.
        """
        self.run_worker(self._list_saved(), group="saved", exclusive=True)

    def show_error(self, text: str) -> None:
        """Say why a room could not be entered. It stays until the next attempt."""
        error = self.query_one("#lobby-error", Static)
        error.update(Content(visible_line(text)))
        error.display = bool(text)

    async def _list_saved(self) -> None:
        try:
            rooms = await asyncio.to_thread(self._doorman.saved)
        except GenieError as error:
            self.show_error(str(error))
        else:
            self._show_saved(rooms)

    def _show_saved(self, rooms: Sequence[SavedSummary]) -> None:
        listed = self.query_one("#saved", OptionList)
        listed.clear_options()
        now = time.time()
        listed.add_options([Option(_summary(room, now), id=room.id) for room in rooms])
        self.set_class(bool(rooms), "-has-saved")
        title = self.query_one("#new-title", Input)
        untouched = self.focused in (None, title) and not title.value
        if rooms and untouched and not self._greeted:
            listed.highlighted = 0
            self.call_after_refresh(listed.focus)  # it can't be focused while it is hidden
        self._greeted = True

    @on(OptionList.OptionSelected, "#saved")
    def _resume(self, event: OptionList.OptionSelected) -> None:
        if event.option_id is not None:
            self._choose(ResumeRoom(event.option_id))

    @on(Input.Submitted, "#new-title")
    def _new(self, event: Input.Submitted) -> None:
        self._choose(NewRoom(event.value.strip()))

    @on(Input.Submitted, "#address")
    def _join(self, event: Input.Submitted) -> None:
        address = event.value.strip()
        if not address:
            self.show_error("Type the address that the host's screen shows, as in 127.0.0.1:7654.")
            return
        self._choose(JoinRoom(address, guest=self.query_one("#guest", Checkbox).value))

    def _choose(self, opening: Opening) -> None:
        self.show_error("")
        self.post_message(self.Chosen(opening))

    def action_new_room(self) -> None:
        """Go to the title of a new room."""
        self.query_one("#new-title", Input).focus()

    def action_join_room(self) -> None:
        """Go to the address."""
        self.query_one("#address", Input).focus()

    def action_saved_rooms(self) -> None:
        """Go to the list."""
        self.query_one("#saved", OptionList).focus()


def _title(person: str) -> Content:
    return Content.assemble(
        ("✦ ", "$text-accent"),
        ("genie", "bold"),
        ("   rooms for people and their agents\n", "$foreground-muted"),
        ("  you are ", "$foreground-muted"),
        (visible_line(person), "bold $text-primary"),
    )


def _summary(room: SavedSummary, now: float) -> Content:
    title = Content(visible_line(room.title)).truncate(TITLE, ellipsis=True, pad=True)
    people = "1 person" if room.people == 1 else f"{room.people} people"
    note = f"\n  {visible_line(room.note)}" if room.note else ""
    messages = "1 message " if room.messages == 1 else f"{room.messages:,} messages"
    facts = f"  {ago(now - room.last_activity):>10}  {people:>9}  {messages:>15}"
    return Content.assemble(title, (facts, "$foreground-muted"), (note, "$text-warning"))
