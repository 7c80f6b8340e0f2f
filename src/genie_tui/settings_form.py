"""What of the settings a person changes often: the fields of a form, without any screen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import msgspec

from genie_core.assistant.check import check_config
from genie_core.assistant.config import DEFAULT_TEMPLATE, AssistantConfig, ModelChoice
from genie_core.assistant.errors import MissingVariable
from genie_core.assistant.prompts import prompt_names
from genie_core.errors import GenieError
from genie_tui.credentials import names_at_hand
from genie_tui.locations import Locations
from genie_tui.settings import Settings, assistant_config
from genie_tui.settings_edit import ask_about_reads, asks_about_reads, put, remove
from genie_tui.settings_keys import Key
from genie_tui.settings_source import Change, Origin, Reading, SettingsSource
from genie_tui.themes import DARK, theme_names

AT_ONCE: Final = "at once"
NEXT_ROOM: Final = "from the next room on"
MODEL: Final = f"{NEXT_ROOM}, in this one by /model"

ASK_WRITES: Final = "usual"
ASK_ALL: Final = "all"

Choices = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Field:
    """One line of the form. `effect` says when a change counts, `hint` what nothing stands for.

    A field without `hint` is a choice; others take any text.
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
    Field("model", "Model", MODEL, "none: the offline helper answers"),
    Field("reasoner_model", "Decides with", NEXT_ROOM, "the same model"),
    Field("template", "Template", NEXT_ROOM),
    Field("workspace", "Workspace", NEXT_ROOM, "none: no access to files"),
    Field("approvals", "Tool calls", NEXT_ROOM),
    Field("notify", "Bell", AT_ONCE),
    Field("theme", "Theme", AT_ONCE),
)

_NOTIFY: Final = (
    ("mine", "for what waits for me or names me"),
    ("all", "for every message"),
    ("none", "never"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a value; one that is `grave` is not saved."""

    text: str
    grave: bool = True


@dataclass(frozen=True)
class SettingsForm:
    """Reads the fields, judges what is put into them, and writes them. Everything here blocks.

    `person` is whose secrets models may need. `use` is told of other settings.
    """

    source: SettingsSource
    locations: Locations
    person: str
    use: Callable[[Settings], None]

    def read(self) -> Reading:
        """The settings as they are. Raises `SettingsError`."""
        return self.source.read()

    def choices(self, reading: Reading) -> Mapping[str, Choices]:
        """What there is to pick from, by field."""
        templates = prompt_names("reasoner", self.locations.prompts)
        return {
            "template": [(name, name) for name in templates],
            "approvals": _approvals(reading.settings),
            "notify": _NOTIFY,
            "theme": [(name, name) for name in theme_names()],
        }

    def fault(self, name: str, value: str, settings: Settings) -> Fault | None:
        """What is wrong with a value for a field, the other `settings` being as they are."""
        try:
            keys = names_at_hand(self.person, self.locations, self.source.env)
            check_config(self._alone(name, value, settings), keys)
        except MissingVariable as error:
            return Fault(str(error), grave=False)
        except GenieError as error:
            return Fault(str(error))
        return None

    def _alone(self, name: str, value: str, settings: Settings) -> AssistantConfig:
        """A configuration in which nothing but this field can be wrong."""
        bare = AssistantConfig(prompts_dir=self.locations.prompts)
        match name:
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
            case "template":
                return replace(bare, template=value or DEFAULT_TEMPLATE)
            case "workspace" if value:
                changed = msgspec.structs.replace(Settings(), workspace=value)
                return replace(bare, workspace=assistant_config(changed, self.locations).workspace)
        return bare

    def save(self, values: Mapping[str, str]) -> Reading:
        """Write these fields. Raises `SettingsError`, and nothing is changed then."""
        written = self.source.read().written
        changes = [
            change_to(name, value, there=written.has((name,))) for name, value in values.items()
        ]
        return self.source.change([each for each in changes if each is not None])


def value_of(name: str, settings: Settings) -> str:
    """What a field shows."""
    match name:
        case "approvals":
            asked = any(asks_about_reads(msgspec.structs.asdict(each)) for each in settings.rules)
            return ASK_ALL if asked else ASK_WRITES
        case "template":
            return settings.template or DEFAULT_TEMPLATE
        case "theme":
            return settings.theme or DARK.name
        case _:
            return str(getattr(settings, name))


def origin_of(field: Field, reading: Reading) -> Origin:
    """Where a field's value comes from."""
    if field.name == "approvals" and value_of("approvals", reading.settings) == ASK_WRITES:
        return Origin("default")
    return reading.origin(field.key)


def change_to(name: str, value: str, *, there: bool) -> Change | None:
    """What a field does to the file, in which it is `there` or not; nothing takes it out of it."""
    if name == "approvals":
        return partial(ask_about_reads, ask=value == ASK_ALL)
    if value:
        return partial(put, key=(name,), value=value)
    return partial(remove, key=(name,)) if there else None


def _approvals(settings: Settings) -> Choices:
    own = sum(not asks_about_reads(msgspec.structs.asdict(each)) for each in settings.rules)
    more = f", and {own} of your rules hold" if own else ""
    return (
        (ASK_WRITES, f"ask about everything but reading{more}"),
        (ASK_ALL, f"ask about everything{more}"),
    )
