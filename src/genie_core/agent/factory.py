"""Create a person's agents."""

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from genie_core.agent.base import Agent, AgentInfo, AsyncTool
from genie_core.errors import InvalidFactory, InvalidSetting, StageFailed, UnknownAgent
from genie_core.message import SYSTEM
from genie_core.runtime.progress import stage
from genie_core.secrets import SecretsProvider, fetch_secrets, secrets_of
from genie_core.validation import check_setting, check_timeout

SingleAgentFactoryFn: TypeAlias = Callable[[dict[str, str]], Agent]
"""Creates an agent that works alone, from a person's secrets."""

MultiAgentFactoryFn: TypeAlias = Callable[
    [dict[str, str], dict[str, AsyncTool], list[AgentInfo]], Agent
]
"""Creates an agent that directs others, from secrets, the tools to run them, and their infos."""

DEFAULT_IDLE_TIMEOUT: Final = 600.0
"""Seconds without a query after which the system agent is closed, by default."""


class AgentFactory:
    """Creates the system agent and the agents that it may direct.

    Secrets are looked up for each agent.
    """

    def __init__(
        self,
        system_agent_factory: SingleAgentFactoryFn | MultiAgentFactoryFn,
        system_agent_info: AgentInfo | None = None,
        secrets_provider: SecretsProvider | None = None,
    ) -> None:
        check_setting("secrets_provider", secrets_provider, SecretsProvider, optional=True)
        self._system_info = system_agent_info or AgentInfo(
            name=SYSTEM,
            description="Answers the queries that a group's conversation gives rise to",
            idle_timeout=DEFAULT_IDLE_TIMEOUT,
        )
        _check_info(self._system_info)
        self._system_create = _as_multi(system_agent_factory)
        self._secrets_provider = secrets_provider
        self._infos: dict[str, AgentInfo] = {}
        self._creates: dict[str, MultiAgentFactoryFn] = {}

    def add_agent_factory_fn(
        self, factory_fn: SingleAgentFactoryFn | MultiAgentFactoryFn, info: AgentInfo
    ) -> None:
        """Register an agent under the name in its info; the name must be free."""
        _check_info(info)
        if info.name in {SYSTEM, self._system_info.name} or info.name in self._infos:
            raise InvalidSetting("info.name", info.name, "a name that is not taken yet")
        self._creates[info.name] = _as_multi(factory_fn)
        self._infos[info.name] = info

    def agent_info(self, name: str) -> AgentInfo:
        """Return the info of an agent; raises `UnknownAgent`."""
        if name in {SYSTEM, self._system_info.name}:
            return self._system_info
        try:
            return self._infos[name]
        except KeyError:
            raise UnknownAgent(name, sorted(self._infos)) from None

    def agent_infos(self, exclude: str | None = None) -> list[AgentInfo]:
        """Return the infos of all agents but one: the system agent, then by registration."""
        if exclude == SYSTEM:
            exclude = self._system_info.name
        return [info for info in (self._system_info, *self._infos.values()) if info.name != exclude]

    def system_agent_info(self) -> AgentInfo:
        return self._system_info

    def create_agent(
        self, name: str, owner: str, extra_tools: dict[str, AsyncTool] | None = None
    ) -> Agent:
        """Create the agent with that name for a person.

        Raises:
            UnknownAgent: there is none.
            StageFailed: the secrets or the factory function failed; it says which.
        """
        self.agent_info(name)
        return self._create(name, owner, secrets_of(owner, self._secrets_provider), extra_tools)

    async def make_agent(
        self, name: str, owner: str, extra_tools: dict[str, AsyncTool] | None = None
    ) -> Agent:
        """Call `create_agent`, without blocking the event loop for secrets.

        Uses a subclass's own `create_agent`.
        """
        if type(self).create_agent is not AgentFactory.create_agent:
            return self.create_agent(name, owner, extra_tools)
        self.agent_info(name)
        secrets = await fetch_secrets(owner, self._secrets_provider)
        return self._create(name, owner, secrets, extra_tools)

    def create_system_agent(self, owner: str, extra_tools: dict[str, AsyncTool]) -> Agent:
        """Create the system agent of a person."""
        return self.create_agent(SYSTEM, owner, extra_tools)

    def _create(
        self,
        name: str,
        owner: str,
        secrets: dict[str, str],
        extra_tools: dict[str, AsyncTool] | None,
    ) -> Agent:
        info = self.agent_info(name)
        create = self._system_create if info is self._system_info else self._creates[name]
        subject = f"factory of agent {info.name!r} for {owner}"
        with stage("factory", subject):
            agent = create(secrets, dict(extra_tools or {}), self.agent_infos(exclude=name))
        if not isinstance(agent, Agent):
            raise StageFailed("factory", subject, f"returned {type(agent).__name__}, not an Agent")
        return agent


def _as_multi(function: SingleAgentFactoryFn | MultiAgentFactoryFn) -> MultiAgentFactoryFn:
    """Convert both kinds of factory function to one signature.

    A function that needs only the secrets creates an agent that works alone, even if it has further
    parameters with defaults, unless these have the names of a coordinator's parameters.
    """
    if inspect.iscoroutinefunction(function):
        raise InvalidFactory(_name_of(function), "factory(secrets), without await")
    if _accepts(function, 1) and not _names_what_coordinators_get(function):
        single = cast("SingleAgentFactoryFn", function)
        return lambda secrets, _tools, _infos: single(secrets)
    if _accepts(function, 3):
        return cast("MultiAgentFactoryFn", function)
    raise InvalidFactory(
        _name_of(function), "factory(secrets) or factory(secrets, extra_tools, agent_infos)"
    )


def _accepts(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*(None,) * count)
    except (TypeError, ValueError):
        return False
    return True


def _names_what_coordinators_get(function: Callable[..., Any]) -> bool:
    return _accepts(function, 3) and {"extra_tools", "agent_infos"} <= set(
        inspect.signature(function).parameters
    )


def _name_of(function: object) -> str:
    return str(getattr(function, "__name__", repr(function)))


def _check_info(info: AgentInfo) -> None:
    check_setting("info", info, AgentInfo)
    check_setting("info.name", info.name, str)
    if not info.name.strip():
        raise InvalidSetting("info.name", info.name, "a name")
    check_timeout("info.idle_timeout", info.idle_timeout)
