"""Which secrets and variables a provider's client gets as arguments.

A provider reads everything else from the environment itself.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.models.providers import GATEWAY_PREFIX, PROVIDERS, served_name

GATEWAY_VARIABLES: Final = ("PYDANTIC_AI_GATEWAY_API_KEY", "PAIG_API_KEY")

_OPENAI: Final = {"api_key": ("OPENAI_API_KEY",), "base_url": ("OPENAI_BASE_URL",)}
_AZURE: Final = {
    "azure_endpoint": ("AZURE_OPENAI_ENDPOINT",),
    "api_key": ("AZURE_OPENAI_API_KEY",),
    "api_version": ("OPENAI_API_VERSION",),
}
_REGION: Final = ("AWS_DEFAULT_REGION", "AWS_REGION")

_OWN_HOSTS: Final[Mapping[str, str]] = {
    "ollama": "ollama.com",
    "openai": "api.openai.com",
    "openai-chat": "api.openai.com",
    "openai-responses": "api.openai.com",
}
"""Hosts of providers that can also be used at other addresses; includes their subdomains."""

ARGUMENTS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "azure": _AZURE,
    "azure-responses": _AZURE,
    "bedrock": {"api_key": ("AWS_BEARER_TOKEN_BEDROCK",), "region_name": _REGION},
    "bedrock-mantle": {"api_key": ("AWS_BEARER_TOKEN_BEDROCK",), "region_name": _REGION},
    "google-cloud": {},  # it chooses among several kinds of credentials
    "litellm": {},
    "ollama": {"api_key": ("OLLAMA_API_KEY",), "base_url": ("OLLAMA_BASE_URL",)},
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "openai-codex": {},
    "openai-responses": _OPENAI,
    "snowflake": {"account": ("SNOWFLAKE_ACCOUNT",), "token": ("SNOWFLAKE_TOKEN",)},
    "vllm": {"api_key": ("VLLM_API_KEY",), "base_url": ("VLLM_BASE_URL",)},
}
"""Variables by provider and argument. Other providers use their variables for `api_key`."""


def variables_of(provider: str) -> Mapping[str, tuple[str, ...]]:
    """Return the variables for each argument; the first that is set counts."""
    if provider.startswith(GATEWAY_PREFIX):
        return {"api_key": GATEWAY_VARIABLES}
    if provider in ARGUMENTS:
        return ARGUMENTS[provider]
    return {"api_key": PROVIDERS[provider].variables[0]}


def arguments_for(provider: str, keys: Mapping[str, str]) -> dict[str, str]:
    """Select from `keys` the arguments for the provider's client."""
    found = {
        argument: next((keys[each] for each in variables if keys.get(each)), "")
        for argument, variables in variables_of(provider).items()
    }
    return {argument: value for argument, value in found.items() if value}


def key_of(choice: ModelChoice, keys: Mapping[str, str]) -> str:
    """Return the name of the secret or variable sent as a model's key; "" if none is.

    Keys go only to their provider's own address, or to the one in its address variable. Any other
    address gets only the key named for it.
    """
    provider = choice.name.partition(":")[0]
    if choice.base_url:
        provider = served_name(choice.name)[0] or "openai"
        if choice.key_name:
            return choice.key_name if keys.get(choice.key_name) else ""
        if not is_own_address(provider, choice.base_url, keys):
            return ""
    elif provider == "ollama" and not keys.get("OLLAMA_BASE_URL"):
        return ""  # on this machine any program may listen on its port
    variables = variables_of(provider)
    names = variables.get("api_key", variables.get("token", ()))
    return next((name for name in names if keys.get(name)), "")


def is_own_address(provider: str, address: str, keys: Mapping[str, str]) -> bool:
    """Return whether an address is the provider's own, or the one in its variable."""
    scheme, host, port = _origin(address)
    own = _OWN_HOSTS.get(provider)
    if own and (scheme, port) == ("https", 443) and f".{host}".endswith(f".{own}"):
        return True
    variables = variables_of(provider).get("base_url", ())
    named = (_origin(keys[each]) for each in variables if keys.get(each))
    return (scheme, host, port) in named


def _origin(address: str) -> tuple[str, str, int]:
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return "", address, 0
    return parts.scheme, parts.hostname or address, port
