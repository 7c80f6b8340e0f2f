"""The model service that the examples talk to, and whose key they use."""

import argparse
from collections.abc import Mapping
from typing import Self

from agents import OpenAIResponsesModel
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from genie_core.secrets import SecretsProvider

KEY = "OPENAI_API_KEY"
PROVIDERS = ("pydantic-ai", "openai")


class Service:
    """A model at OpenAI, or at another service with the same interface.

    Models are made from a person's secrets, so that everybody pays with their own key. They share
    the connections, which are closed at the end of `async with`.
    """

    def __init__(self, model: str, base_url: str | None = None) -> None:
        self.model = model
        self.base_url = base_url
        self._http = DefaultAsyncHttpxClient()

    def for_pydantic_ai(self, secrets: dict[str, str]) -> OpenAIChatModel:
        """Make the model for agents and reasoners on pydantic-ai."""
        provider = OpenAIProvider(openai_client=self._client(secrets))
        return OpenAIChatModel(self.model, provider=provider)

    def for_openai(self, secrets: dict[str, str]) -> OpenAIResponsesModel:
        """Make the model for agents on the OpenAI Agents SDK."""
        return OpenAIResponsesModel(self.model, openai_client=self._client(secrets))

    def _client(self, secrets: dict[str, str]) -> AsyncOpenAI:
        key = secrets.get(KEY, "")
        return AsyncOpenAI(base_url=self.base_url, api_key=key, http_client=self._http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()


class EnvironmentSecrets(SecretsProvider):
    """Takes keys from environment variables: ALICE_OPENAI_API_KEY, else OPENAI_API_KEY."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def get_secrets(self, username: str) -> dict[str, str] | None:
        """Return the person's key, or the one that is for everybody."""
        key = self._env.get(f"{username.upper()}_{KEY}") or self._env.get(KEY)
        return {KEY: key} if key else None


def service_from(env: Mapping[str, str]) -> Service:
    """Read GENIE_MODEL and OPENAI_BASE_URL; what is missing ends the program with one sentence."""
    provider, _, model = env.get("GENIE_MODEL", "").partition(":")
    if provider != "openai" or not model:
        raise SystemExit(
            "Set GENIE_MODEL to a model of OpenAI, such as openai:gpt-5-mini. For another service "
            "with the same interface, set OPENAI_BASE_URL too."
        )
    if not env.get(KEY):
        raise SystemExit(f"Set {KEY} to your key for {model}; a local service takes any text.")
    return Service(model, env.get("OPENAI_BASE_URL") or None)


def chosen_provider(description: str | None) -> str:
    """Read from the command line which agent framework is to be used."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--provider", choices=PROVIDERS, default=PROVIDERS[0])
    return str(parser.parse_args().provider)
