import pytest

from genie_core.assistant.config import AgentSpec, AssistantConfig, ModelChoice, Runtime
from genie_core.assistant.errors import MissingVariable, UnknownProvider
from genie_core.assistant.models import make
from genie_core.assistant.models.chosen_models import ModelBinding, ModelRegistry

KEYS = {"OPENAI_API_KEY": "sk-none"}
LOCAL = "http://127.0.0.1:9/v1"


def lineup(**settings: object) -> ModelRegistry:
    return ModelRegistry(AssistantConfig(**settings), KEYS)  # type: ignore[arg-type]  # as a test needs


def test_unset_choice_follows_assistant() -> None:
    rack = lineup(model="openai:big", runtime="openai-agents")
    assert rack.binding(ModelChoice()) == ModelBinding("openai-agents", ModelChoice("openai:big"))
    own = ModelChoice("openai:small")
    assert rack.binding(own, "pydantic-ai") == ModelBinding("pydantic-ai", own)


def test_offline_helper_uses_own_library() -> None:
    rack = lineup(runtime="openai-agents")
    binding = rack.binding(ModelChoice(), "openai-agents")
    assert binding == ModelBinding("pydantic-ai", ModelChoice())
    assert binding.label == "offline helper"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("offline", ModelChoice()),
        (" Offline ", ModelChoice()),
        ("qwen3:8b", ModelChoice("qwen3:8b", LOCAL)),
        ("other", ModelChoice("other", LOCAL)),
        ("anthropic:claude", ModelChoice("anthropic:claude")),
    ],
)
def test_bare_name_means_configured_server(typed: str, meant: ModelChoice) -> None:
    assert lineup(model="mine", base_url=LOCAL).choice_of(typed) == meant


def test_same_provider_keeps_address() -> None:
    rack = lineup(model="openai:mine", base_url=LOCAL)
    assert rack.choice_of("openai:other") == ModelChoice("openai:other", LOCAL)


def test_unusable_choice_changes_nothing() -> None:
    rack = lineup(model="openai:big")
    with pytest.raises(MissingVariable, match="DEEPSEEK_API_KEY"):
        rack.check(rack.choice_of("deepseek:chat"))
    with pytest.raises(UnknownProvider):
        rack.check(rack.choice_of("nonsense"))
    assert rack.main == ModelChoice("openai:big")
    assert rack.version == 1


def test_every_change_is_another_version() -> None:
    rack = lineup(model="openai:big")
    rack.put(ModelChoice())
    assert (rack.version, rack.binding(ModelChoice()).label) == (2, "offline helper")
    rack.use_keys(KEYS)
    assert rack.version == 2
    rack.use_keys({"OPENAI_API_KEY": "sk-other"})
    assert rack.version == 3


def test_models_are_rebuilt_for_new_keys() -> None:
    rack = lineup(model="openai:big")
    model = rack.for_pydantic_ai(rack.main)
    assert rack.for_pydantic_ai(rack.main) is model
    rack.use_keys({"OPENAI_API_KEY": "sk-other"})
    assert rack.for_pydantic_ai(rack.main) is not model


@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
def test_what_was_checked_is_set_up_already(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    rack = lineup(model="openai:big", runtime=runtime)
    rack.check(ModelChoice("openai:small"))

    def not_again(*_: object) -> None:
        raise AssertionError("a run waits for what was done before")

    monkeypatch.setattr(make, "pydantic_model", not_again)
    monkeypatch.setattr(make, "openai_model", not_again)
    assert rack.for_pydantic_ai(ModelChoice("openai:small")).model_name == "small"
    if runtime == "openai-agents":
        rack.for_openai_agents(ModelChoice("openai:small"))


def test_switch_applies_to_other_library() -> None:
    rack = lineup(
        model="openai:big", agents=(AgentSpec("coder", "Writes code.", runtime="openai-agents"),)
    )
    rack.check(ModelChoice("openai:small"))
    with pytest.raises(Exception, match="anthropic"):
        ModelRegistry(
            AssistantConfig(model="openai:big", runtime="openai-agents"),
            {**KEYS, "ANTHROPIC_API_KEY": "x"},
        ).check(ModelChoice("anthropic:claude-sonnet-4-5"))
