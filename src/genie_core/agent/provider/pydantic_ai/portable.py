"""Conversations that do not depend on a service's storage."""

from typing import Final, cast

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings, merge_model_settings

_SENDS_IDS: Final = "openai_send_reasoning_ids"


def portable(model: Model, settings: ModelSettings | None) -> ModelSettings | None:
    """Send no ids of a service's stored items, unless that is set explicitly.

    OpenAI forgets stored items, or stores none on request, and refuses a conversation that refers
    to one for good. The reasoning itself is sent encrypted.
    """
    if _SENDS_IDS in {*(model.settings or ()), *(settings or ())}:
        return settings
    return merge_model_settings(cast("ModelSettings", {_SENDS_IDS: False}), settings)
