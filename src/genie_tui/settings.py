"""The user's settings: a TOML file, the environment over it, the command line over both."""

import getpass
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from genie_core.assistant.config import DEFAULT_TEMPLATE, AssistantConfig, ModelChoice, Runtime
from genie_core.room.protocol.limits import Limits
from genie_tui.locations import Locations, folder_at
from genie_tui.settings_check import mistakes, wrong
from genie_tui.settings_file import SettingsError as SettingsError
from genie_tui.settings_file import Values, Written, read_settings
from genie_tui.settings_keys import Key, read_key, read_value, single_keys, variable
from genie_tui.settings_tables import (
    AgentTable,
    BudgetTable,
    RetentionTable,
    RuleTable,
    ToolLimitsTable,
)

KEY_NAMES: Final = {
    "base_url": "api_key_env",
    "reasoner_base_url": "reasoner_api_key_env",
}
"""The settings that name the key for an address, by the setting of the address."""

Notify: TypeAlias = Literal["mine", "all", "none"]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a person can set; `docs/configure.md` tells of each.

    Every field with one value is also `GENIE_<FIELD>` in the environment, one of a table
    `GENIE_<TABLE>_<FIELD>`. No `name` means the login name, an empty `model` the offline helper, an
    empty `reasoner_model` the same one, an empty `template` the usual one, an empty `workspace` no
    access to files, no `tools` or `servers` all there are. `port` 0 takes the usual port, or the
    next one that is free. `grace` is in seconds.
    """

    name: str | None = None
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    runtime: Runtime = "pydantic-ai"
    reasoner_model: str = ""
    reasoner_base_url: str = ""
    reasoner_api_key_env: str = ""
    template: str = ""
    workspace: str = ""
    tools: tuple[str, ...] | None = None
    mcp: str = ""
    servers: tuple[str, ...] | None = None
    theme: str = ""
    notify: Notify = "mine"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    local: bool = False
    ask: bool = False
    announce: bool = True
    grace: Annotated[float, msgspec.Meta(ge=0, le=3_600)] = 10.0
    budget: BudgetTable = BudgetTable()
    tool_limits: ToolLimitsTable = ToolLimitsTable()
    retention: RetentionTable = RetentionTable()
    limits: Limits = Limits()
    rules: tuple[RuleTable, ...] = ()
    agents: dict[str, AgentTable] = msgspec.field(default_factory=dict)


def load_settings(
    file: Path, env: Mapping[str, str], overrides: Mapping[str, Any] | None = None
) -> Settings:
    """Combine file, environment and the command line's `overrides` (None values don't count).

    Those in tables go by names like "budget.money".

    Raises:
        SettingsError: the first of what is wrong.

    """
    return combine(read_settings(file), env, overrides or {})


def combine(written: Written, env: Mapping[str, str], overrides: Mapping[str, Any]) -> Settings:
    """Combine what was read already; otherwise as `load_settings`."""
    problem = next(problems(written, env), None)
    if problem is not None:
        raise SettingsError(problem)
    values = {**written.values}
    _override(values, {key: read_value(hint, raw) for key, raw, hint in _from_env(env)})
    given = {read_key(name): value for name, value in overrides.items() if value is not None}
    _override(values, given)
    return msgspec.convert(values, Settings)


def problems(written: Written, env: Mapping[str, str]) -> Iterator[str]:
    """Everything that is wrong with the file, and then with the environment, one line each."""
    for each in mistakes(written.values, Settings):
        yield f"{written.place(each.key)}: {each.text}"
    for key, raw, hint in _from_env(env):
        try:
            read_value(hint, raw)
        except msgspec.ValidationError as error:
            name = variable(key)
            yield f"the environment variable {wrong((name,), raw, hint, error)}"


def assistant_config(settings: Settings, locations: Locations) -> AssistantConfig:
    """Take from the settings what concerns the assistant.

    Raises:
        NoSuchPlace: the workspace or the place of the tool servers' file can't be one.

    """
    return AssistantConfig(
        model=settings.model or None,
        template=settings.template or DEFAULT_TEMPLATE,
        workspace=folder_at(settings.workspace) if settings.workspace else None,
        prompts_dir=locations.prompts,
        runtime=settings.runtime,
        base_url=settings.base_url,
        key_name=settings.api_key_env,
        reasoner=ModelChoice(
            settings.reasoner_model, settings.reasoner_base_url, settings.reasoner_api_key_env
        ),
        agents=tuple(table.agent(name) for name, table in settings.agents.items()),
        tools=settings.tools,
        servers=settings.servers,
        servers_file=_servers_file(settings, locations),
        rules=tuple(table.rule() for table in settings.rules),
        limits=settings.tool_limits.tool_limits(),
        budget=settings.budget.budget(),
        rooms=locations.sessions,
    )


def default_name() -> str:
    """Propose the login name as the name in rooms; "guest" where there is none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "guest"


def _servers_file(settings: Settings, locations: Locations) -> Path | None:
    """The file that is set, by its way from the settings; otherwise the usual one, if it is there."""
    if settings.mcp:
        at_home = settings.mcp.startswith("~")
        return folder_at(settings.mcp if at_home else str(locations.config / settings.mcp))
    usual = locations.servers_file
    return usual if usual.exists() else None


def _from_env(env: Mapping[str, str]) -> Iterator[tuple[Key, str, Any]]:
    for key, hint in single_keys(Settings):
        if raw := env.get(variable(key), ""):
            yield key, raw, hint


def _override(values: Values, given: Mapping[Key, Any]) -> None:
    """Set what is given. A key that was named for another address is not sent to a new one."""
    for address, key_name in KEY_NAMES.items():
        if (address,) in given and given[address,] != values.get(address):
            values.pop(key_name, None)
    for key, value in given.items():
        _set(values, key, value)


def _set(values: Values, key: Key, value: Any) -> None:
    """Set what a key leads to, in copies of the tables around it."""
    name, *rest = (str(part) for part in key)
    if rest:
        inner = {**values.get(name, {})}
        _set(inner, tuple(rest), value)
        values[name] = inner
    else:
        values[name] = value
