import re
import tomllib
from pathlib import Path

import pytest

from genie_core.assistant.agents import roles_of
from genie_core.assistant.config import AgentSpec, AssistantConfig
from genie_core.assistant.errors import UnknownTemplate, UnusableAgent
from genie_core.assistant.prompts import shipped_dir
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.usable import usable

TEAM = (
    AgentSpec("researcher", "Looks things up."),
    AgentSpec("helper", "Helps.", prompt="reviewer", tools=("calculate",), servers=("wiki",)),
)
SERVERS = {name: ServerSpec(name, command=name) for name in ("wiki", "tracker")}


def test_lone_assistant_has_all_tools() -> None:
    (alone,) = roles_of(AssistantConfig(), SERVERS, "ann")
    assert alone.name == "system"
    assert not alone.coordinates
    assert "run_subagent" not in alone.tool_names
    assert "calculate" in alone.tools
    assert not {"read_file", "run_command", "search_rooms"} & set(alone.tools)
    assert [each.name for each in alone.servers] == ["wiki", "tracker"]
    assert "{" not in alone.prompt


def test_with_agents_it_is_told_who_they_are() -> None:
    coordinator, researcher, helper = roles_of(
        AssistantConfig(agents=TEAM, servers=("tracker",)), SERVERS, "ann"
    )
    assert coordinator.tool_names[-1] == "run_subagent"
    assert "- researcher: Looks things up.\n- helper: Helps." in coordinator.prompt
    assert "You work for ann" in coordinator.prompt
    assert [each.name for each in coordinator.servers] == ["tracker"]
    assert "work for\nann" in researcher.prompt.replace("work for ann", "work for\nann")
    assert researcher.servers == ()
    assert "You review" in helper.prompt
    assert helper.tool_names == ("calculate",)
    assert [each.name for each in helper.servers] == ["wiki"]


def test_own_prompt_ends_with_agents(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "coordinator.md").write_text("You lead.", encoding="utf-8")
    coordinator, *_ = roles_of(AssistantConfig(agents=TEAM, prompts_dir=tmp_path), SERVERS, "ann")
    assert coordinator.prompt.startswith("You lead.")
    assert coordinator.prompt.endswith("- researcher: Looks things up.\n- helper: Helps.")


def test_directed_agent_lists_no_agents(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "poet.md").write_text("A poet of {owner}. Agents: {agents}")
    config = AssistantConfig(agents=(AgentSpec("poet", "Rhymes."),), prompts_dir=tmp_path)
    _, poet = roles_of(config, {}, "ann")
    assert poet.prompt == "A poet of ann. Agents: (none)"


@pytest.mark.parametrize("name", ["system", "Genie", "reasoner", "a/b", "a:b", "a b", "", "x" * 41])
def test_confusing_names_are_refused(name: str) -> None:
    spec = AgentSpec(name, "Does something.", prompt="reviewer")
    with pytest.raises(UnusableAgent):
        roles_of(AssistantConfig(agents=(spec,)), {}, "ann")


def test_two_agents_cant_have_the_same_name() -> None:
    twice = (AgentSpec("coder", "One."), AgentSpec("Coder", "Two.", prompt="coder"))
    with pytest.raises(UnusableAgent, match="taken"):
        roles_of(AssistantConfig(agents=twice), {}, "ann")


def test_unknown_name_suggests_nearest() -> None:
    (tool,) = usable(AssistantConfig(tools=("calculat",)), {}).problems
    assert re.search(r"the tool 'calculat' of the assistant .*'calculate'", str(tool))
    (server,) = usable(AssistantConfig(agents=TEAM), {}).problems
    named = r"the tool server 'wiki' of the agent 'helper' does not exist.*none"
    assert re.search(named, str(server))
    with pytest.raises(UnknownTemplate, match="coordinator"):
        roles_of(AssistantConfig(agents=(AgentSpec("coordinato", "?"),)), {}, "ann")


def test_the_shipped_team_can_be_had_as_it_is(tmp_path: Path) -> None:
    team = tomllib.loads((shipped_dir() / "team.toml").read_text("utf-8"))["agents"]
    specs = tuple(
        AgentSpec(name, each["description"], tools=tuple(each["tools"]), emoji=each["emoji"])
        for name, each in team.items()
    )
    config = AssistantConfig(agents=specs, workspace=tmp_path, rooms=tmp_path)
    coordinator, *agents = roles_of(config, {}, "ann")
    assert [each.name for each in agents] == ["researcher", "coder", "reviewer"]
    for role, spec in zip(agents, specs, strict=True):
        assert set(role.tools) == set(spec.tools or ())
        assert "ann" in role.prompt
        assert "{" not in role.prompt
    assert "run_subagent" in coordinator.prompt
