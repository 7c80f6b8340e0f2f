"""Finding models that can be used without further setup: from keys, and from local servers.

Only the presence of keys is checked; none is sent. Local servers are asked for their list of models
on loopback, and the server at `OPENAI_BASE_URL` if that is set; nothing else is sent. Their answers
are untrusted.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlsplit

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.errors import ModelError
from genie_core.assistant.models.credentials import key_of
from genie_core.assistant.models.providers import OLLAMA_LOCAL_URL, check_model
from genie_core.runtime.threads import in_thread

LOOPBACK: Final = "127.0.0.1"
BASE_URL: Final = "OPENAI_BASE_URL"
PATIENCE: Final = 1.0
"""Seconds within which a server must have answered completely."""

MODELS_EACH: Final = 2
"""Models offered per server."""

LONGEST_NAME: Final = 100

_LONGEST_ANSWER: Final = 256 * 1024
_UNCOMPRESSED: Final = {"Accept-Encoding": "identity"}
_NOT_FOR_CHAT: Final = ("embed", "rerank", "whisper", "tts", "bge-", "clip")

_USUAL: Final[Mapping[str, str]] = {
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-5-mini",
    "google": "gemini-2.5-flash",
    "mistral": "mistral-large-latest",
    "deepseek": "deepseek-chat",
    "groq": "openai/gpt-oss-120b",
    "xai": "grok-4",
    "openrouter": "openai/gpt-5-mini",
    "moonshotai": "kimi-latest",
    "cerebras": "gpt-oss-120b",
}
"""A general-purpose model for each provider, in the order in which they are offered."""


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """A model that can be used. `why` gives the reason in a few words."""

    choice: ModelChoice
    label: str
    why: str


@dataclass(frozen=True, slots=True)
class Local:
    """A kind of local server, its usual port, and the provider used for its models."""

    label: str
    port: int
    provider: str


LOCAL: Final = (
    Local("Ollama", 11434, "ollama"),
    Local("LM Studio", 1234, "vllm"),
    Local("vLLM", 8000, "vllm"),
)
"""LM Studio uses the provider vllm, so that no OpenAI key is sent to it."""


async def discover(keys: Mapping[str, str], servers: Sequence[Local] = LOCAL) -> list[ModelOffer]:
    """Find models: those of local servers first, then those with a key.

    `keys` are variables and stored secrets by name; of their values, only that of
    `OPENAI_BASE_URL` counts. Takes about a second at most and raises nothing.
    """
    found = await asyncio.gather(_offers_at(keys), *(_offers_of(server) for server in servers))
    return [offer for offers in found for offer in offers] + offers_for(keys)


def local_address(choice: ModelChoice, env: Mapping[str, str]) -> str:
    """Return the address of a model's server if that is on this machine; else ""."""
    usual = env.get("OLLAMA_BASE_URL") or OLLAMA_LOCAL_URL
    url = choice.base_url or (usual if choice.name.startswith("ollama:") else "")
    return url if urlsplit(url).hostname in (LOOPBACK, "localhost", "::1") else ""


async def is_running(url: str) -> bool:
    """Whether a server takes connections at an address; takes about a second at most."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443}.get(parts.scheme, 80)
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, ValueError, TimeoutError):
        return False
    writer.close()
    return True


async def _offers_at(keys: Mapping[str, str]) -> list[ModelOffer]:
    """Return models of the server at `OPENAI_BASE_URL`, which may know chat completions only."""
    url, offers = keys.get(BASE_URL, ""), list[ModelOffer]()
    for name in await _models_at(url) if url else ():
        choice = ModelChoice(f"openai-chat:{name}")
        with suppress(ModelError):
            check_model(choice.name, keys)
            offers.append(ModelOffer(choice, choice.name, f"at {urlsplit(url).hostname}"))
    return offers


def offers_for(keys: Mapping[str, str]) -> list[ModelOffer]:
    """Return a model of each provider that has a key. Asks no server."""
    offers = []
    for provider, model in _USUAL.items():
        if provider == "openai" and keys.get(BASE_URL):
            continue  # the key is for another server, which has its own models
        choice = ModelChoice(f"{provider}:{model}")
        variable = key_of(choice, keys)
        with suppress(ModelError):  # its package is not installed
            check_model(choice.name, keys)
            if variable:
                offers.append(ModelOffer(choice, choice.name, f"{variable} is set"))
    return offers


async def _offers_of(server: Local) -> list[ModelOffer]:
    address = f"http://{LOOPBACK}:{server.port}/v1"
    usual = address == OLLAMA_LOCAL_URL and server.provider == "ollama"
    why = f"runs here, on port {server.port}"
    return [
        ModelOffer(
            ModelChoice(f"{server.provider}:{name}", "" if usual else address),
            f"{name} ({server.label})",
            why,
        )
        for name in await _models_at(address)
    ]


async def _models_at(url: str) -> list[str]:
    """Return the first chat models that a server lists; none if it does not answer as one."""
    if not await is_running(url):
        return []
    await in_thread(import_module, "httpx2")  # it takes longer than a frame
    import httpx2

    body = b""
    try:
        async with (
            asyncio.timeout(PATIENCE),
            httpx2.AsyncClient(trust_env=False) as client,
            client.stream("GET", f"{url.rstrip('/')}/models", headers=_UNCOMPRESSED) as answer,
        ):
            # Raw: an answer that is compressed all the same could grow a thousandfold.
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > _LONGEST_ANSWER:
                    return []
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError):
        return []
    return _names_in(body)[:MODELS_EACH] if answer.is_success else []


def _names_in(answer: bytes) -> list[str]:
    """Return the names of usable chat models."""
    try:
        listed: Any = json.loads(answer)
    except (ValueError, RecursionError):
        return []
    models = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(models, list):
        return []
    names = [model.get("id") for model in models if isinstance(model, dict)]
    return [name for name in names if isinstance(name, str) and _is_usable(name)]


def _is_usable(name: str) -> bool:
    whole = 0 < len(name) <= LONGEST_NAME and name.isascii() and name.isprintable()
    return whole and " " not in name and not any(part in name.lower() for part in _NOT_FOR_CHAT)
