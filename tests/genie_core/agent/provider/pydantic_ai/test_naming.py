import os
from functools import partial

import pytest
from pydantic_ai.models.test import TestModel

from genie_core.agent.provider.pydantic_ai import DefaultAgent, DefaultGroupReasoner
from genie_core.agent.provider.pydantic_ai.naming import current_name, model_named
from genie_core.errors import ModelFailed


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("google-gla:gemini-3-flash-preview", "google:gemini-3-flash-preview"),
        ("google-vertex:gemini-2.5-flash", "google-cloud:gemini-2.5-flash"),
        ("gemini-2.5-flash", "google:gemini-2.5-flash"),
        ("gpt-5", "openai:gpt-5"),
        ("claude-opus", "anthropic:claude-opus"),
        ("openai:gpt-5", "openai:gpt-5"),
        ("ollama:gemini:latest", "ollama:gemini:latest"),
        ("somebody-elses", "somebody-elses"),
    ],
)
def test_old_names_lead_to_the_models_of_today(name: str, now: str) -> None:
    assert current_name(name) == now


def test_an_old_name_is_enough_to_set_up_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    assert model_named("google-gla:gemini-3-flash-preview").model_name == "gemini-3-flash-preview"


def test_a_model_is_taken_as_it_is() -> None:
    assert model_named(model := TestModel()) is model


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        (
            "openai:gpt-5",
            "key",
            (
                "model 'openai:gpt-5' at openai does not accept the key (usually OPENAI_API_KEY): there "
                "is none, OPENAI_API_KEY must be set; use a valid key that may use this model"
            ),
        ),
        ("openrouter:some/model", "key", "OPENROUTER_API_KEY must be set"),
        ("vercel:a", "key", "VERCEL_AI_GATEWAY_API_KEY or VERCEL_OIDC_TOKEN must be set"),
        ("ollama:llama", "model", "does not exist there: OLLAMA_BASE_URL must be set"),
        ("somebody:else", "model", "model 'somebody:else' at somebody does not exist there"),
        ("somebody-elses", "model", "its name must be that of a provider, a colon"),
    ],
)
def test_incomplete_model_names_lack(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: str, text: str
) -> None:
    for variable in list(os.environ):
        if variable.endswith(("_KEY", "_TOKEN", "_BASE_URL")):
            monkeypatch.delenv(variable)
    for make in (model_named, partial(DefaultAgent, "be kind"), partial(DefaultGroupReasoner, "")):
        with pytest.raises(ModelFailed) as failed:
            make(name)
        assert failed.value.kind == kind
        assert text in str(failed.value)
        assert "Agent(" not in str(failed.value)
