"""A form for the most common settings, with their sources and when changes take effect."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import msgspec
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.theme import Theme
from textual.widgets import Input, Static

from genie_core.assistant.config import DEFAULT_TEMPLATE, AssistantConfig, ModelChoice
from genie_core.errors import GenieError
from genie_core.room.protocol.names import check_new_name
from genie_core.settings.credentials import names_at_hand
from genie_core.settings.edit import add_rule, ask_about_reads, asks_about_reads, put, remove
from genie_core.settings.load import (
    Change,
    LoadedSettings,
    Origin,
    SettingsError,
    SettingsSource,
)
from genie_core.settings.locations import Locations, short_path
from genie_core.settings.model import Settings, assistant_config
from genie_core.settings.setting_keys import Key, read_value, type_at
from genie_core.settings.validate import wrong
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import Keymap, keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.screens.dialogs.pick import PickScreen, Row
from genie_tui.screens.dialogs.theme import ThemeScreen
from genie_tui.themes import DARK, theme_names
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import KeyText, key_list
from genie_tui.widgets.picker import Picker
from genie_tui.widgets.too_small import TooSmall

AT_ONCE: Final = "at once"
NEXT_ROOM: Final = "from the next room on"
NEXT_START: Final = "from the next start on"
NAME: Final = "from the next start on; rooms you hosted keep your old name"
MODEL: Final = f"{NEXT_ROOM}, in this one by /model"

MANY: Final = 5
"""Choices of a field above which enter lists them."""

ASK_WRITES: Final = "usual"
ASK_ALL: Final = "all"

Choices = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Field:
    """One line of the form.

    `effect` says when a change takes effect, `hint` the meaning of an empty field. A field without
    `hint` is a choice; others accept any text.
    """

    name: str
    label: str
    effect: str
    hint: str = ""

    @property
    def key(self) -> Key:
        """The setting that it changes."""
        return ("rules",) if self.name == "approvals" else (self.name,)


FIELDS: Final = (
    Field("name", "Name", NAME, "your login name"),
    Field("agent", "Agent", NEXT_ROOM),
    Field("model", "Model", MODEL, "none: the agent above, else the offline helper"),
    Field("reasoner_model", "Reasoner model", NEXT_ROOM, "same as the model"),
    Field("fallback_model", "Fallback model", NEXT_ROOM, "none: without the model, no answer"),
    Field("effort", "Effort", NEXT_ROOM),
    Field("temperature", "Temperature", NEXT_ROOM, "the model's own"),
    Field("max_tokens", "Output tokens", NEXT_ROOM, "the model's own limit"),
    Field("template", "Template", NEXT_ROOM),
    Field("workspace", "Workspace", NEXT_ROOM, "none: no access to files"),
    Field("approvals", "Tool calls", NEXT_ROOM),
    Field("notify", "Alert me for", AT_ONCE),
    Field("bell", "Bell", AT_ONCE),
    Field("window_title", "Terminal title", AT_ONCE),
    Field("desktop", "Notifications", AT_ONCE),
    Field("theme", "Theme", AT_ONCE),
    Field("keymap", "Keys", NEXT_START),
)

FIELD_OF: Final = {field.name: field for field in FIELDS}

_NOTIFY: Final = (
    ("mine", "approvals and messages for me"),
    ("all", "every message"),
    ("none", "never"),
)


_EFFORT: Final = (
    ("", "the model's own"),
    ("none", "none: don't think"),
    *((each, each) for each in ("minimal", "low", "medium", "high", "xhigh", "max")),
)
_SWITCH: Final = (("true", "on"), ("false", "off"))
_DESKTOP: Final = (
    ("none", "off"),
    ("osc9", "by OSC 9: iTerm2, WezTerm, Ghostty, kitty"),
    ("osc777", "by OSC 777: foot, GNOME Terminal, rxvt"),
)
_KEYMAP: Final = (("default", "default"), ("vi", "vi-style"))


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A problem with a value; a `grave` one is not saved."""

    text: str
    grave: bool = True


