"""The settings as one model, and the assistant's configuration made from it."""

import getpass
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from genie_core.assistant.config import (
    DEFAULT_TEMPLATE,
    AgentSpec,
    AssistantConfig,
    Budget,
    Effort,
    Library,
    ModelChoice,
    ModelOptions,
    Rule,
    Sandbox,
    ToolLimits,
)
from genie_core.room.engine.approval_policy import Effect
from genie_core.room.protocol.limits import Limits
from genie_core.runtime.model_limits import DECISION_TIMEOUT, MAX_TURNS, STALL_TIMEOUT
from genie_core.sessions.retention import RetentionLimits
from genie_core.settings.locations import Locations, folder_at
from genie_core.settings.setting_keys import fields_of

KEY_NAMES: Final = {
    f"{model}base_url": f"{model}api_key_env"
    for model in ("", "reasoner_", "fallback_", "summary_")
}
"""The setting that names the key of each address setting."""

Notify: TypeAlias = Literal["mine", "all", "none"]
Preset: TypeAlias = Literal["default", "vi"]
Desktop: TypeAlias = Literal["none", "osc9", "osc777"]

Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=100_000_000)]


Temperature: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=2)]
OutputTokens: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10_000_000)]


class BudgetTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[budget]`; as `Budget`."""

    money: Annotated[float, msgspec.Meta(ge=0, le=1_000_000)] = 0.0
    tokens: Annotated[int, msgspec.Meta(ge=0)] = 0

    def budget(self) -> Budget:
        return Budget(self.money, self.tokens)


class RetentionTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[retention]`: age and size limits for saved rooms. 0 means no limit."""

    max_age_days: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0
    max_total_mb: Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)] = 0

    def limits(self) -> RetentionLimits:
        return RetentionLimits(self.max_age_days, self.max_total_mb)


class ToolLimitsTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[tool_limits]`; as `ToolLimits`."""

    command_seconds: Seconds = 60.0
    command_bytes: Bytes = 64_000
    fetch_seconds: Seconds = 20.0
    fetch_bytes: Bytes = 1_000_000
    private_addresses: bool = False
    shell: bool = False

    def tool_limits(self) -> ToolLimits:
        return ToolLimits(**msgspec.structs.asdict(self))


class SandboxTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[sandbox]`; as `Sandbox`."""

    mode: Literal["auto", "off", "required"] = "auto"
    network: bool = False
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    env: tuple[str, ...] = ("PATH", "HOME", "LANG")

    def sandbox(self, locations: Locations) -> Sandbox:
        """Raises `NoSuchPlace` if a text names no folder."""
        return Sandbox(
            self.mode,
            self.network,
            tuple(map(folder_at, self.writable)),
            tuple(map(folder_at, self.readable)),
            self.env,
            locations.folders,
        )


class RuleTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of `[[rules]]`; as `Rule`."""

    effect: Effect
    tool: str = "*"
    agent: str = "*"
    risk: Literal["", "read", "write", "execute", "network", "unknown"] = ""
    arguments: dict[str, str] = msgspec.field(default_factory=dict)
    path: str = ""
    command: str = ""
    host: str = ""
    mixed: bool = False

    def rule(self) -> Rule:
        return Rule(**msgspec.structs.asdict(self))


class AgentTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.NAME]`; as `AgentSpec`."""

    description: str = ""
    prompt: str = ""
    model: str = ""
    base_url: str = ""
    runtime: Library | None = None
    tools: tuple[str, ...] | None = None
    servers: tuple[str, ...] = ()
    idle_timeout: Annotated[float, msgspec.Meta(gt=0, le=1_000_000_000)] = 600.0
    emoji: str = ""
    api_key_env: str = ""
    command: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    sandbox: bool = False
    temperature: Temperature | None = None
    effort: Effort = ""
    max_tokens: OutputTokens = 0

    @classmethod
    def needed(cls, given: Collection[str]) -> Sequence[str]:
        """Return the required field of an entry with these fields: a program describes itself."""
        if "command" in given:
            return ()
        return ("command",) if {"env", "sandbox"} & set(given) else ("description",)

    def agent(self, name: str) -> AgentSpec:
        return AgentSpec(
            name=name,
            description=self.description,
            prompt=self.prompt,
            model=ModelChoice(self.model, self.base_url, self.api_key_env),
            runtime=self.runtime,
            tools=self.tools,
            servers=self.servers,
            idle_timeout=self.idle_timeout,
            emoji=self.emoji,
            options=ModelOptions(self.temperature, self.effort, self.max_tokens),
            command=self.command,
            env=self.env,
            sandbox=self.sandbox,
        )


class BrokenEntry(msgspec.Struct, frozen=True):
    """A rule or agent of a settings file that is left out.

    `problems` are lines with its place; `value` is that of the file at `key`.
    """

    key: tuple[str | int, ...]
    problems: tuple[str, ...]
    value: Any = None


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All settings; `docs/configure.md` describes each.

    A single-valued field is also `GENIE_<FIELD>` in the environment, one of a table
    `GENIE_<TABLE>_<FIELD>`. Defaults: `name` the login name, `agent` the built-in assistant, `model`
    the offline helper,
    `reasoner_model` the main model, `template` the default one, `workspace` no file access, `tools`
    and `servers` all of them, `port` 0 the default port or the next free one. `grace` is in
    seconds.
    """

    name: str | None = None
    agent: str = ""
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    runtime: Library = "pydantic-ai"
    reasoner_model: str = ""
    reasoner_base_url: str = ""
    reasoner_api_key_env: str = ""
    fallback_model: str = ""
    fallback_base_url: str = ""
    fallback_api_key_env: str = ""
    summary_model: str = ""
    summary_base_url: str = ""
    summary_api_key_env: str = ""
    temperature: Temperature | None = None
    effort: Effort = ""
    max_tokens: OutputTokens = 0
    reasoner_temperature: Temperature | None = None
    reasoner_effort: Effort = ""
    reasoner_max_tokens: OutputTokens = 0
    template: str = ""
    workspace: str = ""
    tools: tuple[str, ...] | None = None
    mcp: str = ""
    servers: tuple[str, ...] | None = None
    theme: str = ""
    notify: Notify = "mine"
    bell: bool = True
    window_title: bool = True
    desktop: Desktop = "none"
    keymap: Preset = "default"
    mouse: bool = True
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    local: bool = False
    ask: bool = False
    trust_loopback: bool = True
    announce: bool = True
    grace: Annotated[float, msgspec.Meta(ge=0, le=3_600)] = 10.0
    parallel_runs: Annotated[int, msgspec.Meta(ge=1, le=20)] = 3
    timeout: Seconds = STALL_TIMEOUT
    reasoner_timeout: Seconds = DECISION_TIMEOUT
    max_turns: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = MAX_TURNS
    budget: BudgetTable = BudgetTable()
    tool_limits: ToolLimitsTable = ToolLimitsTable()
    sandbox: SandboxTable = SandboxTable()
    retention: RetentionTable = RetentionTable()
    limits: Limits = Limits()
    rules: tuple[RuleTable, ...] = ()
    private_files: tuple[str, ...] = ()
    agents: dict[str, AgentTable] = msgspec.field(default_factory=dict)

    @property
    def broken(self) -> tuple[BrokenEntry, ...]:
        """The entries that are left out."""
        return ()


