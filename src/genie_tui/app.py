"""The application: its screens and their order, and errors that end it."""

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.console import RenderableType
from textual import on, work
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.command import Provider
from textual.content import Content
from textual.css.query import NoMatches
from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.worker import WorkerFailed

from genie_core.errors import GenieError
from genie_core.room.client.model import ConnectionState, EngineState
from genie_core.room.open.requests import (
    FollowRoom,
    JoinRoom,
    OpenRequest,
    Question,
    RejoinRoom,
    ReplayRoom,
    ResumeRoom,
    after_handover,
    after_parting,
    at_addresses,
)
from genie_core.room.open.service import RoomService
from genie_core.runtime.grace import QUICK_GRACE
from genie_core.sessions.service import SessionService
from genie_core.settings.edit import add_rule
from genie_core.settings.load import SettingsError
from genie_core.settings.locations import short_path
from genie_core.settings.model import Settings
from genie_core.storage.atomic import reason
from genie_core.text.safe import visible, visible_line
from genie_tui.alerts import LONGEST, Alerts, AlertSettings, title_of
from genie_tui.clipboard import copy_in_tmux
from genie_tui.commands.completion import prompt_help
from genie_tui.commands.context import Reopening
from genie_tui.commands.keymap import KeyedApp, Keymap
from genie_tui.commands.keys import Action, Scope, bindings_of
from genie_tui.commands.registry import (
    AppCommands,
    all_actions,
    run_effect,
    runnable,
    slash_commands,
)
from genie_tui.exit_report import ExitReport, UnsavedInput, UnsentText
from genie_tui.external_editor import EditorFailed, ExternalEditor
from genie_tui.notifications import Bell
from genie_tui.onboarding import HOW_TO_GET_ONE, NONE_FOUND, Onboarding
from genie_tui.quit import NotWritten, QuitFlow, default_path, leaving_screen, write_unsaved
from genie_tui.rooms import LOBBY, OpenRoom, Rooms
from genie_tui.screen_size import HEIGHTS, WIDTHS
from genie_tui.screens.dialogs.ask_line import AskLineScreen
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.screens.dialogs.grants import GrantsScreen
from genie_tui.screens.dialogs.leaving import LeavingScreen
from genie_tui.screens.dialogs.pick import CarefulPickScreen, PickScreen, Row
from genie_tui.screens.dialogs.theme import ThemeScreen
from genie_tui.screens.help import HelpScreen, nodes_at
from genie_tui.screens.palette import Palette
from genie_tui.screens.room import RoomScreen
from genie_tui.screens.settings import SettingsForm, SettingsScreen
from genie_tui.strips import line_filter
from genie_tui.stylesheet import KeepingStylesheet
from genie_tui.terminal import HangupDriver
from genie_tui.terminal_diff import Changes, Frame
from genie_tui.themes import DARK, LIGHT, author_colours, selection_colours
from genie_tui.widgets.status_bar import Counts

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom
    from genie_tui.screens.lobby import LobbyScreen, RoomHere
    from genie_tui.screens.replay import ReplayScreen
    from genie_tui.screens.sessions import SessionsScreen

logger = logging.getLogger(__name__)

MOVED: Final = "the room is joined at another address"
FOR_ALL: Final = "It applies to everyone's requests, in every room you open."

BY_NAME: Final = "name"
HOW_NAMED: Final = "Such as ollama:qwen3 or openai:gpt-5, as for /model; see {key} for more."

LISTED: Final = 3
"""How many problems of the keys a notice lists; the rest is counted."""

LEFT: Final = "the room was left meanwhile"
NOT_OPENED: Final = "the room could not be opened"

HELD_NOTICES: Final = 5
"""Notices that are held back while another program has the terminal."""

NO_TERMINAL: Final = "an editor needs a terminal"


@dataclass(frozen=True, slots=True)
class AppOptions:
    """A person's choices for the app, and the log file that errors refer to."""

    theme: str = DARK.name
    alerts: AlertSettings = field(default_factory=AlertSettings)
    keymap: Keymap | None = None
    log_path: Path | None = None


