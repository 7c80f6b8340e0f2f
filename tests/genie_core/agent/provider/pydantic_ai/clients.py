"""The real client library, pointed at a scripted provider."""

from typing import Final

from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from genie_testing.openai import FakeOpenAI

NAME: Final = "gpt-scripted"


def chat_model(
    server: FakeOpenAI, *, api_key: str | None = None, profile: OpenAIModelProfile | None = None
) -> OpenAIChatModel:
    """Make a model on the chat completions API."""
    return OpenAIChatModel(NAME, provider=_provider(server, api_key), profile=profile)


def responses_model(
    server: FakeOpenAI, *, api_key: str | None = None, profile: OpenAIModelProfile | None = None
) -> OpenAIResponsesModel:
    """Make a model on the responses API."""
    return OpenAIResponsesModel(NAME, provider=_provider(server, api_key), profile=profile)


def _provider(server: FakeOpenAI, api_key: str | None) -> OpenAIProvider:
    return OpenAIProvider(base_url=server.base_url, api_key=api_key or server.api_key)
