"""Which stored secrets and variables go to which argument of a provider's client.

Whatever is not given here a provider takes from the environment itself.
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
"""Hosts of providers that may also be asked at another address; their subdomains count, too."""

ARGUMENTS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "azure": _AZURE,
    "azure-responses": _AZURE,
    "bedrock": {"api_key": ("AWS_BEARER_TOKEN_BEDROCK",), "region_name": _REGION},
    "bedrock-mantle": {"api_key": ("AWS_BEARER_TOKEN_BEDROCK",), "region_name": _REGION},
    "google-cloud": {},  # it has an order of its own among several kinds of credentials
    "litellm": {},
    "ollama": {"api_key": ("OLLAMA_API_KEY",), "base_url": ("OLLAMA_BASE_URL",)},
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "openai-codex": {},
    "openai-responses": _OPENAI,
    "snowflake": {"account": ("SNOWFLAKE_ACCOUNT",), "token": ("SNOWFLAKE_TOKEN",)},
    "vllm": {"api_key": ("VLLM_API_KEY",), "base_url": ("VLLM_BASE_URL",)},
}
"""Arguments by provider. A provider that is not here has its variables for the `api_key`."""


def variables_of(provider: str) -> Mapping[str, tuple[str, ...]]:
    """Name the variables for each argument, the first that is set counts."""
    if provider.startswith(GATEWAY_PREFIX):
        return {"api_key": GATEWAY_VARIABLES}
    if provider in ARGUMENTS:
        return ARGUMENTS[provider]
    return {"api_key": PROVIDERS[provider].variables[0]}


def arguments_for(provider: str, keys: Mapping[str, str]) -> dict[str, str]:
    """Pick from `keys` what the provider's client is set up with."""
    found = {
        argument: next((keys[each] for each in variables if keys.get(each)), "")
        for argument, variables in variables_of(provider).items()
    }
    return {argument: value for argument, value in found.items() if value}


def key_of(choice: ModelChoice, keys: Mapping[str, str]) -> str:
    """Name the secret or variable that is sent as the key for a model; "" if there is none.

    Keys go to their provider's own address only, or where its variable for an address leads; to any
    other, the one goes that is named for it.
    """
    provider = choice.name.partition(":")[0]
    if choice.base_url:
        provider = served_name(choice.name)[0] or "openai"
        if choice.key_name:
            return choice.key_name if keys.get(choice.key_name) else ""
        if not is_own_address(provider, choice.base_url, keys):
            return ""
    elif provider == "ollama" and not keys.get("OLLAMA_BASE_URL"):
        return ""  # it is asked on this machine, where anything may listen
    variables = variables_of(provider)
    names = variables.get("api_key", variables.get("token", ()))
    return next((name for name in names if keys.get(name)), "")


def is_own_address(provider: str, address: str, keys: Mapping[str, str]) -> bool:
    """Whether an address is the provider's own, or the one that its variable names."""
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
