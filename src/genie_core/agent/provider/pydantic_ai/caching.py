"""Let a provider keep the beginning of a conversation for the next request."""

from typing import cast

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings, merge_model_settings


def with_cache(model: Model, settings: ModelSettings | None) -> ModelSettings | None:
    """Ask for caching of tools, instructions and conversation, unless the settings say otherwise.

    pydantic-ai sets a provider's breakpoints, and ignores this for models that need or have none.
    """
    if "cache" in {*(model.settings or ()), *(settings or ())}:
        return settings
    return merge_model_settings(cast("ModelSettings", {"cache": True}), settings)
