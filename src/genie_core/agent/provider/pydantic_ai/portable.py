"""Conversations that do not depend on what a service has stored."""

from typing import Final, cast

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings, merge_model_settings

_SENDS_IDS: Final = "openai_send_reasoning_ids"


def portable(model: Model, settings: ModelSettings | None) -> ModelSettings | None:
    """Have no ids of a service's stored items sent, unless somebody has set that.

    OpenAI forgets what it has stored, or is told not to store it. A conversation that is resumed
    later, or elsewhere, and refers to such an item is refused for ever. The reasoning itself is
    sent along, encrypted.
    """
    if _SENDS_IDS in {*(model.settings or ()), *(settings or ())}:
        return settings
    return merge_model_settings(cast("ModelSettings", {_SENDS_IDS: False}), settings)
