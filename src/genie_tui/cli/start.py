"""Start the app, and print the report when it has ended."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from textual.driver import Driver

from genie_core.room.open.requests import JoinRoom, OpenRequest, ReplayRoom, ResumeRoom
from genie_core.room.open.service import RoomService
from genie_core.room.protocol.names import check_name
from genie_core.runtime.garbage_collector import start_collecting
from genie_core.sessions.service import SessionService
from genie_core.settings.credentials import hide_own_secrets, names_at_hand
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations, folder_at
from genie_core.settings.model import Settings, assistant_config, default_name
from genie_core.text.safe import visible_line
from genie_tui.alerts import AlertSettings
from genie_tui.app import AppOptions, GenieApp
from genie_tui.cli.log_file import CannotStart, log_to
from genie_tui.cli.shutdown import PATIENCE, SIGNALS, end_in
from genie_tui.commands.key_file import read_keymap
from genie_tui.exit_report import ExitReport, exit_lines
from genie_tui.first_start import FirstStartApp, done, is_first_start, keep_name
from genie_tui.onboarding import Onboarding
from genie_tui.screen_size import terminal_problem
from genie_tui.screens.settings import SettingsForm
from genie_tui.strips import free_strips
from genie_tui.terminal import HangupDriver, TerminalWatch
from genie_tui.themes import DARK, theme_problem

PRINTING: Final = 60.0
"""Seconds for a terminal that is paused, where it has to take the person's text."""


def start(
    opening: OpenRequest | ReplayRoom | None,
    source: SettingsSource,
    locations: Locations,
    env: Mapping[str, str],
) -> int:
    """Run the app until it ends; returns the exit code.

    Raises a `GenieError` for mistakes that show before anything is on the screen.
    """
    problem = terminal_problem()
    if problem:
        raise CannotStart(problem)
    free_strips()
    reading = source.read()
    given = reading.origin(("name",)).layer == "command line"
    if opening is None and is_first_start(source, locations):
        if not _ask_first(source, locations, reading.settings):
            return 0
        reading = source.read()
    elif given and reading.settings.name is not None:
        keep_name(source, check_name(reading.settings.name))
    settings = reading.settings
    wrong_theme = theme_problem(settings.theme) if settings.theme else None
    if wrong_theme:
        raise CannotStart(wrong_theme)
    name = check_name(default_name() if settings.name is None else settings.name)
    check_assistant(opening, settings, names_at_hand(name, locations, env), locations)
    log_to(locations.log_file)

    # A keyring may wait for its owner, so this thread is not waited for.
    threading.Thread(target=hide_own_secrets, args=(name, locations), daemon=True).start()
    service = RoomService(name, settings, locations, renamed=given)
    also: list[OpenRequest] = []
    if isinstance(opening, ResumeRoom) and not (opening.id or opening.force):
        opening, *also = service.to_reopen() or [opening]
    form = SettingsForm(source, locations, name, service.use)
    app = _SignalledApp(
        service,
        opening,
        name,
        also=also,
        form=form,
        onboarding=Onboarding(source, locations, name, service.use),
        store=SessionService(
            name, locations.sessions, locations.search, settings.retention.limits()
        ),
        options=AppOptions(
            theme=settings.theme or DARK.name,
            alerts=AlertSettings.of(settings),
            keymap=read_keymap(settings.keymap, locations.keys_file),
            log_path=locations.log_file,
        ),
    )
    with TerminalWatch(sys.stdin.fileno()), asyncio.Runner() as runner:
        reports = runner.run(app.run_async(mouse=settings.mouse))
        _ignore_signals(runner.get_loop())
        code = 1 if app.failure else app.return_code or 0
        # Everything is saved. Neither a terminal that takes nothing nor a tool that does not end
        # when told to may keep the process.
        end_in(PRINTING if app.quitting.to_print else PATIENCE, code)
        _print_reports(app, reports or ())
    return code


def _ask_first(source: SettingsSource, locations: Locations, settings: Settings) -> bool:
    """Show the first start; False if the person quits there."""
    name = settings.name or default_name()
    onboarding = Onboarding(source, locations, name, lambda _: None)
    keymap = read_keymap(settings.keymap, locations.keys_file)
    workspace = str(folder_at(settings.workspace)) if settings.workspace else ""
    app = FirstStartApp(source, locations, name, onboarding.offers, keymap, workspace)
    with TerminalWatch(sys.stdin.fileno()):
        chosen = app.run()
    if chosen is None:
        return False
    done(locations)
    return True


def check_assistant(
    opening: OpenRequest | ReplayRoom | None,
    settings: Settings,
    keys: Mapping[str, str],
    locations: Locations,
) -> None:
    """Raise the `GenieError` that the assistant would fail with in the room to open.

    A guest has none, and a recording needs none. Where no room is named, a missing key or program
    is no reason to show nothing at all: the settings are there to be changed, and a room names
    missing ones.
    """
    if isinstance(opening, ReplayRoom) or (isinstance(opening, JoinRoom) and opening.guest):
        return
    from genie_core.assistant.check import LACKING, check_essentials  # a guest has no assistant

    try:
        check_essentials(assistant_config(settings, locations), keys)
    except LACKING:
        if opening is not None:
            raise


def _ignore_signals(loop: asyncio.AbstractEventLoop) -> None:
    """Ignore a second signal, so that it can't disturb the shutdown."""
    for number in SIGNALS:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)


def _print_reports(app: GenieApp, reports: Sequence[ExitReport]) -> None:
    _forget_lost_terminal()
    for line in app.quitting.to_print:
        _say(sys.stdout.fileno(), line)
    if app.failure:
        _say(sys.stderr.fileno(), f"genie-tui: {visible_line(app.failure)}")
    for line in exit_lines(reports):
        _say(sys.stdout.fileno(), line)


class _SignalledApp(GenieApp):
    """The app, ending in good order also on a signal."""

    _hung_up = False

    def get_driver_class(self) -> type[Driver]:
        return HangupDriver

    def on_load(self) -> None:
        loop = asyncio.get_running_loop()
        for number, reason in SIGNALS.items():
            loop.add_signal_handler(number, self._on_signal, number, reason)

    async def on_mount(self) -> None:
        self.call_after_refresh(start_collecting)

    def _on_signal(self, number: signal.Signals, reason: str) -> None:
        """Quit; several signals may report a lost terminal, which is no reason to hurry."""
        if number is signal.SIGHUP:
            if self._hung_up:
                return
            self._hung_up = True
        self.quit_unattended(reason)


def _forget_lost_terminal() -> None:
    """Keep the interpreter from failing at exit to flush a lost terminal's output."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())


def _say(descriptor: int, line: str) -> None:
    # The terminal may be gone, which is one of the reasons for ending.
    with suppress(OSError), open(descriptor, "w", closefd=False, encoding="utf-8") as out:
        out.write(f"{line}\n")
