from functools import partial
from typing import Any

import pytest

from genie_core.agent import Agent, AgentFactory, AgentInfo, AsyncTool
from genie_core.errors import InvalidFactory, InvalidSetting, StageFailed, UnknownAgent
from genie_core.secrets import SecretsProvider
from genie_testing import ScriptedAgent, echo


class Vault(SecretsProvider):
    def get_secrets(self, username: str) -> dict[str, str] | None:
        if username == "mallory":
            raise PermissionError("locked")
        return {"KEY": username} if username == "alice" else None


def lone(_secrets: dict[str, str]) -> Agent:
    return ScriptedAgent()


def test_a_lone_agent_gets_the_owners_secrets() -> None:
    seen: list[dict[str, str]] = []

    def create(secrets: dict[str, str]) -> Agent:
        seen.append(secrets)
        return ScriptedAgent()

    factory = AgentFactory(create, secrets_provider=Vault())
    for owner in ("alice", "bob"):
        assert isinstance(factory.create_system_agent(owner, {}), ScriptedAgent)
    assert seen == [{"KEY": "alice"}, {}]


def test_coordinator_gets_tools_and_agents() -> None:
    seen: dict[str, Any] = {}

    def create(secrets: Any, extra_tools: Any, agent_infos: Any) -> Agent:
        seen.update(secrets=secrets, tools=extra_tools, infos=agent_infos)
        return ScriptedAgent()

    async def tool() -> None: ...

    factory = AgentFactory(create)
    search, math = AgentInfo("search", "finds"), AgentInfo("math", "reckons")
    factory.add_agent_factory_fn(lone, search)
    factory.add_agent_factory_fn(create, math)
    factory.create_system_agent("alice", {"run_subagent": tool})
    assert seen == {"secrets": {}, "tools": {"run_subagent": tool}, "infos": [search, math]}
    factory.create_agent("math", "alice", {})
    assert seen["infos"] == [factory.system_agent_info(), search]


@pytest.mark.parametrize(
    "function",
    [lone, partial(lambda extra, secrets: ScriptedAgent(), 1), lambda secrets, model="m": lone({})],
)
def test_secrets_only_callable_is_factory(function: Any) -> None:
    assert isinstance(AgentFactory(function).create_agent("system", "alice"), ScriptedAgent)


def test_coordinator_factory_has_defaults() -> None:
    def create(
        _secrets: Any, extra_tools: Any = None, agent_infos: list[AgentInfo] | None = None
    ) -> Agent:
        assert extra_tools == {}
        assert agent_infos == []
        return ScriptedAgent()

    AgentFactory(create).create_system_agent("alice", {})


def test_coroutine_function_is_refused() -> None:
    async def create(_secrets: dict[str, str]) -> Agent:
        return ScriptedAgent()

    bad: Any = create
    with pytest.raises(InvalidFactory, match=r"create.*without await"):
        AgentFactory(bad)


def test_misshapen_function_is_refused() -> None:
    bad: Any = lambda one, two: lone({})  # noqa: E731 - a function that is wrong on purpose
    with pytest.raises(InvalidFactory, match="secrets"):
        AgentFactory(bad)
    with pytest.raises(InvalidFactory):
        AgentFactory(lone).add_agent_factory_fn(bad, AgentInfo("x", "y"))


def test_system_agent_has_default_info() -> None:
    info = AgentFactory(lone).system_agent_info()
    assert (info.name, info.idle_timeout) == ("system", 600)
    own = AgentInfo("genie", "grants", idle_timeout=1.0)
    factory = AgentFactory(lone, system_agent_info=own)
    assert factory.agent_info("system") is factory.agent_info("genie") is own


def test_infos_can_leave_one_out() -> None:
    factory = AgentFactory(lone)
    for name in "abc":
        factory.add_agent_factory_fn(lone, AgentInfo(name, name))
    assert [info.name for info in factory.agent_infos()] == ["system", "a", "b", "c"]
    assert [info.name for info in factory.agent_infos(exclude="b")] == ["system", "a", "c"]
    assert [info.name for info in factory.agent_infos(exclude="system")] == ["a", "b", "c"]


def test_either_name_excludes_system_agent() -> None:
    factory = AgentFactory(lone, AgentInfo("genie", "grants"))
    assert factory.agent_infos(exclude="system") == factory.agent_infos(exclude="genie") == []


def test_unknown_name_lists_known_names() -> None:
    factory = AgentFactory(lone)
    factory.add_agent_factory_fn(lone, AgentInfo("search", "finds"))
    with pytest.raises(UnknownAgent, match="search"):
        factory.create_agent("serach", "alice")
    with pytest.raises(ValueError, match="nobody"):
        factory.agent_info("nobody")


@pytest.mark.parametrize("name", ["system", "taken", "", " "])
def test_a_name_must_be_free(name: str) -> None:
    factory = AgentFactory(lone)
    factory.add_agent_factory_fn(lone, AgentInfo("taken", ""))
    with pytest.raises(InvalidSetting):
        factory.add_agent_factory_fn(lone, AgentInfo(name, ""))


@pytest.mark.parametrize("timeout", [0.0, -1.0])
def test_a_senseless_idle_timeout_is_refused(timeout: float) -> None:
    with pytest.raises(InvalidSetting, match="idle_timeout"):
        AgentFactory(lone, AgentInfo("system", "", idle_timeout=timeout))


def test_settings_of_the_wrong_kind_are_refused() -> None:
    wrong: Any = "search"
    timeout: Any = "5"
    with pytest.raises(InvalidSetting, match="info must be an AgentInfo"):
        AgentFactory(lone, wrong)
    with pytest.raises(InvalidSetting, match="info must be an AgentInfo"):
        AgentFactory(lone).add_agent_factory_fn(lone, wrong)
    with pytest.raises(InvalidSetting, match=r"info\.idle_timeout must be"):
        AgentFactory(lone).add_agent_factory_fn(lone, AgentInfo("a", "", idle_timeout=timeout))
    with pytest.raises(InvalidSetting, match="secrets_provider must be a SecretsProvider"):
        AgentFactory(lone, secrets_provider=wrong)


def test_failures_say_which_stage_it_was() -> None:
    def broken(_secrets: dict[str, str]) -> Agent:
        raise RuntimeError("no model")

    nothing: Any = lambda secrets: None  # noqa: E731 - a factory that is wrong on purpose
    for owner, function, stage in [
        ("mallory", lone, "secrets"),
        ("alice", broken, "factory"),
        ("alice", nothing, "factory"),
    ]:
        with pytest.raises(StageFailed, match=owner) as caught:
            AgentFactory(function, secrets_provider=Vault()).create_agent("system", owner)
        assert caught.value.stage == stage


async def test_a_subclass_makes_agents_in_its_own_way() -> None:
    class Own(AgentFactory):
        def create_agent(
            self, name: str, owner: str, extra_tools: dict[str, AsyncTool] | None = None
        ) -> Agent:
            return ScriptedAgent(echo) if owner == "alice" else super().create_agent(name, owner)

    factory = Own(refuse)
    assert isinstance(await factory.make_agent("system", "alice"), ScriptedAgent)
    with pytest.raises(StageFailed):
        await factory.make_agent("system", "bob")


def refuse(_secrets: dict[str, str]) -> Agent:
    raise RuntimeError("never made this way")
