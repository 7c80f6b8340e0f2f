"""Finding models that can be used without further setup: from keys, and from local servers.

Only the presence of keys is checked; none is sent. Local servers are asked for their list of models
on loopback, and the server at `OPENAI_BASE_URL` if that is set; nothing else is sent. Their answers
are untrusted.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
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
    return [offer for offers in found for offer in offers] + _offers_for(keys)


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
    if not (url := keys.get(BASE_URL, "")):
        return []
    await in_thread(import_module, "httpx2")  # it takes longer than a frame
    import httpx2

    offers = list[ModelOffer]()
    with suppress(httpx2.HTTPError, httpx2.InvalidURL, ModelError, TimeoutError, ValueError):
        async with (
            asyncio.timeout(PATIENCE),
            httpx2.AsyncClient(trust_env=False) as client,
            client.stream("GET", f"{url.rstrip('/')}/models", headers=_UNCOMPRESSED) as answer,
        ):
            # Raw: an answer that is compressed all the same could grow a thousandfold.
            body = await _whole(answer.aiter_raw()) if answer.is_success else b""
        for name in _names_in(body)[:MODELS_EACH]:
            choice = ModelChoice(f"openai-chat:{name}")
            check_model(choice.name, keys)
            offers.append(ModelOffer(choice, choice.name, f"at {httpx2.URL(url).host}"))
    return offers


def _offers_for(keys: Mapping[str, str]) -> list[ModelOffer]:
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
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await _get_models(server.port)
    except (OSError, TimeoutError, ValueError):
        return []
    address = f"http://{LOOPBACK}:{server.port}/v1"
    usual = address == OLLAMA_LOCAL_URL and server.provider == "ollama"
    why = f"runs here, on port {server.port}"
    return [
        ModelOffer(
            ModelChoice(f"{server.provider}:{name}", "" if usual else address),
            f"{name} ({server.label})",
            why,
        )
        for name in _names_in(answer)[:MODELS_EACH]
    ]


async def _get_models(port: int) -> bytes:
    """Request the list of models. Raises `ValueError` or `OSError`.

    Uses HTTP/1.0, so that the answer comes unchunked and ends with the connection.
    """
    reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=_LONGEST_ANSWER)
    try:
        host = f"Host: {LOOPBACK}:{port}"
        writer.write(
            f"GET /v1/models HTTP/1.0\r\n{host}\r\nAccept: application/json\r\n\r\n".encode()
        )
        await writer.drain()
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise ValueError("not an HTTP response") from error
        parts = head.split(b" ", 2)
        if not head.startswith(b"HTTP/1.") or len(parts) < 3 or parts[1] != b"200":
            raise ValueError("refused")
        return await _whole(_pieces(reader))
    finally:
        writer.transport.abort()


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while piece := await reader.read(_LONGEST_ANSWER):
        yield piece


async def _whole(pieces: AsyncIterator[bytes]) -> bytes:
    """Return an answer. Raises `ValueError` for one that is too long."""
    body = b""
    async for piece in pieces:
        body += piece
        if len(body) > _LONGEST_ANSWER:
            raise ValueError("too long")
    return body


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
