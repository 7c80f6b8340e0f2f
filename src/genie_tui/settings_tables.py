"""The tables inside the settings, each turned into what the assistant takes."""

from typing import Annotated, Literal, TypeAlias

import msgspec

from genie_core.assistant.config import AgentSpec, Budget, ModelChoice, Rule, Runtime, ToolLimits
from genie_core.room.engine.policy import Effect
from genie_core.sessions.retention import RetentionLimits

Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=86_400)]
Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=100_000_000)]


class BudgetTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[budget]`; as `Budget`."""

    money: Annotated[float, msgspec.Meta(ge=0, le=1_000_000)] = 0.0
    tokens: Annotated[int, msgspec.Meta(ge=0)] = 0

    def budget(self) -> Budget:
        """What the assistant takes."""
        return Budget(self.money, self.tokens)


class RetentionTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[retention]`; how long saved rooms are kept and how much they may take. 0 is no limit."""

    max_age_days: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0
    max_total_mb: Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)] = 0

    def limits(self) -> RetentionLimits:
        """Return them as sessions are measured by them."""
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
        """What the assistant takes."""
        return ToolLimits(**msgspec.structs.asdict(self))


class RuleTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of `[[rules]]`; as `Rule`."""

    effect: Effect
    tool: str = "*"
    agent: str = "*"
    risk: Literal["", "read", "write", "execute", "network", "unknown"] = ""
    arguments: dict[str, str] = msgspec.field(default_factory=dict)

    def rule(self) -> Rule:
        """What the assistant takes."""
        return Rule(**msgspec.structs.asdict(self))


class AgentTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.NAME]`; as `AgentSpec`."""

    description: str
    prompt: str = ""
    model: str = ""
    base_url: str = ""
    runtime: Runtime | None = None
    tools: tuple[str, ...] | None = None
    servers: tuple[str, ...] = ()
    idle_timeout: Annotated[float, msgspec.Meta(gt=0, le=1_000_000_000)] = 600.0
    emoji: str = ""
    api_key_env: str = ""

    def agent(self, name: str) -> AgentSpec:
        """What the assistant takes."""
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
        )
