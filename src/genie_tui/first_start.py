"""The first start: ask once for a name, for an assistant, and for a workspace.

It is an app of its own, before the program: a screen of the program would have to change the
person of a running one.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.driver import Driver
from textual.filter import LineFilter
from textual.widgets import Input, Static

from genie_core.errors import GenieError
from genie_core.settings.edit import put
from genie_core.settings.load import Change, SettingsError, SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_core.storage.atomic import replace_file
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import KeyedApp, Keymap
from genie_tui.commands.keys import Scope, bindings
from genie_tui.commands.registry import runnable
from genie_tui.onboarding import HOW_TO_GET_ONE
from genie_tui.screens.help import HelpScreen
from genie_tui.screens.settings import SettingsForm
from genie_tui.strips import line_filter
from genie_tui.terminal import HangupDriver
from genie_tui.themes import DARK, author_colours
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import key_list
from genie_tui.widgets.picker import Picker

if TYPE_CHECKING:
    from genie_core.assistant.known_programs import ProgramOffer
    from genie_core.assistant.models.discover import ModelOffer

LOOKING: Final = "looking for installed agents, keys and local models…"
NO_MODEL: Final = "no model: the offline helper answers"

Offers: TypeAlias = "Sequence[ProgramOffer | ModelOffer]"


class FirstStartApp(KeyedApp[bool]):
    """Asks for the settings of a new person; returns whether anything was saved.

    Esc skips it, and it does not come again; None if the person quits or the terminal is gone.
    `offers` finds the agents and models that could answer.
    """

    TITLE = "genie"
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.FIRST_START)
    CSS: ClassVar[str] = """
    Screen { align: center middle; background: $background; }
    #first { width: 72; max-width: 100%; height: auto; padding: 0 2; }
    #first-title { height: auto; margin-bottom: 1; }
    #first-problem { display: none; height: auto; padding: 0 1; margin-bottom: 1;
        background: $error-muted; color: $text-error; }
    .first-row { height: 1; margin-top: 1; }
    .first-label { width: 14; text-style: bold; }
    .first-row Input, .first-row Picker { width: 1fr; height: 1; border: none; padding: 0 1;
        background: $panel; }
    .first-row Input:focus { background: $block-cursor-background; }
    .first-note { height: auto; padding-left: 15; color: $foreground-muted; }
    #first-keys { height: auto; margin-top: 2; color: $foreground-muted; }
    """

    def __init__(
        self,
        source: SettingsSource,
        locations: Locations,
        name: str,
        offers: Callable[[], Awaitable[Offers]],
        keymap: Keymap | None = None,
        workspace: str = "",
    ) -> None:
        super().__init__(keymap or Keymap(runnable))
        self._source = source
        self._locations = locations
        self._name = name
        self._workspace = workspace
        self._find = offers
        self._offers: Offers = ()
        self.register_theme(DARK)
        self.theme = DARK.name

    def compose(self) -> ComposeResult:
        with Vertical(id="first"):
            yield Static(_title(self.keymap), id="first-title", markup=False)
            yield Static(id="first-problem", markup=False)
            yield from _row("Your name", LineInput(self._name, id="name", compact=True))
            yield _note("The others see it.")
            yield from _row("Who answers", Picker(id="answers"))
            yield _note("Your agent: it acts with your keys, after asking you.", id_="answers-note")
            yield from _row("Workspace", LineInput(self._workspace, id="workspace", compact=True))
            yield _note("The one folder your agents may use, such as ~/project; empty for none.")
            keys = key_list(self.keymap.actions(Scope.FIRST_START))
            yield Static(keys, id="first-keys", markup=False)

    def on_mount(self) -> None:
        self._picker.offer([("", LOOKING)], "")
        self.query_one("#name", Input).focus()
        self.run_worker(self._look())
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self.exit)

    def get_driver_class(self) -> type[Driver]:
        """Use the driver that ends the program without its terminal."""
        return HangupDriver

    def get_css_variables(self) -> dict[str, str]:
        return super().get_css_variables() | author_colours(dark=True)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Keep every line for the terminal readable, and free of control characters."""
        return [line_filter(*super().get_line_filters())]

    def action_field(self, step: int) -> None:
        if step > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    async def action_save(self) -> None:
        """Save the settings, and start; show a mistake instead, if there is one."""
        try:
            await asyncio.to_thread(save, self._source, self._locations, self._wanted())
        except GenieError as error:
            problem = self.query_one("#first-problem", Static)
            problem.update(Content(visible_line(str(error))))
            problem.display = True
        else:
            self.exit(result=True)

    async def action_skip(self) -> None:
        self.exit(result=False)

    @on(Input.Submitted)
    async def action_go_on(self) -> None:
        """Go to the next field; save after the last."""
        if self.query_one("#workspace").has_focus:
            await self.action_save()
        else:
            self.screen.focus_next()

    def action_help(self) -> None:
        if isinstance(self.screen, HelpScreen):
            _ = self.screen.dismiss()
        else:
            _ = self.push_screen(HelpScreen((Scope.FIRST_START,)))

    def _wanted(self) -> dict[str, str]:
        from genie_core.assistant.known_programs import ProgramOffer

        wanted = {
            "name": self.query_one("#name", Input).value.strip(),
            "workspace": self.query_one("#workspace", Input).value.strip(),
        }
        chosen = self._picker.value
        offer = self._offers[int(chosen)] if chosen else None
        if isinstance(offer, ProgramOffer):
            wanted["agent"] = offer.name
        elif offer is not None:
            wanted |= {"model": offer.choice.name, "base_url": offer.choice.base_url}
        return wanted

    async def _look(self) -> None:
        self._offers = await self._find()
        found = [
            (str(place), f"{each.label}, {each.why}") for place, each in enumerate(self._offers)
        ]
        self._picker.offer([*found, ("", NO_MODEL)], found[0][0] if found else "")
        if not found:
            self.query_one("#answers-note", Static).update(HOW_TO_GET_ONE)

    @property
    def _picker(self) -> Picker:
        return self.query_one(Picker)


