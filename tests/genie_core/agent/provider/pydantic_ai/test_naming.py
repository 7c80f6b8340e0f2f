import pytest
from pydantic_ai.exceptions import UserError
from pydantic_ai.models.test import TestModel

from genie_core.agent.provider.pydantic_ai.naming import current_name, model_named


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


def test_a_model_is_taken_as_it_is_and_an_unknown_name_refused() -> None:
    assert model_named(model := TestModel()) is model
    with pytest.raises(UserError, match="somebody-elses"):
        model_named("somebody-elses")
