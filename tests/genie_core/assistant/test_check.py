from pathlib import Path

import pytest

from genie_core.assistant.check import check_choice, check_config, faults
from genie_core.assistant.config import AgentSpec, AssistantConfig, ModelChoice
from genie_core.assistant.errors import (
    MissingVariable,
    OtherRuntimeNeeded,
    UnknownPlaceholder,
    UnknownProvider,
    UnknownTemplate,
    WorkspaceError,
    WrongAddress,
    WrongKeyName,
)

KEY = {"OPENAI_API_KEY": "key"}


def test_the_defaults_are_fine() -> None:
    check_config(AssistantConfig(), {})


def test_each_wrong_setting_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingVariable, match="OPENAI_API_KEY"):
        check_config(AssistantConfig(model="openai:gpt-5"), {})
    with pytest.raises(UnknownTemplate, match="mention_only"):
        check_config(AssistantConfig(template="mention-only"), {})
    with pytest.raises(WorkspaceError, match="missing"):
        check_config(AssistantConfig(workspace=tmp_path / "missing"), {})


def test_everything_that_is_wrong_is_told_once(tmp_path: Path) -> None:
    config = AssistantConfig("openai:g", "mention-only", tmp_path / "missing", tmp_path)
    key, template, workspace = faults(config, {})
    assert "OPENAI_API_KEY" in str(key)
    assert "mention-only" in str(template)
    assert "missing" in str(workspace)


def test_good_settings_pass(tmp_path: Path) -> None:
    config = AssistantConfig("openai:gpt-5", "fact_check", tmp_path, tmp_path / "no-prompts")
    check_config(config, {"OPENAI_API_KEY": "key"})


def test_reasoner_and_agents_are_checked() -> None:
    with pytest.raises(MissingVariable, match="ANTHROPIC_API_KEY"):
        check_config(AssistantConfig("openai:g", reasoner=ModelChoice("anthropic:c")), KEY)
    coder = AgentSpec("general", "codes", model=ModelChoice("opnai:g"))
    with pytest.raises(UnknownProvider, match="did you mean openai"):
        check_config(AssistantConfig("openai:g", agents=(coder,)), KEY)
    check_config(AssistantConfig("openai:g", agents=(AgentSpec("general", "codes"),)), KEY)


def test_a_missing_key_says_how_to_store_it() -> None:
    with pytest.raises(MissingVariable, match="genie-tui secrets set OPENAI_API_KEY"):
        check_choice(ModelChoice("openai:g"), {})


def test_unfit_runtime_is_named() -> None:
    keys = {"ANTHROPIC_API_KEY": "key"}
    for config in (
        AssistantConfig("anthropic:c", runtime="openai-agents"),
        AssistantConfig("anthropic:c", agents=(AgentSpec("general", "", runtime="openai-agents"),)),
    ):
        with pytest.raises(OtherRuntimeNeeded, match="set the runtime to pydantic-ai"):
            check_config(config, keys)
    check_config(AssistantConfig("anthropic:c"), keys)
    check_config(AssistantConfig(runtime="openai-agents"), {})


def test_agent_prompt_is_checked(tmp_path: Path) -> None:
    with pytest.raises(UnknownTemplate, match="agent template is called 'poet'"):
        check_config(AssistantConfig(agents=(AgentSpec("poet", "writes"),)), {})
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "poet.md").write_text("For {owner}\non {topic}", "utf-8")
    config = AssistantConfig(agents=(AgentSpec("poet", "writes"),), prompts_dir=tmp_path)
    with pytest.raises(UnknownPlaceholder, match=r"poet.md, line 2: .*\{topic\}"):
        check_config(config, {})


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1:1234", "write it like http://"),
        ("ftp://host/v1", "write it like http://"),
        ("http:///v1", "write it like http://"),
        ("http://host:port/v1", "[Pp]ort"),
        ("http://[::1/v1", "IPv6"),
        ("http://host/v1 ", "a character"),
        ("http://me:secret@host/v1", "store a key as a secret"),
        ("http://me:secret@[::1/v1", "IPv6"),
        ("https://host/v1?key=secret", "store a key as a secret"),
    ],
)
def test_wrong_address_hides_credentials(address: str, why: str) -> None:
    with pytest.raises(WrongAddress, match=why) as wrong:
        check_choice(ModelChoice("m", address), {})
    assert "secret@" not in str(wrong.value)
    assert "=secret" not in str(wrong.value)


def test_address_needs_only_model() -> None:
    with pytest.raises(WrongAddress, match="it needs a model"):
        check_choice(ModelChoice("", "http://127.0.0.1:1234/v1"), {})
    check_choice(ModelChoice("qwen3:8b", "http://127.0.0.1:1234/v1"), {}, "openai-agents")


def test_key_name_is_checked_key_is_hidden() -> None:
    address = "http://127.0.0.1:1/v1"
    check_choice(ModelChoice("m", address, "MY_KEY"), {"MY_KEY": "x"})
    with pytest.raises(MissingVariable, match="MY_KEY"):
        check_choice(ModelChoice("m", address, "MY_KEY"), {})
    with pytest.raises(WrongKeyName, match="never a key") as caught:
        check_choice(ModelChoice("m", address, "sk-this-is-a-key"), {})
    assert "sk-" not in str(caught.value)
    with pytest.raises(WrongKeyName, match="it needs a base_url"):
        check_choice(ModelChoice("openai:m", key_name="MY_KEY"), {"MY_KEY": "x"})