def save(source: SettingsSource, locations: Locations, wanted: Mapping[str, str]) -> None:
    """Write the choices into the settings; `wanted` has a name and a workspace at least. Blocks.

    Raises:
        GenieError: a value is not valid, or the file can't be written; nothing is changed.
    """
    form = SettingsForm(source, locations, wanted["name"], lambda _: None)
    for field in ("name", "workspace"):
        if (fault := form.fault(field, wanted[field], Settings())) is not None:
            raise SettingsError(fault.text)
    changes: list[Change] = [
        partial(put, key=(key,), value=value) for key, value in wanted.items() if value
    ]
    source.change(changes)
    done(locations)


def is_first_start(source: SettingsSource, locations: Locations) -> bool:
    """Whether to ask: there are no settings yet, and the person did not skip it. Blocks."""
    return not (source.file.exists() or mark(locations).exists())


def done(locations: Locations) -> None:
    """Note that the first start is over; a disk that refuses it lets it come again."""
    try:
        replace_file(mark(locations), b"")
    except OSError:
        return


def mark(locations: Locations) -> Path:
    return locations.data / "first-start-done"


def keep_name(source: SettingsSource, name: str) -> None:
    """Keep a name that was given on the command line, unless there is one. Blocks.

    Raises:
        SettingsError: the file can't be changed.
    """
    if not source.read().written.has(("name",)):
        source.change([partial(put, key=("name",), value=name)])


def _title(keymap: Keymap) -> Content:
    key = keymap.text(Scope.APP, "settings")
    return Content.assemble(
        ("✦ ", "$text-accent"),
        ("genie", "bold"),
        ("   group chat with agents\n", "$foreground-muted"),
        (f"  Set up once. {key} changes all of it later.", "$foreground-muted"),
    )


def _row(label: str, field: Any) -> ComposeResult:
    with Horizontal(classes="first-row"):
        yield Static(label, classes="first-label", markup=False)
        yield field


def _note(text: str, id_: str | None = None) -> Static:
    return Static(text, id=id_, classes="first-note", markup=False)
