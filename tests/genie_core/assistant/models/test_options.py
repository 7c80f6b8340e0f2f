"""An option that a model would refuse is an error before a room opens."""

import pytest

from genie_core.assistant.build import build_assistant
from genie_core.assistant.config import AgentSpec, AssistantConfig, ModelChoice, ModelOptions
from genie_core.assistant.errors import RefusedOption
from genie_core.assistant.models.options import openai_settings, pydantic_settings


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")


@pytest.mark.parametrize(
    ("model", "options", "why"),
    [
        (
            "openai:gpt-5",
            ModelOptions(0.2),
            "temperature can't be set for model 'openai:gpt-5': it always",
        ),
        ("openai:gpt-5.2", ModelOptions(0.2, "high"), 'set effort to "none"'),
        ("anthropic:claude-opus-4-8", ModelOptions(0.2), "it takes none; remove it"),
        ("anthropic:claude-sonnet-4-6", ModelOptions(0.2, "low"), "while it thinks"),
        ("openai:gpt-4o", ModelOptions(effort="high"), "effort can't be set .* not known to think"),
    ],
)
def test_a_refused_option_is_named(model: str, options: ModelOptions, why: str) -> None:
    with pytest.raises(RefusedOption, match=why):
        build_assistant(AssistantConfig(model=model, options=options))


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("openai:gpt-4o", ModelOptions(0.2, "none", 1_000)),
        ("openai:gpt-5", ModelOptions(effort="low")),
        ("openai:gpt-5.2", ModelOptions(0.2, "none")),
        ("anthropic:claude-sonnet-4-6", ModelOptions(0.2)),
        ("anthropic:claude-sonnet-4-6", ModelOptions(effort="high", max_tokens=9_000)),
    ],
)
def test_other_options_are_taken(model: str, options: ModelOptions) -> None:
    build_assistant(AssistantConfig(model=model, options=options))


def test_the_error_names_the_setting() -> None:
    coder = AgentSpec("coder", "Writes.", model=ModelChoice("openai:o3"), options=ModelOptions(1))
    with pytest.raises(RefusedOption, match=r"^agents\.coder\.temperature can't"):
        build_assistant(AssistantConfig(model="openai:gpt-4o", agents=(coder,)))
    with pytest.raises(RefusedOption, match=r"^reasoner_effort can't"):
        build_assistant(
            AssistantConfig(model="openai:gpt-4o", reasoner_options=ModelOptions(effort="low"))
        )


async def test_refused_option_prevents_switch() -> None:
    config = AssistantConfig(model="openai:gpt-4o", options=ModelOptions(0.2))
    controls = build_assistant(config, owner="ann").controls
    with pytest.raises(RefusedOption):
        await controls.use_model("openai:gpt-5")
    assert controls.model == "openai:gpt-4o"


def test_a_fallback_is_checked_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    config = AssistantConfig(
        model="openai:gpt-4o", options=ModelOptions(0.2), fallback=ModelChoice("openai:gpt-5")
    )
    with pytest.raises(RefusedOption, match="gpt-5"):
        build_assistant(config)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    config = AssistantConfig(
        model="openai:gpt-4o", fallback=ModelChoice("anthropic:claude-sonnet-4-6")
    )
    assert any("ANTHROPIC_API_KEY" in notice for notice in build_assistant(config).notices)


def test_options_reach_both_libraries() -> None:
    assert pydantic_settings(ModelOptions()) == {}
    assert pydantic_settings(ModelOptions(0.0, "none", 5)) == {
        "temperature": 0.0,
        "thinking": False,
        "max_tokens": 5,
    }
    assert pydantic_settings(ModelOptions(effort="max")) == {"thinking": "max"}
    made = openai_settings(ModelOptions(0.5, "low", 7), timeout=9.0)
    assert made.reasoning is not None
    assert (made.temperature, made.reasoning.effort, made.max_tokens) == (0.5, "low", 7)
    assert made.extra_args is not None
    assert made.extra_args["timeout"].read == 9.0
    assert openai_settings(ModelOptions(), timeout=9.0).reasoning is None