class GenieApp(KeyedApp[tuple[ExitReport, ...]]):
    """Shows the lobby, or opens a room directly, and rooms that it does not show `also`.

    After it has run, `return_value` reports the rooms that were left, and `failure` is one line for
    the person after an error; `return_code` is 0 or 1 accordingly.
    """

    TITLE = "genie"
    CSS_PATH = str(
        Path(__file__).with_name("app.tcss")
    )  # Textual looks beside a subclass otherwise
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(all_actions(Scope.APP))
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {AppCommands}
    MODES = {LOBBY: Screen}  # noqa: RUF012 - as below
    DEFAULT_MODE = LOBBY
    SUSPENDED_SCREEN_CLASS = "-below"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(
        self,
        service: RoomService,
        opening: OpenRequest | ReplayRoom | None,
        name: str,
        *,
        also: Sequence[OpenRequest] = (),
        clock: Callable[[], float] = time.monotonic,
        form: SettingsForm | None = None,
        onboarding: Onboarding | None = None,
        store: SessionService | None = None,
        options: AppOptions = AppOptions(),
    ) -> None:
        super().__init__(options.keymap or Keymap(runnable), clock)
        self.stylesheet = KeepingStylesheet(self.get_css_variables())
        self._service = service
        self._opening = opening
        self._also = deque(also)
        self._reopened: set[OpenRoom] = set()
        self._person = name
        self._log_path = options.log_path
        self._frame = Frame()
        in_tmux = bool(os.environ.get("TMUX"))
        self._alerts = Alerts(self._write, options.alerts, in_tmux=in_tmux)
        self._tells_focus = False
        self._editor = ExternalEditor(self._lent)
        self._held: deque[Callable[[], None]] = deque(maxlen=HELD_NOTICES)
        self._form = form
        self._onboarding = onboarding
        self._store = store
        self.rooms = Rooms(self)
        self.quitting = QuitFlow(self, lambda: tuple(self.rooms), self._end, clock)
        self._lobby: LobbyScreen | None = None
        self._moving: set[OpenRoom] = set()
        self._ending = False
        self._saving_theme = asyncio.Lock()
        self.failure = ""
        if opening is not None and not isinstance(opening, ReplayRoom):
            self.rooms.begin_with(self._room_for(opening))
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = options.theme if options.theme in self.available_themes else DARK.name

    def on_load(self) -> None:
        """Start workers in the same order on all Pythons: Textual makes them eager from 3.12 on.

        An eager worker may end inside the call that starts it.
        """
        asyncio.get_running_loop().set_task_factory(None)

    async def on_mount(self) -> None:
        self.app_suspend_signal.subscribe(self, self._go_to_background, immediate=True)
        self.app_resume_signal.subscribe(self, self._come_back, immediate=True)
        self._report_keys()
        if self.rooms.current is not None:
            self._look(here=self._is_here)
            self._show_counts()
        elif self._opening is None:
            await self._show_lobby()
        else:
            await self.open(self._opening)

    def _report_keys(self) -> None:
        """Show the problems with the person's keys."""
        problems = self.keymap.problems
        if problems:
            rest = len(problems) - LISTED
            more = [f"and {rest} more: genie-tui config check"] if rest > 0 else []
            text = "\n".join([*problems[:LISTED], *more])
            self.notify(text, severity="warning", timeout=15)

    def get_css_variables(self) -> dict[str, str]:
        """Add the colours of names, and those of selected text, to the theme's own."""
        variables = super().get_css_variables()
        variables |= selection_colours(variables)
        variables |= author_colours(dark=self.current_theme.dark)
        self.theme_variables = variables
        return variables

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Keep every line for the terminal readable, and free of control characters."""
        return [line_filter(*super().get_line_filters())]

    def get_system_commands(self, screen: Screen[object]) -> Sequence[SystemCommand]:
        """Return no commands: the registry has everything that the palette offers."""
        return ()

    @contextmanager
    def batch_update(self) -> Iterator[None]:
        """Draw nothing meanwhile, unless the app starts: its first screen appears immediately.

        Textual would lay out and draw that screen, and drop the result.
        """
        with super().batch_update() if self._is_mounted else nullcontext():
            yield

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write only the changes to the terminal."""
        if isinstance(renderable, LayoutUpdate | ChopsUpdate):
            super()._display(screen, Changes(renderable, self._frame))
        else:
            super()._display(screen, renderable)

    def on_resize(self) -> None:
        """Draw everything again: the terminal may have moved or lost its content.

        Textual draws nothing if the size is the same again by the time it looks.
        """
        if self._is_mounted:
            self._frame.forget()
            self.refresh()

    def action_redraw(self) -> None:
        """Draw everything again, after another program wrote to the terminal."""
        self._frame.forget()
        self.refresh(layout=True)

    async def action_command_palette(self) -> None:  # type: ignore[override] # Textual awaits it
        """Open the list of all commands."""
        if not isinstance(self.screen, Palette):
            await self.push_screen(Palette(id="--command-palette"))

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text by OSC 52, and in tmux also by its own command."""
        super().copy_to_clipboard(text)
        if os.environ.get("TMUX"):
            self.run_worker(partial(copy_in_tmux, text), group="clipboard", thread=True)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notice for some seconds; its text is never parsed as markup.

        While another program has the terminal, the latest notices wait.
        """
        if self._lent_driver is not None:
            again = partial(
                self.notify, message, title=title, severity=severity, timeout=timeout, markup=markup
            )
            self._held.append(again)
            return
        super().notify(
            visible(message), title=title, severity=severity, timeout=timeout, markup=False
        )

    # Lobby, sessions and replays are imported when they are shown, as most of their content is of
    # no use in a room. Textual finds the handlers of their messages by name.

    async def on_lobby_screen_chosen(self, message: "LobbyScreen.Chosen") -> None:
        await self.open(message.opening)

    async def on_sessions_screen_chosen(self, message: "SessionsScreen.Chosen") -> None:
        await self.open(message.opening)

    async def on_sessions_screen_hit_chosen(self, message: "SessionsScreen.HitChosen") -> None:
        hit = message.hit
        room = self.rooms.saved_as(hit.session)
        if room is None:
            await self.open(ReplayRoom(hit.session, at=hit.seq or None))
            return
        await self._visit(room)
        if hit.seq:
            room.screen.show_event(hit.seq)

    async def open(self, opening: OpenRequest | ReplayRoom) -> None:
        """Show the screen that an opening leads to, which may be that of an open room."""
        saved = opening.id if isinstance(opening, ResumeRoom | RejoinRoom) else ""
        if isinstance(opening, ReplayRoom):
            from genie_tui.screens.replay import ReplayScreen

            await self.push_screen(ReplayScreen(self._service, opening, self.clock))
        elif saved and (room := self.rooms.saved_as(saved)) is not None:
            await self._visit(room)
        elif isinstance(opening, JoinRoom) and await self._is_open_here(opening):
            pass
        else:
            await self._show_new(self._room_for(opening))
            self._show_counts()

    async def _is_open_here(self, opening: JoinRoom) -> bool:
        """Show the open room that an invite or address leads to; if offline, it goes on there."""
        invite = await self._service.lead_of(opening.way) if len(self.rooms) else None
        room = self.rooms.invited_by(invite) if invite is not None else None
        if invite is None or room is None or opening.separate:
            return False
        await self._visit(room)
        joined = room.joined
        has_copy = joined is not None and joined.saved and not room.hosts
        if joined and has_copy and joined.connection.state is not ConnectionState.ONLINE:
            self._go_on(room.screen, lambda joined: at_addresses(joined, invite), MOVED)
        return True

    @on(RoomScreen.Opened)
    async def _open_more(self) -> None:
        """Open the other rooms once the one on the screen is there."""
        while self._also and not self.quitting.began:
            opening = self._also.popleft()
            if isinstance(opening, ResumeRoom | RejoinRoom) and self.rooms.saved_as(opening.id):
                continue  # the person opened it meanwhile
            room = self._room_for(opening)
            self._reopened.add(room)
            await self.rooms.add(room, shown=False)
        self._show_counts()

    @on(RoomScreen.OpeningFailed)
    async def _not_entered(self, message: RoomScreen.OpeningFailed) -> None:
        room = self.rooms.of(message.screen)
        if self.quitting.began or room is None:
            return
        if room in self._reopened and room is not self.rooms.current:
            await self._not_opened(room, message.text)  # a question would not be seen
        elif message.instead is not None:
            await self.rooms.remove(room)
            await self.open(message.instead)
        elif message.question is not None:
            await self._ask(message.question, room, message.text)
        else:
            await self._not_opened(room, message.text)

    async def _ask(self, question: Question, room: OpenRoom, error: str) -> None:
        """Ask whether to enter in another way; otherwise show why the first failed."""

        async def act(agreed: bool | None) -> None:  # noqa: FBT001 - the dialog's result
            if agreed:
                draft = room.screen.draft
                await self.rooms.remove(room)
                await self.open(question.opening)
                if self.rooms.current is not None and draft:
                    self.rooms.current.screen.draft = draft
            else:
                await self._decline(question)
                await self._not_opened(room, error)

        text = Content(visible(question.text))
        dialog = ConfirmScreen(question.title, text, question.yes, self.clock, by_itself=True)
        await self.push_screen(dialog, act, mode=room.mode)

    async def _decline(self, question: Question) -> None:
        """Note that the person does not follow into the rooms of a question."""
        if isinstance(question.opening, FollowRoom) and question.declined:
            try:
                await asyncio.to_thread(self._service.decline, question.opening, question.declined)
            except GenieError:
                logger.warning("it could not be noted that the person stays", exc_info=True)

    async def _not_opened(self, room: OpenRoom, error: str) -> None:
        """Close a room that could not be opened; exit if it is all that the app was started for.

        A draft for it is written to a file.
        """
        if draft := room.screen.draft:
            error = f"{error}\n{await self._written(draft, '', NOT_OPENED)}"
        if self._also and room is self.rooms.current:
            await self.rooms.remove(room)
            await self.open(self._also.popleft())
            self.notify(error, severity="error", timeout=12)
            return
        if self._opening is not None and len(self.rooms) == 1 and self._lobby is None:
            self._fail(error)
            return
        was_shown = room is self.rooms.current
        await self.rooms.remove(room)
        if was_shown:
            await self._show_lobby(error)
        else:
            self.notify(error, severity="error", timeout=12)
        self._show_counts()

    async def _show_lobby(self, error: str = "") -> None:
        await self.rooms.show(None)
        if self._lobby is None:
            from genie_tui.screens.lobby import LobbyScreen

            self._lobby = LobbyScreen(
                self._service, self._person, self._onboarding, self._rooms_here
            )
            await self.push_screen(self._lobby)
        elif not error:
            self._lobby.begin_anew()
        if error and self.screen is self._lobby:
            self._lobby.show_error(error)
        elif error:
            self.notify(error, severity="error", timeout=12)

    def _rooms_here(self) -> "Sequence[RoomHere]":
        return [room.as_listed for room in self.rooms]

    async def on_replay_screen_left(self, message: "ReplayScreen.Left") -> None:
        await self._end_replay(message.screen)

    async def on_replay_screen_opening_failed(self, message: "ReplayScreen.OpeningFailed") -> None:
        await self._end_replay(message.screen, message.text)

    async def _end_replay(self, screen: Screen[None], error: str = "") -> None:
        """Remove a replay and the screens above it; exit if the app was started for it."""
        if self.screen_stack[1:2] == [screen]:
            self._fail(error) if error else self.exit()
            return
        while screen in self.screen_stack:
            await self.pop_screen()
        if error:
            await self._show_lobby(error)

    # Changing rooms

    async def action_rooms(self) -> None:
        """Let the person pick an open room, or the lobby; go back to the only room directly."""
        if isinstance(self.screen, Dialog):
            return
        if not len(self.rooms):
            self.notify("No room is open.")
            return
        rows = [
            Row(room.mode, room.title or "a room that is being opened", str(room.screen.counts))
            for room in self.rooms
            if room is not self.rooms.current
        ]
        if self.rooms.current is not None:
            rows.append(Row(LOBBY, "Lobby", "open another room; this one stays"))
        elif len(rows) == 1:
            await self._go_to(rows[0].id)
            return
        picker = PickScreen("Go to", rows)
        await self.push_screen(picker, self._go_to)

    async def action_choose_model(self) -> None:
        """Let the person choose among the models and agents found on this machine."""
        room = self.rooms.current
        if room is None or room.joined is None or isinstance(self.screen, Dialog):
            return
        if self._onboarding is None:
            self.notify("There is no settings file.", severity="warning")
            return
        choosing = self._choose_model(room, self._onboarding)
        self.run_worker(choosing, group="choosing", exclusive=True)

    async def _choose_model(self, room: OpenRoom, onboarding: Onboarding) -> None:
        from genie_core.assistant.known_programs import ProgramOffer

        offers = await onboarding.found()
        if room not in self.rooms:
            return
        rows = [Row(str(n), each.label, each.why) for n, each in enumerate(offers)]
        rows.append(Row(BY_NAME, "Another model, by its name"))
        title = "Who answers you?" if offers else f"{NONE_FOUND}\n{HOW_TO_GET_ONE}"
        picked = await self.push_screen_wait(CarefulPickScreen(title, rows), mode=room.mode)
        if picked is None or room.joined is None:
            return
        if picked == BY_NAME:
            how = HOW_NAMED.format(key=self.keymap.text(Scope.APP, "settings"))
            name = await self.push_screen_wait(AskLineScreen("Model", "", how, 200))
            if name:
                run_effect(room.screen.context, slash_commands()["model"], name)
            return
        offer = offers[int(picked)]
        choice = offer if isinstance(offer, ProgramOffer) else offer.choice
        try:
            await onboarding.take(choice)
            engine = room.joined.engine
            later = isinstance(choice, ProgramOffer) or choice.base_url
            if later or engine.status.state is EngineState.ABSENT:
                self.notify(f"{offer.label} answers in the next room you open.")
            else:
                label = await engine.use_model(choice.name)
                self.notify(f"{label} answers from now on, also in later rooms.")
        except GenieError as error:
            self.notify(str(error), severity="error", timeout=12)

    # Writing elsewhere

    async def action_editor(self) -> None:
        """Open the draft of the room in the person's editor."""
        room = self.rooms.current
        if room is not None and not isinstance(self.screen, Dialog):
            self.run_worker(self._edit(room), group="editor")

    async def _edit(self, room: OpenRoom) -> None:
        if self._editor.is_open or self.quitting.began:
            return
        before, title, as_typed = room.screen.text, room.title, room.screen.context.as_typed
        try:
            edited = await self._editor.edit(before)
        except EditorFailed as error:
            self.notify(f"No editor was opened: {error}.", severity="error", timeout=12)
            return
        if edited.problem:
            self.notify(edited.problem, severity="warning", timeout=12)
        # The room may have been entered in another way meanwhile.
        if room in tuple(self.rooms):
            room.screen.take_edited(edited, before)
        elif text := as_typed(edited.text or edited.saved or ""):
            await self._rescue(text, title)

    def action_edit_keys(self) -> None:
        """Open the person's file of keys in their editor, and use it afterwards."""
        if self._form is None:
            self.notify("There is no settings file.", severity="warning")
        elif not self._editor.is_open and not self.quitting.began:
            self.run_worker(self._edit_keys(self._form), group="editor")

    async def _edit_keys(self, form: SettingsForm) -> None:
        from genie_tui.commands.key_file import create_key_file, read_keymap

        file = form.locations.keys_file
        try:
            preset = (await asyncio.to_thread(form.read)).settings.keymap
            await asyncio.to_thread(create_key_file, preset, file)
            await self._editor.edit_file(file)
        except GenieError as error:
            self.notify(f"The keys are as before: {error}.", severity="error", timeout=12)
            return
        except OSError as error:
            text = f"Can't write {file}: {reason(error)}."
            self.notify(text, severity="error", timeout=12)
            return
        keymap = await asyncio.to_thread(read_keymap, preset, file)
        self.use_keymap(keymap)
        self._report_keys()
        if not keymap.problems:
            self.notify(f"The keys in {short_path(file)} are used from now on.")

    async def _rescue(self, text: str, title: str) -> None:
        """Keep a text for a room that was left: as its draft if it was entered again, or in a file."""
        target = self.rooms.current
        if target is not None and target.title == title and not target.screen.draft:
            target.screen.draft = text
            return
        where = await self._written(text, title, LEFT)
        self.notify(f"{LEFT.capitalize()}. {where}", severity="warning", timeout=12)

    async def _written(self, text: str, title: str, why: str) -> str:
        """Write a text that no room takes to a file; return where it is, in a sentence."""
        unsaved = UnsavedInput(title, (), UnsentText(text), why)
        try:
            path = await asyncio.to_thread(write_unsaved, default_path(title), unsaved)
        except NotWritten as error:
            return str(error)
        return f"Your text is in {path}."

    @contextmanager
    def _lent(self) -> Iterator[HangupDriver]:
        """Give the terminal up for a block, in which nothing is written to it."""
        driver = self._driver
        if not isinstance(driver, HangupDriver):
            raise EditorFailed(NO_TERMINAL)
        self._alerts.end()
        driver.lend()
        self._look(here=False)
        try:
            yield driver
        finally:
            driver.take_back()
            self._taken_back()

    def _taken_back(self) -> None:
        """Draw everything again, show the held events, and let no key typed before answer."""
        self.action_redraw()
        if isinstance(self.screen, Dialog | RoomScreen):
            self.screen.arm()
        self._look(here=self._is_here)
        self._show_counts()
        while self._held:
            self._held.popleft()()

    @property
    def _lent_driver(self) -> HangupDriver | None:
        """The driver of the terminal while another program has it."""
        driver = self._driver
        return driver if isinstance(driver, HangupDriver) and driver.is_lent else None

    def quit_unattended(self, reason: str) -> None:
        """Quit for a signal; an open editor is ended first, and its saved text is the draft."""
        if self._editor.is_open:
            self.run_worker(self._end_editor_and_quit(reason), group="signal")
        else:
            self.quitting.quit_unattended(reason)

    async def _end_editor_and_quit(self, reason: str) -> None:
        await self._editor.end()
        self.quitting.quit_unattended(reason)

    async def _go_to(self, mode: str | None) -> None:
        room = next((each for each in self.rooms if each.mode == mode), None)
        if room is not None:
            await self._visit(room)
        elif mode == LOBBY:
            await self._show_lobby()
            self._show_counts()

    async def _show_new(self, room: OpenRoom) -> None:
        await self.rooms.add(room, shown=True)
        room.screen.look(here=self._is_here)

    async def _visit(self, room: OpenRoom) -> None:
        await self.rooms.show(room)
        room.screen.look(here=self._is_here)
        self._show_counts()

    # Going on in a room under another host

    @on(RoomScreen.HandOver)
    def _hand_over(self, message: RoomScreen.HandOver) -> None:
        reason = f"handed over to {visible(message.name)}"
        self._go_on(message.screen, after_handover, reason)

    @on(RoomScreen.Reopen)
    def _reopen(self, message: RoomScreen.Reopen) -> None:
        self._go_on(message.screen, message.way, message.reason)

    @on(RoomScreen.Parted)
    def _parted(self, message: RoomScreen.Parted) -> None:
        parting = message.parting
        self._go_on(message.screen, lambda _: after_parting(parting), parting.text)

    def _go_on(self, screen: RoomScreen, way: Reopening, reason: str) -> None:
        """Leave a room and enter it again in another way, keeping the draft."""
        room = self.rooms.of(screen)
        if room is not None and room.joined is not None:
            self._move(room, self._change_members(room, room.joined, way, reason))

    def _move(self, room: OpenRoom, moving: Coroutine[None, None, None]) -> None:
        """Run a step that ends with another screen than the room's, unless one runs already."""

        async def move() -> None:
            try:
                await moving
            finally:
                self._moving.discard(room)

        if self.quitting.began or room in self._moving:
            moving.close()
            return
        self._moving.add(room)
        self.run_worker(move(), group="moving")

    async def _change_members(
        self,
        room: OpenRoom,
        joined: "JoinedRoom",
        way: Reopening,
        reason: str,
    ) -> None:
        try:
            await room.leave(reason, QUICK_GRACE)
        except GenieError:  # unsent text comes along; the room has the rest
            logger.warning("leaving the room failed", exc_info=True)
        opening = way(joined)
        self._opening = None
        was_shown = room is self.rooms.current
        fresh = self._room_for(opening) if opening is not None else None
        if fresh is not None:
            await (self._show_new(fresh) if was_shown else self.rooms.add(fresh, shown=False))
            fresh.screen.draft = room.screen.draft  # an editor may have changed it meanwhile
        elif was_shown:
            await self._show_lobby()
        await self.rooms.remove(room)
        self._show_counts()

    async def action_leave_room(self) -> None:
        """Suspend or leave the room, after asking as before quitting, and return to the lobby."""
        room = self.rooms.current
        if room is not None and not isinstance(self.screen, Dialog):
            self._move(room, self._return_to_lobby(room))

    async def _return_to_lobby(self, room: OpenRoom) -> None:
        if not await self.quitting.may_leave(room):
            return
        await self.push_screen(leaving_screen([room]))
        report, problem = await self.quitting.leave_one(room)
        if self.quitting.began:  # the person quits meanwhile, and that has its own end
            return
        self._opening = None
        await self._show_lobby()
        await self.rooms.remove(room)
        self._show_counts()
        severity: SeverityLevel = "error" if problem else "information"
        said = problem or (report.what if report is not None else "")
        if said:
            self.notify(said, severity=severity)

    @on(RoomScreen.EarlierWanted)
    def _earlier_wanted(self, message: RoomScreen.EarlierWanted) -> None:
        room = self.rooms.of(message.screen)
        if room is not None:
            self._move(room, self._go_on_in(message.saved, room))

    async def _go_on_in(self, saved: str, room: OpenRoom) -> None:
        """Leave a room first, which frees its port, and open a saved one in its place."""
        if not await self.quitting.may_leave(room):
            return
        draft, room.screen.draft = room.screen.draft, ""
        _, problem = await self.quitting.leave_one(room)
        if self.quitting.began:
            return
        self._opening = None
        await self.open(ResumeRoom(saved))
        if draft and self.rooms.current is not None:
            self.rooms.current.screen.draft = draft
        await self.rooms.remove(room)
        self._show_counts()
        if problem:
            self.notify(problem, severity="error")

    def _room_for(self, opening: OpenRequest) -> OpenRoom:
        bell = Bell(self._alerts.settings.notify, self.clock)
        return OpenRoom(RoomScreen(self._service, opening, self.clock, bell), self._service)

    @on(RoomScreen.Rang)
    def _rang(self, message: RoomScreen.Rang) -> None:
        room = self.rooms.of(message.screen)
        shown = room is self.rooms.current
        text = visible_line(message.text)
        text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
        if not shown:
            self.notify(f"{text}  ({self.keymap.text(Scope.APP, 'rooms')})", timeout=8)
        self._alerts.ring(text, attended=shown and self._tells_focus and self.app_focus)

    @on(RoomScreen.Counted)
    def _counted(self) -> None:
        self._show_counts()

    def _show_counts(self) -> None:
        """Show the waiting items of all rooms, in the title, the lobby, and the shown room."""
        if self._lobby is not None and self._lobby.is_running:
            self._lobby.show_open()
        if not len(self.rooms):
            self._alerts.end()
            return
        counts = {room: room.screen.counts for room in self.rooms}
        total = sum(counts.values(), Counts())
        current = self.rooms.current
        title = current.title if current is not None else ""
        self._alerts.show_title(title_of(title, total.waiting, total.missed))
        for room in counts:
            others = [each for one, each in counts.items() if one is not room]
            room.screen.show_elsewhere(sum(others, Counts()) if others else None)

    def _write(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def on_app_blur(self) -> None:
        self._tells_focus = True  # a terminal that never says it may be anywhere
        self._look(here=False)

    def on_app_focus(self) -> None:
        self._look(here=True)

    def _look(self, *, here: bool) -> None:
        if (room := self.rooms.current) is not None:
            room.screen.look(here=here)

    @property
    def _is_here(self) -> bool:
        return self._lent_driver is None and (self.app_focus or not self._tells_focus)

    def _go_to_background(self, _: object) -> None:
        self._alerts.end()

    def _come_back(self, _: object) -> None:
        """Show the title again, and ignore keys that were typed for the shell."""
        self._show_counts()
        if isinstance(self.screen, RoomScreen | Dialog):
            self.screen.arm()

    # Ending

    async def action_quit(self) -> None:
        """Suspend or leave all rooms and quit; the second time, stop waiting for agents."""
        self.quitting.quit()

    async def on_unmount(self) -> None:
        """Leave all rooms even if the app breaks, or wait until they are left."""
        leaving = [room.leave("the app ended", QUICK_GRACE) for room in self.rooms]
        try:
            for problem in await asyncio.gather(*leaving, return_exceptions=True):
                if isinstance(problem, GenieError):
                    logger.error("leaving a room failed: %s", problem)
                elif isinstance(problem, BaseException):
                    raise problem
        finally:
            self._alerts.end()

    def _end(self, reports: Sequence[ExitReport], problem: str) -> None:
        if problem:
            self._fail(problem, reports)
        else:
            self.exit(tuple(reports))

    def _fail(self, line: str, reports: Sequence[ExitReport] = ()) -> None:
        self.failure = " ".join(visible(line).split())
        self.exit(tuple(reports), return_code=1)

    # Breaking

    async def _shutdown(self) -> None:
        self._ending = True  # also if its task is cancelled
        await self._editor.end()
        await super()._shutdown()

    def _handle_exception(self, error: Exception) -> None:
        """Log an unhandled error and exit with one line instead of a traceback."""
        if (self._exit or self._ending) and isinstance(error, NoMatches):
            logger.info("the app ended while a screen was put together", exc_info=error)
            return
        cause = error.error if isinstance(error, WorkerFailed) else error
        logger.critical("unhandled error", exc_info=cause)
        self._tell_of_fault()
        super()._handle_exception(error)

    def _tell_of_fault(self) -> None:
        where = f"; details are in {self._log_path}" if self._log_path is not None else ""
        self.failure = f"genie-tui met an internal error and had to end{where}"
        self._return_code = 1

    def panic(self, *renderables: RenderableType) -> None:
        """Exit without printing; `failure` has the message."""
        if not self.failure:  # a thread of the driver broke
            with self.console.capture() as captured:
                self.console.print(*renderables)
            logger.critical("the terminal can't be read any more:\n%s", captured.get())
            self._tell_of_fault()
        self._close_messages_no_wait()

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    # Actions

    async def action_help(self) -> None:
        if isinstance(self.screen, HelpScreen):
            _ = self.screen.dismiss(None)
        elif not isinstance(self.screen, LeavingScreen):
            nodes = nodes_at(self.screen)

            async def run(action: Action | None) -> None:
                if action is not None:
                    await self.run_action(action.run, default_namespace=nodes[action.scope])

            here = self.screen
            custom = await here.custom_commands() if isinstance(here, RoomScreen) else []
            prompts = prompt_help(here.context) if isinstance(here, RoomScreen) else ()
            await self.push_screen(
                HelpScreen(list(nodes), runs=True, prompts=prompts, custom=custom), run
            )

    async def action_sessions(self) -> None:
        if self._store is None:
            self.notify("There are no sessions.", severity="warning")
        elif self.screen is self._lobby:
            from genie_tui.screens.sessions import SessionsScreen

            await self.push_screen(SessionsScreen(self._store, self.clock))

    async def action_settings(self) -> None:
        if self._form is None:
            self.notify("There is no settings file.", severity="warning")
        elif not isinstance(self.screen, SettingsScreen | LeavingScreen):
            await self.push_screen(SettingsScreen(self._form), self._use)

    @on(GrantsScreen.RuleWanted)
    def _make_rule(self, event: GrantsScreen.RuleWanted) -> None:
        if self._form is None:
            self.notify("There is no settings file.", severity="warning")
        else:
            self.run_worker(self._confirm_rule(self._form, event.rule))

    async def _confirm_rule(self, form: SettingsForm, rule: dict[str, str]) -> None:
        """Show a rule as it will stand in the settings, and write it if the person agrees."""
        text = Content(f"{visible(add_rule('', rule=rule))}\n{FOR_ALL}")
        question = ConfirmScreen("Add this rule to the settings?", text, "add it", self.clock)
        if await self.push_screen_wait(question):
            try:
                form.add_rule(rule)
            except SettingsError as error:
                self.notify(str(error), severity="error")
            else:
                self.notify("Rule saved. It applies to rooms you open from now on.")

    def _use(self, settings: Settings | None) -> None:
        if settings is None or self._form is None:
            return
        self._form.use(settings)
        for room in self.rooms:
            room.screen.bell.notify = settings.notify
        self._alerts.settings = AlertSettings.of(settings)
        if self._store is not None:
            self._store.limit(settings.retention.limits())

    def action_help_quit(self) -> None:
        """Explain how to quit to those who press ctrl+c."""
        hosting = any(room.hosts for room in self.rooms)
        does = "suspend the room" if hosting else "leave"
        self.notify(f"Press {self.keymap.text(Scope.APP, 'quit')} to {does} and quit.")

    def action_toggle_theme(self) -> None:
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name
        if not isinstance(self.screen, SettingsScreen):  # whose field follows, and is saved there
            self._keep_theme(self.theme)

    async def action_choose_theme(self) -> None:
        """Let the person choose from all themes, and save the choice."""

        def keep(name: str | None) -> None:
            if name is not None:
                self._keep_theme(name)

        await self.push_screen(ThemeScreen(self.theme), keep)

    @work(group="theme")
    async def _keep_theme(self, name: str) -> None:
        """Save a theme in the settings, unless it is given in another way."""
        if self._form is None:
            return
        async with self._saving_theme:  # the last choice is saved last
            try:
                origin = await asyncio.to_thread(self._form.keep_theme, name)
            except GenieError as error:
                self.notify(f"Theme {name}, not saved: {error}", severity="error", timeout=12)
                return
        if origin.overrides:
            self.notify(f"Theme {name}, not saved: the {origin.text} sets another one.")
        else:
            self.notify(f"Theme {name}, saved.")