class PartialSettings(Settings, frozen=True):
    """Settings without the broken rules and agents of their file."""

    broken: tuple[BrokenEntry, ...] = ()


def assistant_config(settings: Settings, locations: Locations) -> AssistantConfig:
    """Return the assistant's part of the settings.

    Raises:
        NoSuchPlace: the workspace, a folder of the sandbox or the servers' file names no place.
        UnknownAgent: the answering agent is no known or configured program.
    """
    config = AssistantConfig(
        model=settings.model or None,
        template=settings.template or DEFAULT_TEMPLATE,
        workspace=folder_at(settings.workspace) if settings.workspace else None,
        prompts_dir=locations.prompts,
        own_texts=locations.config,
        runtime=settings.runtime,
        base_url=settings.base_url,
        key_name=settings.api_key_env,
        reasoner=ModelChoice(
            settings.reasoner_model, settings.reasoner_base_url, settings.reasoner_api_key_env
        ),
        fallback=ModelChoice(
            settings.fallback_model, settings.fallback_base_url, settings.fallback_api_key_env
        ),
        summary=ModelChoice(
            settings.summary_model, settings.summary_base_url, settings.summary_api_key_env
        ),
        options=ModelOptions(settings.temperature, settings.effort, settings.max_tokens),
        reasoner_options=ModelOptions(
            settings.reasoner_temperature, settings.reasoner_effort, settings.reasoner_max_tokens
        ),
        agents=tuple(table.agent(name) for name, table in settings.agents.items()),
        tools=settings.tools,
        servers=settings.servers,
        servers_file=_servers_file(settings, locations),
        rules=_rules(settings),
        problems=tuple(line for entry in settings.broken for line in entry.problems),
        private_files=settings.private_files,
        limits=settings.tool_limits.tool_limits(),
        sandbox=settings.sandbox.sandbox(locations),
        budget=settings.budget.budget(),
        rooms=locations.sessions,
        parallel_runs=settings.parallel_runs,
        timeout=settings.timeout,
        reasoner_timeout=settings.reasoner_timeout,
        max_turns=settings.max_turns,
    )
    if not settings.agent:
        return config
    from genie_core.assistant.known_programs import with_program

    return with_program(config, settings.agent)


def default_name() -> str:
    """Return the login name, or "guest" without one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "guest"


def _rules(settings: Settings) -> tuple[Rule, ...]:
    """Return the rules in the order of the file; of a broken one, its valid conditions."""
    rules = [table.rule() for table in settings.rules]
    for entry in settings.broken:
        if entry.key[0] == "rules":
            place = entry.key[1] if len(entry.key) > 1 else 0
            rules.insert(int(place), _broken_rule(entry.value))
    return tuple(rules)


def _broken_rule(value: Any) -> Rule:
    from genie_core.assistant.policy.policy import broken_rule

    valid: dict[str, Any] = {}
    for name, hint in fields_of(RuleTable).items():
        with suppress(msgspec.ValidationError):
            if isinstance(value, dict) and name in value:
                valid[name] = msgspec.convert(value[name], hint)
    return broken_rule(Rule(**{"effect": "deny", **valid}), ())


def _servers_file(settings: Settings, locations: Locations) -> Path | None:
    """Return the configured file, relative to the settings; else the default one if it exists."""
    if settings.mcp:
        at_home = settings.mcp.startswith("~")
        return folder_at(settings.mcp if at_home else str(locations.config / settings.mcp))
    usual = locations.servers_file
    return usual if usual.exists() else None
