"""Word failed requests to a model, whichever SDK made them.

A provider's adapter determines the kind of failure and the provider's message; this module chooses
the words for people and how a key is named.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from genie_core.errors import GenieError, ModelFailed, ModelTrouble
from genie_core.privacy.known_secrets import HIDDEN
from genie_core.privacy.redaction import hide_secrets

NO_KEY: Final = "none"
"""Sent where no key is to be sent, since the SDKs require one."""

KEY_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_OPENAI_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HF_TOKEN",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshotai": ("MOONSHOTAI_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""The usual environment variables of providers' keys."""

BEARER: Final = "Bearer "

_ENDPOINTS: Final = ("/chat/completions", "/responses", "/messages")
_LONGEST_DETAIL: Final = 300
_SHORTEST_SHOWN_KEY: Final = 16  # of a shorter one, four characters would be too much
_SHOWN: Final = 4

_TOKEN: Final = re.compile(r"[\w*•.\-]{6,}")

_MASKED: Final = re.compile(r"(?<![\w\-])[\w\-]*(?:[*•…]|\.\.)[*•….]*\w+")
"""A text with its middle or start left out, as providers write keys."""

_MAY_BE_TOOLS: Final = frozenset({"refused", "model", "server"})
_NO_TOOLS: Final = re.compile(
    r"(?i)(?:does|do) not support (?:\w+ ){0,2}(?:tool|function)"  # Ollama, and most others
    r"|(?:tool|function)[\w`'\" -]{0,30} (?:is|are) not supported|'tools' is not supported"  # Groq, OpenAI
    r"|no endpoints found that support (?:tool|the provided 'tool)"  # OpenRouter
    r"|\btool choice requires --enable-auto-tool-choice"  # vLLM
    r"|tools param requires --jinja"  # llama.cpp
)
"""Providers' messages for a model without tools; there is no error code for it."""

_LENGTH_CODES: Final = frozenset({"context_length_exceeded", "string_above_max_length"})
_REFUSALS: Final = frozenset({400, 413, 422, 500})
_TOO_LONG: Final = (
    "maximum context length",
    "reduce the length of the messages",
    "exceeds the available context size",  # llama.cpp
    "exceed context window",
    "exceeds the context window",
    "context length exceeded",
    "greater than the context length",  # LM Studio
    "prompt is too long",
    "input length exceeds",
)
"""Messages of servers that have no error code for it."""

_QUOTA_CODES: Final = frozenset({"insufficient_quota", "billing_error", "quota_exceeded"})
_MODEL_CODES: Final = frozenset({"model_not_found"})


@dataclass(frozen=True, slots=True)
class ModelRequestInfo:
    """The model of a request, its address or provider, and its key.

    `provider` is the SDK's short name, such as "openai".
    """

    model: str
    where: str
    provider: str = ""
    key: str | None = field(default=None, repr=False)

    def failed(
        self, kind: ModelTrouble, detail: str = "", retry_after: float | None = None
    ) -> ModelFailed:
        """Describe a failure without revealing the key.

        A key that no header can carry is named as the cause of any error.
        """
        if unsendable(self.key):
            kind, detail = "key", "it has a line break or another character that cannot be sent"
        elif kind in _MAY_BE_TOOLS and _NO_TOOLS.search(detail):
            kind = "tools"
        return ModelFailed(
            kind,
            self.model,
            bare_address(self.where) or self.provider or "its provider",
            without_secrets(detail, self.key),
            "" if self.key == NO_KEY else describe_key(self.key, self.provider),
            retry_after,
        )


def info_of(request: Any, model: str) -> ModelRequestInfo:
    """Return the address and key of an HTTP request to a model."""
    address = str(request.url)
    for endpoint in _ENDPOINTS:
        address = address.partition(endpoint)[0]
    headers = request.headers
    key = headers.get("api-key") or headers.get("x-api-key")
    key = key or headers.get("authorization", "").removeprefix(BEARER)
    provider = "openai" if (urlsplit(address).hostname or "").endswith("openai.com") else ""
    return ModelRequestInfo(model, address, provider, key or None)


