"""Broken parts of a configuration at every place, beside parts that work."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from genie_core.assistant.build import build_assistant
from genie_core.assistant.config import AgentSpec, AssistantConfig, ModelChoice, Rule
from genie_core.assistant.errors import UnknownTemplate
from genie_core.assistant.usable import refused_texts, usable

KEYS: Mapping[str, str] = {}
GOOD = [AgentSpec(name, "Does it.", prompt="general") for name in ("coder", "writer")]
BROKEN_AGENTS = [
    (AgentSpec("a b", "x", prompt="general"), "letters, digits"),
    (AgentSpec("system", "x", prompt="general"), "the name is taken"),
    (AgentSpec("CODER", "x", prompt="general"), "the name is taken"),
    (AgentSpec("x", "x", prompt="absent"), "no agent template is called 'absent'"),
    (AgentSpec("x", "x", prompt="bad"), "bad.md can't be read: it is not UTF-8 text at line 2"),
    (AgentSpec("x", "x", prompt="odd"), "{nobody}"),
    (AgentSpec("x", "x", "general", ModelChoice("nobody:m")), "nobody"),
    (AgentSpec("x", "x", "general", ModelChoice("m", "ftp://h")), "base_url"),
    (AgentSpec("x", "x", "general", runtime="acp"), "acp needs a command"),
    (AgentSpec("x", "x", command=("no-such-program",)), "no-such-program"),
]


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    for kind in ("agent", "reasoner"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "bad.md").write_bytes(b"Help.\n\xff\xfe")
        (tmp_path / kind / "odd.md").write_text("Help {nobody}.")
    return tmp_path


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(("spec", "said"), BROKEN_AGENTS)
def test_broken_agent_leaves_out_itself(
    prompts: Path, spec: AgentSpec, said: str, place: int
) -> None:
    agents = [*GOOD]
    agents.insert(place, spec)
    if spec.name == "CODER" and place == 0:
        agents = [agents[1], agents[0], agents[2]]
    config = AssistantConfig(agents=tuple(agents), prompts_dir=prompts)
    found = usable(config, KEYS)
    assert [each.name for each in found.config.agents] == ["coder", "writer"]
    (problem,) = found.problems
    assert said in str(problem)
    assert repr(spec.name) in str(problem)
    assistant = build_assistant(config)
    assert assistant.notices == (str(problem),)
    assert tuple(assistant.controls.problems) == (str(problem),)


def test_unknown_names_in_lists_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    table = {"git": {"command": "x"}, "off": {"command": "x", "disabled": True}, "bad": 3}
    file.write_text(json.dumps({"mcpServers": table}))
    agent = AgentSpec("coder", "x", "general", tools=("calculat",), servers=("bad", "web", "git"))
    found = usable(
        AssistantConfig(
            tools=("calculate", "weekdy"),
            servers=("git", "gti", "off"),
            servers_file=file,
            agents=(agent,),
        ),
        KEYS,
    )
    assert found.config.tools == ("calculate",)
    assert found.config.servers == ("git",)
    assert found.config.agents[0].tools == ()
    assert found.config.agents[0].servers == ("git",)
    said = [str(each) for each in found.problems]
    assert [line for line in said if "server 'bad': it must be an object" in line]
    for part in ("'weekdy' of the assistant", "'gti' of the assistant", "'calculat' of the agent"):
        assert [line for line in said if part in line and "did you mean" in line]
    assert [line for line in said if "'web' of the agent 'coder' does not exist" in line]
    assert len(said) == 5


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Rule("deny", path="*.[env"), "rule 2 is not used: path=*.[env: [ is not closed"),
        (Rule("ask", ""), "rule 2 is not used: tool is empty"),
        (Rule("deny", command="x" * 401), "rule 2 is not used: command has more than 400"),
        (Rule("deny", command="'git push*"), "command='git push*: its quotes do not match"),
        (Rule("deny", path="./prod.env"), "path=./prod.env matches no file"),
        (Rule("deny", path="~/secrets/*"), "path=~/secrets/* matches no file"),
        (Rule("ask", path="secrets/"), "path=secrets/ matches no file"),
        (Rule("deny", path="*.env "), "path=*.env  matches no file"),
    ],
)
def test_rule_with_a_faulty_pattern_asks(rule: Rule, said: str) -> None:
    found = usable(AssistantConfig(rules=(Rule("allow", "a"), rule, Rule("allow", "b"))), KEYS)
    one, two, three = found.config.rules
    assert (one.tool, two, three.tool) == ("a", Rule(rule.effect, broken=True), "b")
    assert said in str(found.problems[0])


def test_models_beside_the_main_one_are_left_out() -> None:
    config = AssistantConfig(fallback=ModelChoice("nobody:x"), summary=ModelChoice("nobody:y"))
    found = usable(config, KEYS)
    assert (found.config.fallback, found.config.summary) == (ModelChoice(), ModelChoice())
    first, second = map(str, found.problems)
    assert first.startswith("fallback_model is not used: ")
    assert second.startswith("summary_model is not used: ")


def test_shipped_prompt_replaces_a_broken_one(prompts: Path) -> None:
    (prompts / "agent" / "general.md").write_bytes(b"\xff")
    (prompts / "reasoner" / "general_assist.md").write_text("Decide for {whom}.")
    assistant = build_assistant(AssistantConfig(prompts_dir=prompts))
    assert len(assistant.notices) == 2
    assert any("general_assist.md" in each and "whom" in each for each in assistant.notices)
    assert any("general.md can't be read" in each for each in assistant.notices)


def test_broken_template_answers_only_mentions(prompts: Path) -> None:
    found = usable(AssistantConfig(template="bad", prompts_dir=prompts), KEYS)
    assert found.config.template == "mention_only"
    assert "only messages to @genie are answered" in str(found.problems[1])
    with pytest.raises(UnknownTemplate):
        build_assistant(AssistantConfig(template="absent", prompts_dir=prompts))


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": 3}', "{}"])
async def test_broken_servers_file_costs_only_servers(tmp_path: Path, content: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(content)
    assistant = build_assistant(AssistantConfig(servers_file=file))
    (notice,) = assistant.notices
    assert notice.startswith(str(file))
    (server,) = assistant.controls.servers
    assert (server.name, server.state, server.detail) == ("mcp.json", "left out", notice)


def test_broken_server_is_listed_with_the_others(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    table: dict[str, Any] = {"bad": {"type": "ws"}, "git": {"command": "x"}}
    file.write_text(json.dumps({"mcpServers": table}))
    assistant = build_assistant(AssistantConfig(servers_file=file))
    states = {each.name: each.state for each in assistant.controls.servers}
    assert states == {"git": "idle", "bad": "left out"}


def test_texts_that_are_left_out_are_named(tmp_path: Path) -> None:
    (tmp_path / "skills" / "x").mkdir(parents=True)
    (tmp_path / "skills" / "x" / "SKILL.md").write_text("---\nname: x\n---\n")
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands" / "go.md").write_text(" ")
    (tmp_path / "AGENTS.md").write_bytes(b"\xff")
    config = AssistantConfig(own_texts=tmp_path)
    assert len(refused_texts(config)) == 3
    assert tuple(build_assistant(config).controls.problems) == tuple(refused_texts(config))


def test_missing_servers_file_is_named(tmp_path: Path) -> None:
    (notice,) = build_assistant(AssistantConfig(servers_file=tmp_path / "gone.json")).notices
    assert notice == f"mcp: file not found: {tmp_path / 'gone.json'}"