@dataclass(frozen=True)
class SettingsForm:
    """Reads, checks and writes the fields. Everything here blocks.

    `person` is the owner of the secrets that models may need. `use` receives changed settings.
    """

    source: SettingsSource
    locations: Locations
    person: str
    use: Callable[[Settings], None]

    def read(self) -> LoadedSettings:
        """Read the settings. Raises `SettingsError`."""
        return self.source.read()

    def choices(self, reading: LoadedSettings) -> Mapping[str, Choices]:
        """Return the choices of each field that has some."""
        from genie_core.assistant.prompts import prompt_names

        templates = prompt_names("reasoner", self.locations.prompts)
        return {
            "agent": _agents(reading.settings, self.source.env.get("PATH", "")),
            "template": [(name, name) for name in templates],
            "effort": _EFFORT,
            "approvals": _approvals(reading.settings),
            "notify": _NOTIFY,
            "bell": _SWITCH,
            "window_title": _SWITCH,
            "desktop": _DESKTOP,
            "keymap": _KEYMAP,
            "theme": [(name, name) for name in theme_names()],
        }

    def fault(self, name: str, value: str, settings: Settings) -> FieldProblem | None:
        """Return the problem with a field's value, given the other `settings`."""
        # Imported when it is used, since each start makes a form.
        from genie_core.assistant.check import LACKING, check_config

        try:
            keys = names_at_hand(self.person, self.locations, self.source.env)
            check_config(self._alone(name, value, settings), keys)
        except LACKING as error:
            return FieldProblem(str(error), grave=False)
        except GenieError as error:
            return FieldProblem(str(error))
        return None

    def _alone(self, name: str, value: str, settings: Settings) -> AssistantConfig:
        """Return a configuration in which only this field can be wrong."""
        bare = AssistantConfig(prompts_dir=self.locations.prompts)
        match name:
            case "name" if value:
                check_new_name(value)
            case "agent" if value:
                changed = msgspec.structs.replace(Settings(), agent=value, agents=settings.agents)
                config = assistant_config(changed, self.locations)
                return replace(bare, program=config.program)
            case "model" if value:
                return replace(
                    bare,
                    model=value,
                    base_url=settings.base_url,
                    key_name=settings.api_key_env,
                    runtime=settings.runtime,
                )
            case "reasoner_model" if value:
                return replace(
                    bare,
                    reasoner=ModelChoice(
                        value, settings.reasoner_base_url, settings.reasoner_api_key_env
                    ),
                )
            case "fallback_model" if value:
                return replace(
                    bare,
                    fallback=ModelChoice(
                        value, settings.fallback_base_url, settings.fallback_api_key_env
                    ),
                    runtime=settings.runtime,
                )
            case "temperature" | "max_tokens" if value:
                _typed(name, value)
            case "template":
                return replace(bare, template=value or DEFAULT_TEMPLATE)
            case "workspace" if value:
                changed = msgspec.structs.replace(Settings(), workspace=value)
                return replace(bare, workspace=assistant_config(changed, self.locations).workspace)
        return bare

    def save(self, values: Mapping[str, str]) -> LoadedSettings:
        """Save these fields. Raises `SettingsError` and then changes nothing."""
        written = self.source.read().written
        changes = [
            change_to(name, value, there=written.has((name,))) for name, value in values.items()
        ]
        return self.source.change([each for each in changes if each is not None])

    def keep_theme(self, name: str) -> Origin:
        """Save a theme unless the environment or the command line sets one; returns where it is set.

        Raises `SettingsError` and then changes nothing.
        """
        key = ("theme",)
        origin = self.source.read().origin(key)
        if origin.overrides:
            return origin
        return self.source.change([partial(put, key=key, value=name)]).origin(key)

    def add_rule(self, rule: Mapping[str, str]) -> LoadedSettings:
        """Add a rule to the file. Raises `SettingsError` and then changes nothing."""
        return self.source.change([partial(add_rule, rule=rule)])


