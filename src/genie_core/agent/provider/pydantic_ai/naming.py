"""Models by name, including the names from before pydantic-ai 2."""

import re
from typing import Final

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from genie_core.agent.provider.failures import ModelRequestInfo
from genie_core.errors import ModelFailed

DEFAULT_MODEL: Final = "google:gemini-3-flash-preview"
"""The model of an agent or a reasoner for which none is named."""

_RENAMED: Final = {"google-gla": "google", "google-vertex": "google-cloud"}
_MAKERS: Final = {
    "claude": "anthropic",
    "gemini": "google",
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
}
"""Providers whose models could be named without a provider."""

_VARIABLE: Final = re.compile(r"`([A-Z][A-Z0-9_]+)`")
_CREDENTIALS: Final = ("_KEY", "_TOKEN")


def model_named(model: str | Model) -> Model:
    """Create a model; raises `ModelFailed` if something is missing for it."""
    if not isinstance(model, str):
        return model
    name = current_name(model)
    try:
        return infer_model(name)
    except UserError as error:
        raise _unready(name, str(error)) from error


def current_name(name: str) -> str:
    """Return a model's current name."""
    provider, colon, rest = name.partition(":")
    if colon:
        return f"{_RENAMED.get(provider, provider)}:{rest}"
    maker = _MAKERS.get(name.partition("-")[0])
    return f"{maker}:{name}" if maker else name


def _unready(name: str, words: str) -> ModelFailed:
    """Name the missing package of a model.

    Pydantic-ai's own text goes on to advertise its test model.
    """
    provider, colon, _ = name.partition(":")
    asked = ModelRequestInfo(name, "", provider if colon else "")
    if variables := _VARIABLE.findall(words):
        missing = f"{' or '.join(variables)} must be set"
        if any(each.endswith(_CREDENTIALS) for each in variables):
            return asked.failed("key", f"there is none, {missing}")
        return asked.failed("model", missing)
    if not colon:
        return asked.failed("model", "its name must be that of a provider, a colon and the model's")
    return asked.failed("model", words)
