"""Setting up models for pydantic-ai and for the OpenAI Agents SDK."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.errors import ModelUnavailable
from genie_core.assistant.provider import OLLAMA_LOCAL_URL

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

NO_KEY: Final = "none"
"""Sent as the key to servers of one's own that ask for none."""


def pydantic_model(choice: ModelChoice, keys: Mapping[str, str]) -> "Model":
    """Set up a model for pydantic-ai, without a request.

    `keys` are credentials by the names of the environment variables that providers know them by.

    Raises:
        ModelUnavailable: the provider refuses to be set up.

    """
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider
    from pydantic_ai.providers.ollama import OllamaProvider

    def provider_for(provider: str) -> "Provider[Any]":
        if provider == "ollama" and not os.environ.get("OLLAMA_BASE_URL"):
            return OllamaProvider(base_url=OLLAMA_LOCAL_URL)
        return infer_provider(provider)

    try:
        if choice.base_url:
            return _compatible(choice, keys)
        return infer_model(choice.name, provider_for)
    except Exception as error:
        raise ModelUnavailable(choice.name, str(error) or type(error).__name__) from error


def _compatible(choice: ModelChoice, keys: Mapping[str, str]) -> "Model":
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    key = keys.get("OPENAI_API_KEY") or NO_KEY
    name = choice.name.rpartition(":")[2] if choice.name.startswith("openai") else choice.name
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=choice.base_url, api_key=key))
