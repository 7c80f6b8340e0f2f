"""Setting up models for pydantic-ai and the OpenAI Agents SDK, without a request."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from genie_core.agent.provider.failures import NO_KEY
from genie_core.assistant.config import ModelChoice
from genie_core.assistant.errors import ModelError, ModelUnavailable, OtherRuntimeNeeded
from genie_core.assistant.models.credentials import arguments_for, is_own_address, key_of
from genie_core.assistant.models.providers import (
    GATEWAY_PREFIX,
    OLLAMA_LOCAL_URL,
    needs_of,
    served_name,
)
from genie_core.privacy.redaction import hide_secrets, know

if TYPE_CHECKING:
    import agents
    from openai import AsyncOpenAI
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

_RESPONSES: Final = frozenset({"openai", "openai-responses", "azure-responses", "gateway/openai"})
"""Providers for which the OpenAI Agents SDK uses the Responses API, unless given an address."""

_Made = TypeVar("_Made")


def pydantic_model(choice: ModelChoice, keys: Mapping[str, str]) -> "Model":
    """Set up a model for pydantic-ai.

    `keys` are credentials by the names of the providers' environment variables; others are read
    from the environment.

    Raises:
        ModelError: the provider is unknown or refuses the setup.
    """
    return _made(choice, lambda: _pydantic_model(choice, keys))


def openai_model(choice: ModelChoice, keys: Mapping[str, str]) -> "agents.Model":
    """Set up a model for the OpenAI Agents SDK; `keys` as in `pydantic_model`.

    Raises:
        ModelError: as in `pydantic_model`, or the SDK does not support the provider.
    """
    return _made(choice, lambda: _openai_model(choice, keys))


def _made(choice: ModelChoice, make: Callable[[], _Made]) -> _Made:
    try:
        return make()
    except ModelError:
        raise
    except Exception as error:
        reason = hide_secrets(str(error)) or type(error).__name__
        raise ModelUnavailable(choice.name, reason) from error


def _pydantic_model(choice: ModelChoice, keys: Mapping[str, str]) -> "Model":
    from pydantic_ai.models import infer_model

    if not choice.base_url:
        needs_of(choice.name)
        return infer_model(choice.name, lambda name: _provider(name, keys))
    provider, name = served_name(choice.name)
    # Self-hosted servers offer chat completions; the Responses API must be requested.
    kind = "openai-chat" if provider in ("", "openai") else provider
    return infer_model(f"{kind}:{name}", lambda each: _served(each, choice, keys))


def _openai_model(choice: ModelChoice, keys: Mapping[str, str]) -> "agents.Model":
    from openai import AsyncOpenAI

    from genie_core.assistant.models.openai_models import ProvidedChatModel, ProvidedResponsesModel

    if choice.base_url:
        kind, name = served_name(choice.name)
        provider = _served(kind or "openai-chat", choice, keys)
        responses = kind == "openai-responses"
    else:
        needs = needs_of(choice.name)
        kind, _, name = choice.name.partition(":")
        if not needs.compatible:
            raise OtherRuntimeNeeded(choice.name)
        provider = _provider(kind, keys)
        responses = kind in _RESPONSES
    if not isinstance(provider.client, AsyncOpenAI):
        raise OtherRuntimeNeeded(choice.name)
    return (
        ProvidedResponsesModel(name, provider) if responses else ProvidedChatModel(name, provider)
    )


def _provider(name: str, keys: Mapping[str, str]) -> "Provider[Any]":
    from pydantic_ai.providers import infer_provider_class
    from pydantic_ai.providers.gateway import gateway_provider

    given = arguments_for(name, keys)
    if name.startswith(GATEWAY_PREFIX):
        return gateway_provider(name.removeprefix(GATEWAY_PREFIX), **given)
    if name == "ollama" and not (given.get("base_url") or os.environ.get("OLLAMA_BASE_URL")):
        given = {"base_url": OLLAMA_LOCAL_URL, "api_key": NO_KEY}
    return infer_provider_class(name)(**given)


def _served(name: str, choice: ModelChoice, keys: Mapping[str, str]) -> "Provider[Any]":
    """Set up the provider for an address, with its key if there is one."""
    from pydantic_ai.providers import infer_provider_class

    known = {**os.environ, **keys}
    key_name = key_of(choice, known)
    if key_name:
        know({key_name: known[key_name]})
    given = {"base_url": choice.base_url, "api_key": known[key_name] if key_name else NO_KEY}
    provider = infer_provider_class(name)(**given)
    if not is_own_address(name, choice.base_url, known):
        _forget_environment(provider.client)
    return provider


def _forget_environment(client: "AsyncOpenAI") -> None:
    """Remove the client's OpenAI headers, organization and project from the environment."""
    client.organization = client.project = None
    client._custom_headers = {}  # noqa: SLF001 - the SDK reads OPENAI_CUSTOM_HEADERS unasked
