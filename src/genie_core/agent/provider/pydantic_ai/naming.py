"""Models by name, including the names that pydantic-ai gave them before version 2."""

from typing import Final

from pydantic_ai.models import Model, infer_model

_RENAMED: Final = {"google-gla": "google", "google-vertex": "google-cloud"}
_MAKERS: Final = {
    "claude": "anthropic",
    "gemini": "google",
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
}
"""Whose models could go without a provider in their name."""


def model_named(model: str | Model) -> Model:
    """Set up a model; `pydantic_ai.exceptions.UserError` says what is missing for it."""
    return infer_model(current_name(model) if isinstance(model, str) else model)


def current_name(name: str) -> str:
    """Give the name that a model has now."""
    provider, colon, rest = name.partition(":")
    if colon:
        return f"{_RENAMED.get(provider, provider)}:{rest}"
    maker = _MAKERS.get(name.partition("-")[0])
    return f"{maker}:{name}" if maker else name