def value_of(name: str, settings: Settings) -> str:
    """Return the value that a field shows."""
    match name:
        case "approvals":
            asked = any(asks_about_reads(msgspec.structs.asdict(each)) for each in settings.rules)
            return ASK_ALL if asked else ASK_WRITES
        case "template":
            return settings.template or DEFAULT_TEMPLATE
        case "theme":
            return settings.theme or DARK.name
    match getattr(settings, name):
        case bool(value):
            return "true" if value else "false"
        case float(value):
            return f"{value:g}"
        case value:
            return str(value or "")


def origin_of(field: Field, reading: LoadedSettings) -> Origin:
    """Return where a field's value comes from."""
    if field.name == "approvals" and value_of("approvals", reading.settings) == ASK_WRITES:
        return Origin("default")
    return reading.origin(field.key)


def change_to(name: str, value: str, *, there: bool) -> Change | None:
    """Return the file's change for a field; an empty value removes it."""
    if name == "approvals":
        return partial(ask_about_reads, ask=value == ASK_ALL)
    if value:
        return partial(put, key=(name,), value=_typed(name, value))
    return partial(remove, key=(name,)) if there else None


def _typed(name: str, value: str) -> Any:
    """Parse a field's value. Raises `SettingsError`."""
    hint = type_at(Settings, (name,))
    try:
        return read_value(hint, value)
    except msgspec.ValidationError as error:
        raise SettingsError(wrong((name,), value, hint, error)) from error


def _agents(settings: Settings, path: str) -> Choices:
    """Return the built-in assistant, the configured programs, and the known ones on PATH."""
    from genie_core.assistant.known_programs import KNOWN_PROGRAMS, installed_programs

    own = [name for name, table in settings.agents.items() if table.command]
    found = [each.name for each in installed_programs(path) if each.name not in own]
    titles = {each.name: each.title for each in KNOWN_PROGRAMS}
    return [
        ("", f"the built-in assistant{'' if own or found else ' (no other is installed)'}"),
        *((name, f"{name}, from [agents.{name}]") for name in own),
        *((name, f"{titles[name]}, installed") for name in found),
    ]


def _approvals(settings: Settings) -> Choices:
    own = sum(not asks_about_reads(msgspec.structs.asdict(each)) for each in settings.rules)
    more = f", and {own} of your rules hold" if own else ""
    return (
        (ASK_WRITES, f"ask about everything but reading{more}"),
        (ASK_ALL, f"ask about everything{more}"),
    )


