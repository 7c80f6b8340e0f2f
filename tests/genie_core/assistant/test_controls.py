from pathlib import Path

import pytest

from genie_core.assistant.build import build_assistant
from genie_core.assistant.config import AgentSpec, AssistantConfig, Budget, Rule
from genie_core.assistant.errors import MissingVariable
from genie_core.room.engine.approval_policy import ToolCall
from genie_core.room.engine.controls import Allowance
from genie_core.runtime.progress import Usage
from genie_core.secrets import SecretsProvider

CODER = AgentSpec("coder", "Writes code.", tools=("calculate",))


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def test_agents_show_model_and_runtime() -> None:
    config = AssistantConfig(model="openai:big", runtime="openai-agents", agents=(CODER,))
    controls = build_assistant(config, owner="ann").controls
    assert [(each.name, each.model, each.runtime) for each in controls.agents] == [
        ("system", "openai:big", "openai-agents"),
        ("coder", "openai:big", "openai-agents"),
        ("reasoner", "openai:big", "pydantic-ai"),
    ]
    assert [each.coordinator for each in controls.agents] == [True, False, False]
    controls = build_assistant(AssistantConfig(template="mention_only")).controls
    assert [each.name for each in controls.agents] == ["system"]


def test_tools_show_rule_effect() -> None:
    rules = (Rule("deny", "calculate", "coder"),)
    assistant = build_assistant(AssistantConfig(agents=(CODER,), rules=rules), owner="ann")
    told = {(each.agent, each.name): each for each in assistant.controls.tools}
    assert told["coder", "calculate"].effect == "deny"
    assert told["system", "calculate"].effect == "allow"
    assert told["system", "calculate"].description
    assert told["system", "run_subagent"].effect == "allow"
    assert told["system", "fetch_url"].effect == "ask"
    assert ("coder", "fetch_url") not in told


def test_risk_is_known_for_own_tools() -> None:
    assistant = build_assistant(AssistantConfig(agents=(CODER,)))

    def with_policy(agent: str, tool: str) -> tuple[str, str]:
        result = assistant.policy.evaluate(ToolCall("ann", agent, tool, {}))
        return result.effect, result.risk

    assert with_policy("system", "calculate") == ("allow", "read")
    assert with_policy("coder:1a2b", "calculate") == ("allow", "read")
    assert with_policy("coder:1a2b", "current_time") == ("ask", "unknown")
    assert with_policy("stranger:1", "calculate") == ("ask", "unknown")
    assert with_policy("system", "read_file") == ("ask", "unknown")  # there is no workspace


async def test_another_model_is_shown_or_refused() -> None:
    controls = build_assistant(AssistantConfig(model="openai:big")).controls
    assert await controls.use_model("offline") == "offline helper"
    assert (controls.model, controls.agents[0].model) == ("", "offline helper")
    assert {each.runtime for each in controls.agents} == {""}
    with pytest.raises(MissingVariable):
        await controls.use_model("anthropic:claude-sonnet-4-5")
    assert controls.model == ""
    assert await controls.use_model("openai:small") == controls.model == "openai:small"


class Stored(SecretsProvider):
    """Secrets to which others can be added."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get_secrets(self, username: str) -> dict[str, str]:
        assert username == "ann"
        return dict(self.values)


async def test_newly_stored_secret_is_found() -> None:
    stored = Stored()
    controls = build_assistant(AssistantConfig(), stored, "ann").controls
    with pytest.raises(MissingVariable):
        await controls.use_model("anthropic:claude-sonnet-4-5")
    stored.values["ANTHROPIC_API_KEY"] = "sk-none"
    assert await controls.use_model("anthropic:claude-sonnet-4-5") == "anthropic:claude-sonnet-4-5"


def test_the_budget_counts_what_was_spent_before() -> None:
    controls = build_assistant(AssistantConfig(budget=Budget(tokens=100))).controls
    controls.begin(Usage("m", 1, 90, 20))
    assert controls.allowance == Allowance(tokens=110, token_limit=100)
    assert controls.raise_budget(tokens=50) == Allowance(tokens=110, token_limit=150)


def test_what_has_no_effect_is_told_once() -> None:
    config = AssistantConfig(runtime="openai-agents", template="fact_check")
    template, runtime = build_assistant(config).notices
    assert "fact_check" in template
    assert "openai-agents" in runtime


async def test_readable_files_are_listed(tmp_path: Path) -> None:
    for name in ("src/app.py", "out/a.log", ".hidden", "server.key", "denied.txt", "é \n.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("out/\n")
    rules = (Rule("deny", "read_file", path="denied.txt"),)
    assistant = build_assistant(AssistantConfig(workspace=tmp_path, rules=rules))
    assert await assistant.controls.workspace_files() == [".gitignore", "src/app.py"]
    assert await build_assistant(AssistantConfig()).controls.workspace_files() == ()