def endless(model: str) -> GenieError:
    """Return the error for a run whose model used up its turns."""
    return GenieError(
        f"model {model!r} went on calling tools without coming to an answer; ask for less at once, "
        "or allow more turns by the setting 'max_turns'"
    )


def would_fail_again(error: BaseException) -> bool:
    """Whether the model refused the conversation itself, so a retry would fail as well."""
    return isinstance(error, ModelFailed) and error.kind in {"refused", "length", "filter"}


def kind_of_status(status: int, code: str | None = None, words: str = "") -> ModelTrouble:
    """Classify an HTTP status, with the provider's error code and message."""
    if code in _LENGTH_CODES or (status in _REFUSALS and says_too_long(words)):
        return "length"
    if code in _QUOTA_CODES or status == 402:
        return "quota"
    if code in _MODEL_CODES or status == 404:
        return "model"
    if status in {401, 403}:
        return "key"
    if status == 429:
        return "limit"
    if status == 413:
        return "length"
    if status == 408:
        return "timeout"
    return "server" if status >= 500 else "refused"


def says_too_long(words: str) -> bool:
    """Whether the message, without an error code, means that the conversation is too long."""
    words = words.lower()
    return any(phrase in words for phrase in _TOO_LONG)


def message_in(body: object) -> str:
    """Return the provider's message in an error body of any shape; empty if there is none."""
    match body:
        case None:
            return ""
        case {"error": inner}:
            return message_in(inner)
        case {"message": str() as text} | {"detail": str() as text}:
            return text
        case [first, *_]:
            return message_in(first)
        case str() if body.lstrip()[:1] not in ("<", "{", "["):
            return body
        case _:  # a page, or data of a form that is not known
            return ""


def code_in(body: object) -> str | None:
    """Return the provider's error code in an error body."""
    match body:
        case {"error": inner}:
            return code_in(inner)
        case {"code": str() as code} | {"type": str() as code}:
            return code
        case _:
            return None


def seconds_in(header: str | None) -> float | None:
    """Return the seconds that a header has; None for a date, which is allowed too."""
    try:
        return float(header) if header else None
    except ValueError:
        return None


def unsendable(key: str | None) -> bool:
    """Whether the key has a character that no HTTP header can carry."""
    return key is not None and not (key.isascii() and key.isprintable())


def describe_key(key: str | None, provider: str, environ: Mapping[str, str] = os.environ) -> str:
    """Identify a key by its variable and at most its last four characters."""
    variables = KEY_VARIABLES.get(provider, ())
    ending = f"ending in {key[-_SHOWN:]!r}" if key and len(key) >= _SHORTEST_SHOWN_KEY else ""
    if key and (source := next((each for each in variables if environ.get(each) == key), None)):
        return f"key in {source} {ending}".strip()
    usual = f"usually {' or '.join(variables)}" if variables else ""
    notes = ", ".join(note for note in (ending, usual) if note)
    return f"key ({notes})" if notes else "key"


def without_secrets(text: str, key: str | None = None) -> str:
    """Return a provider's message as one line, with anything that is or looks like a key hidden."""
    if key := (key or "").strip():
        text = text.replace(key, HIDDEN)
        text = _TOKEN.sub(lambda token: HIDDEN if _resembles(token[0], key) else token[0], text)
        text = _MASKED.sub(lambda mask: HIDDEN if _ends_like(mask[0], key) else mask[0], text)
    text = hide_secrets(" ".join(text.split()))
    return text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}…"


def bare_address(address: str) -> str:
    """Remove user, password and query from a URL; return other text unchanged."""
    if "://" not in address:
        return address
    try:
        parts = urlsplit(address)
    except ValueError:  # such as a bracket that is never closed
        return without_secrets(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")).rstrip(
        "/"
    )


def _ends_like(masked: str, key: str) -> bool:
    """Whether a masked key shows the key's last characters."""
    return len(key) >= 2 * _SHOWN and masked.endswith(key[-_SHOWN:])


def _resembles(token: str, key: str) -> bool:
    """Whether a token shows enough of the key's start or end to be part of it."""
    bare = token.strip(".")
    return len(key) >= 2 * _SHOWN and (bare.startswith(key[:6]) or bare.endswith(key[-6:]))
