"""The key by which a provider finds its cache of a prompt again."""

import hashlib
from typing import Final
from urllib.parse import urlsplit

_OPENAI: Final = "api.openai.com"
_KEY_CHARS: Final = 32


def cache_key(prompt: str, address: str) -> str:
    """Return a key that leads OpenAI's requests with one prompt to one cache.

    Empty for all other services: some refuse a request with a field that they don't know.
    """
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return ""
    if host != _OPENAI:
        return ""
    return hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:_KEY_CHARS]
