"""The user's settings: a TOML file, the environment over it, the command line over both."""

import difflib
import getpass
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from genie_core.assistant.config import DEFAULT_TEMPLATE, AssistantConfig
from genie_core.errors import GenieError
from genie_core.room.limits import Limits
from genie_tui.locations import folder_at

ENV_PREFIX: Final = "GENIE_"
LIMITS_PREFIX: Final = "GENIE_LIMITS_"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a person can set.

    Every field is also `GENIE_<FIELD>` in the environment, each limit `GENIE_LIMITS_<FIELD>`. No
    `name` means the login name, an empty `model` the offline helper, an empty `template` the usual
    one, an empty `workspace` no access to files. `port` 0 takes the usual port, or the next one
    that is free. `local` keeps rooms on this machine, `ask` lets nobody new in without the host's
    word, and `announce` shows rooms to the network. `limits` is a table of its own.
    """

    name: str | None = None
    model: str = ""
    template: str = ""
    workspace: str = ""
    theme: str = ""
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    local: bool = False
    ask: bool = False
    announce: bool = True
    limits: Limits = Limits()


class SettingsError(GenieError):
    """A setting can't be used; the text names the place and what would be right."""


def load_settings(
    file: Path, env: Mapping[str, str], overrides: Mapping[str, Any] | None = None
) -> Settings:
    """Combine file, environment and the command line's `overrides` (None values don't count)."""
    values = _read(file)
    for field in Settings.__struct_fields__:
        raw = env.get(ENV_PREFIX + field.upper(), "")
        if raw and field != "limits":
            values[field] = _from_env(field, raw, Settings)
    limits = {
        field: _from_env(field, raw, Limits, LIMITS_PREFIX)
        for field in Limits.__struct_fields__
        if (raw := env.get(LIMITS_PREFIX + field.upper(), ""))
    }
    if limits:
        values["limits"] = {**values.get("limits", {}), **limits}
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    return msgspec.convert({**values, **given}, Settings)


def assistant_config(settings: Settings, prompts_dir: Path) -> AssistantConfig:
    """Take from the settings what concerns the assistant.

    Raises:
        NoSuchPlace: the workspace can't be a folder.

    """
    return AssistantConfig(
        model=settings.model or None,
        template=settings.template or DEFAULT_TEMPLATE,
        workspace=folder_at(settings.workspace) if settings.workspace else None,
        prompts_dir=prompts_dir,
    )


def default_name() -> str:
    """Propose the login name as the name in rooms; "guest" where there is none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "guest"


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"can't read the settings in {file}: {error}") from error
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{file}: {error}") from error
    for key, value in values.items():
        _check(file, text, key, value)
    return values


def _check(file: Path, text: str, key: str, value: object) -> None:
    place = f"{file}, line {_line_of(text, key)}"
    if key not in Settings.__struct_fields__:
        near = difflib.get_close_matches(key, Settings.__struct_fields__, n=1, cutoff=0.5)
        known = ", ".join(Settings.__struct_fields__)
        hint = f"did you mean {near[0]!r}?" if near else f"known settings are {known}"
        raise SettingsError(f"{place}: there is no setting {key!r}; {hint}")
    if key == "limits" and isinstance(value, dict):
        _check_limits(file, text, value)
        return
    try:
        msgspec.convert({key: value}, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{place}: {key} can't be {value!r}: {_expected(error)}") from error


def _check_limits(file: Path, text: str, table: dict[str, object]) -> None:
    """Check each limit by itself: a room's own word on them may hold more than is known here."""
    known = Limits.__struct_fields__
    for key, value in table.items():
        place = f"{file}, line {_line_of(text, key)}"
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known limits are {', '.join(known)}"
            raise SettingsError(f"{place}: there is no limit {key!r}; {hint}")
        try:
            msgspec.convert({key: value}, Limits)
        except msgspec.ValidationError as error:
            why = _expected(error)
            raise SettingsError(f"{place}: the limit {key} can't be {value!r}: {why}") from error


def _expected(error: msgspec.ValidationError) -> str:
    """What would be right, without the path inside a structure that nobody sees."""
    return str(error).partition(" - at ")[0]


def _line_of(text: str, key: str) -> int:
    pattern = re.compile(rf"""\s*\[?\s*["']?{re.escape(key)}["']?\s*[=.\]]""")
    lines = text.splitlines()
    return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 1)


def _from_env(field: str, raw: str, kind: type[msgspec.Struct], prefix: str = ENV_PREFIX) -> object:
    try:
        settings = msgspec.convert({field: raw}, kind, strict=False)
    except msgspec.ValidationError as error:
        name = prefix + field.upper()
        why = _expected(error)
        raise SettingsError(f"the environment variable {name} can't be {raw!r}: {why}") from error
    return getattr(settings, field)