class SettingsScreen(Dialog[Settings | None]):
    """A form over the settings file. Returns the saved values, None for nothing.

    A field that the environment or the command line overrides can't be changed here. A picked theme
    is shown immediately, and reverted unless it is saved. Its field shows the theme on the screen.
    """

    CSS_PATH = "settings.tcss"
    BINDINGS = bindings(Scope.SETTINGS)

    def __init__(self, form: SettingsForm) -> None:
        super().__init__()
        self._form = form
        self._reading: LoadedSettings | None = None
        self._faults: dict[str, FieldProblem] = {}
        self._theme = ""
        self._warned = False

    def compose(self) -> ComposeResult:
        yield TooSmall()
        with Vertical(id="settings"):
            yield Static("Settings", id="settings-title", markup=False)
            yield Static(id="settings-problem", markup=False)
            with VerticalScroll(id="settings-scroll", can_focus=False):
                for field in FIELDS:
                    with Horizontal(classes="setting"):
                        yield Static(field.label, classes="setting-label", markup=False)
                        with Vertical(classes="setting-part"):
                            yield _control(field)
                            yield Static(
                                id=f"note-{field.name}", classes="setting-note", markup=False
                            )
            yield KeyText(_keys(keymap_of(self)), id="settings-keys")

    def on_mount(self) -> None:
        """Read the file in the background."""
        self._theme = self.app.theme
        self.app.theme_changed_signal.subscribe(self, self._show_theme)
        for field in FIELDS:
            self.query_one(f"#{field.name}").disabled = True
        self._read()

    @work
    async def _read(self) -> None:
        try:
            reading = await asyncio.to_thread(self._form.read)
            choices = await asyncio.to_thread(self._form.choices, reading)
        except GenieError as error:
            self._show_problem(f"{error}; put it right with: genie-tui config edit")
            return
        if not self.is_running:  # the form is gone already
            return
        self._reading = reading
        self.query_one("#settings-title", Static).update(
            Content(visible_line(f"Settings in {short_path(reading.written.file)}"))
        )
        for field in FIELDS:
            control, value = (
                self.query_one(f"#{field.name}"),
                value_of(field.name, reading.settings),
            )
            if isinstance(control, Picker):
                shown = self.app.theme if field.name == "theme" else value
                control.offer(choices[field.name], shown)
            elif isinstance(control, Input):
                with control.prevent(Input.Changed):
                    control.value = value
            control.disabled = origin_of(field, reading).overrides
            self._show_note(field)
        first = next(self._controls(), None)
        if first is not None:
            first.focus()

    def on_descendant_focus(self) -> None:
        """Show which of the fields has the focus: there may be more of them above and below."""
        place = next((n for n, each in enumerate(FIELDS, 1) if self._is_at(each)), 0)
        shown = f"{place} of {len(FIELDS)}" if place else ""
        self.query_one("#settings").border_subtitle = shown

    def _show_theme(self, theme: Theme) -> None:
        """Let the field follow a theme that was chosen by other keys."""
        field, picker = FIELD_OF["theme"], self.query_one("#theme", Picker)
        if self._reading is not None and picker.value != theme.name:
            picker.show(theme.name)
            self._show_note(field)

    def _is_at(self, field: Field) -> bool:
        return self.focused is not None and self.focused.id == field.name

    # Changing

    @on(Input.Changed)
    @on(Picker.Picked)
    def _edited(self, event: Input.Changed | Picker.Picked) -> None:
        field = FIELD_OF[event.control.id or ""]
        self._warned = False
        self._show_problem("")
        if field.name == "theme":
            self.app.theme = event.value
        self._show_note(field)
        self._judge(field)

    def _judge(self, field: Field) -> None:
        self.run_worker(self._find_fault(field), group=field.name, exclusive=True)

    async def _find_fault(self, field: Field) -> None:
        if self._reading is None:
            return
        value, settings = self._value(field), self._reading.settings
        fault = await asyncio.to_thread(self._form.fault, field.name, value, settings)
        if not self.is_running:  # the form is gone already
            return
        if fault is None:
            self._faults.pop(field.name, None)
        else:
            self._faults[field.name] = fault
        self._show_note(field)
        self._keep_in_sight()  # the note above it may have become longer

    def on_resize(self) -> None:
        self._keep_in_sight()

    def _keep_in_sight(self) -> None:
        """Scroll to the field with the focus once everything has its place."""
        if self.focused is not None:
            self.call_after_refresh(self.focused.scroll_visible, animate=False)

    def on_key(self, event: events.Key) -> None:
        """Move between fields by keys that no field takes."""
        key = keymap_of(self).meaning(Scope.SETTINGS, event.key)
        step = {"up": -1, "down": 1, "enter": 1}.get(key)
        end = {"home": 0, "end": -1}.get(key)
        if step is None and end is None:
            return
        event.stop()
        event.prevent_default()
        if key == "enter" and isinstance(self.focused, Picker) and self.focused.count > MANY:
            self._list_choices(self.focused)
        elif step is not None:
            self._step(step)
        elif end is not None and (controls := list(self._controls())):
            controls[end].focus()

    @work
    async def _list_choices(self, picker: Picker) -> None:
        """Let the person pick from a list."""
        if picker.id == "theme":  # whose field follows the screen
            await self.app.push_screen(ThemeScreen(self.app.theme))
            return
        rows = [Row(value, label) for value, label in picker.choices]
        title = FIELD_OF[picker.id or ""].label
        picked = await self.app.push_screen_wait(PickScreen(title, rows, at=picker.value))
        if picked is not None and self.is_running:
            picker.pick(picked)

    @on(Input.Submitted)
    def _entered(self) -> None:
        self._step(1)

    def _step(self, step: int) -> None:
        controls = list(self._controls())
        if self.focused in controls:
            controls[(controls.index(self.focused) + step) % len(controls)].focus()
        elif controls:
            controls[0].focus()

    @work(exclusive=True, group="saving")
    async def action_save(self) -> None:
        """Save the changes and go back."""
        changed = self._changed()
        if self._reading is None or not changed:
            _ = self.dismiss(None)
            return
        for field in changed:
            await self._find_fault(field)
        if not self.is_running:  # the screen is gone
            return
        wrong = next((each for each in changed if self._is_wrong(each)), None)
        if wrong is not None:
            self.query_one(f"#{wrong.name}").focus()
            self._show_problem(f"Not saved: {wrong.label} is not valid.")
            return
        try:
            values = {field.name: self._value(field) for field in changed}
            reading = await asyncio.to_thread(self._form.save, values)
        except GenieError as error:
            self._show_problem(str(error))
            return
        self.notify(_saved(changed))
        _ = self.dismiss(reading.settings)

    def action_back(self) -> None:
        """Go back without saving; ask once if there are changes."""
        if self._changed() and not self._warned:
            self._warned = True
            save, back = (keymap_of(self).text(Scope.SETTINGS, name) for name in ("save", "back"))
            self._show_problem(f"Unsaved changes: {save} saves, {back} again discards them.")
            return
        self.app.theme = self._theme
        _ = self.dismiss(None)

    # Showing

    def _controls(self) -> Iterator[Input | Picker]:
        for field in FIELDS:
            control = self.query_one(f"#{field.name}")
            if isinstance(control, Input | Picker) and not control.disabled:
                yield control

    def _value(self, field: Field) -> str:
        control = self.query_one(f"#{field.name}")
        return control.value.strip() if isinstance(control, Input | Picker) else ""

    def _changed(self) -> list[Field]:
        reading = self._reading
        if reading is None:
            return []
        return [
            field
            for field in FIELDS
            if not origin_of(field, reading).overrides
            and self._value(field) != value_of(field.name, reading.settings)
        ]

    def _is_wrong(self, field: Field) -> bool:
        fault = self._faults.get(field.name)
        return fault is not None and fault.grave

    def _show_note(self, field: Field) -> None:
        if self._reading is None:
            return
        note, origin = (
            self.query_one(f"#note-{field.name}", Static),
            origin_of(field, self._reading),
        )
        fault, changed = self._faults.get(field.name), field in self._changed()
        if origin.overrides:
            text = f"set by the {origin.text}: change it there"
        elif fault is not None:
            text = fault.text
        elif changed:
            text = f"not saved yet · {field.effect}"
        elif field.name == "keymap":
            text = f"own: {short_path(self._form.locations.keys_file)}"
        else:
            text = "" if origin.layer == "default" else origin.text
        note.update(Content(visible_line(text)))
        note.set_class(not text, "-empty")
        note.set_class(self._is_wrong(field), "-wrong")
        note.set_class(origin.overrides or (fault is not None and not fault.grave), "-warning")
        note.set_class(changed and fault is None, "-changed")

    def _show_problem(self, text: str) -> None:
        if not self.is_running:  # the screen is gone
            return
        problem = self.query_one("#settings-problem", Static)
        problem.update(Content(visible_line(text)))
        problem.display = bool(text)


def _control(field: Field) -> Input | Picker:
    if field.hint:
        return LineInput(placeholder=field.hint, id=field.name, select_on_focus=False)
    return Picker(id=field.name)


def _keys(keymap: Keymap) -> Content:
    return key_list(each for each in keymap.actions(Scope.SETTINGS) if each.shown)


def _saved(changed: list[Field]) -> str:
    later: dict[str, list[str]] = {}
    for field in changed:
        if field.effect != AT_ONCE:
            later.setdefault(re.split("[,;]", field.effect)[0].capitalize(), []).append(field.label)
    return " ".join(["Saved.", *(f"{when}: {', '.join(names)}." for when, names in later.items())])
