"""The known model providers and their requirements.

The table repeats pydantic-ai's requirements, so that a wrong setting is reported before a room
opens, without importing an SDK. A test compares it with the installed pydantic-ai.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from genie_core.assistant.errors import (
    MissingPackage,
    MissingVariable,
    OtherRuntimeNeeded,
    UnknownProvider,
)

OLLAMA_LOCAL_URL: Final = "http://127.0.0.1:11434/v1"
GATEWAY_PREFIX: Final = "gateway/"

COMPATIBLE: Final = ("openai", "openai-chat", "openai-responses", "ollama", "vllm")
"""Providers that a model may name together with an address; other prefixes are part of its name."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The requirements of a provider: one variable of each group, and perhaps a package.

    `compatible` ones work with the OpenAI Agents SDK.
    """

    variables: tuple[tuple[str, ...], ...] = ()
    package: str | None = None
    extra: str | None = None
    compatible: bool = True


def _key(*alternatives: str) -> Needs:
    return Needs((alternatives,))


_OPENAI: Final = _key("OPENAI_API_KEY", "OPENAI_BASE_URL")
_AZURE: Final = Needs((("AZURE_OPENAI_ENDPOINT",), ("AZURE_OPENAI_API_KEY",)))
_GATEWAY: Final = _key("PYDANTIC_AI_GATEWAY_API_KEY", "PAIG_API_KEY")

PROVIDERS: Final[Mapping[str, Needs]] = {
    "alibaba": _key("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
    "anthropic": Needs((("ANTHROPIC_API_KEY",),), compatible=False),
    "azure": _AZURE,
    "azure-responses": _AZURE,
    "bedrock": Needs(package="boto3", extra="bedrock", compatible=False),
    "bedrock-mantle": _key("AWS_DEFAULT_REGION", "AWS_REGION"),
    "cerebras": _key("CEREBRAS_API_KEY"),
    "cohere": Needs((("CO_API_KEY",),), "cohere", "cohere", compatible=False),
    "crusoe": _key("CRUSOE_API_KEY"),
    "deepseek": _key("DEEPSEEK_API_KEY"),
    "fireworks": _key("FIREWORKS_API_KEY"),
    "github-copilot": _key(
        "GITHUB_COPILOT_API_KEY", "GITHUB_COPILOT_API_TOKEN", "COPILOT_GITHUB_TOKEN"
    ),
    "google": Needs((("GOOGLE_API_KEY", "GEMINI_API_KEY"),), compatible=False),
    "google-cloud": Needs(compatible=False),
    "groq": Needs((("GROQ_API_KEY",),), "groq", "groq", compatible=False),
    "heroku": _key("HEROKU_INFERENCE_KEY"),
    "huggingface": Needs((("HF_TOKEN",),), "huggingface_hub", "huggingface", compatible=False),
    "litellm": Needs(),
    "meta": _key("META_API_KEY"),
    "mistral": Needs((("MISTRAL_API_KEY",),), "mistralai", "mistral", compatible=False),
    "moonshotai": _key("MOONSHOTAI_API_KEY"),
    "nebius": _key("NEBIUS_API_KEY"),
    "ollama": Needs(),
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "openai-codex": Needs(),
    "openai-responses": _OPENAI,
    "openrouter": _key("OPENROUTER_API_KEY"),
    "ovhcloud": _key("OVHCLOUD_API_KEY"),
    "sambanova": _key("SAMBANOVA_API_KEY"),
    "snowflake": Needs((("SNOWFLAKE_ACCOUNT",), ("SNOWFLAKE_TOKEN",))),
    "together": _key("TOGETHER_API_KEY"),
    "vercel": _key("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "vllm": _key("VLLM_BASE_URL"),
    "xai": Needs((("XAI_API_KEY",),), "xai_sdk", "xai", compatible=False),
    "zai": _key("ZAI_API_KEY"),
}
"""Requirements of the providers whose chat models can be named by a string."""


def served_name(name: str) -> tuple[str, str]:
    """Split the name of a model with an address into provider, or "", and model.

    Names of local models may contain colons: "qwen3:8b" has no provider.
    """
    provider, colon, model = name.partition(":")
    return (provider, model) if colon and model and provider in COMPATIBLE else ("", name)


def needs_of(name: str) -> Needs:
    """Return the requirements of a model's provider. Raises `UnknownProvider`."""
    provider, colon, model = name.partition(":")
    needs = _GATEWAY if provider.startswith(GATEWAY_PREFIX) else PROVIDERS.get(provider)
    if not colon or not model or needs is None:
        raise UnknownProvider(name, tuple(PROVIDERS))
    return needs


def check_model(name: str, env: Mapping[str, str]) -> None:
    """Raise a `ModelError` if `name` can't work with these variables and stored secrets.

    Does not contact the provider, so the key may still be invalid or the model missing.
    """
    needs = needs_of(name)
    if needs.package and needs.extra and find_spec(needs.package) is None:
        raise MissingPackage(name, needs.extra)
    for alternatives in needs.variables:
        if not any(env.get(variable) for variable in alternatives):
            raise MissingVariable(name, alternatives)


def check_compatible(name: str) -> None:
    """Raise `OtherRuntimeNeeded` if the OpenAI Agents SDK does not support the model."""
    if not needs_of(name).compatible:
        raise OtherRuntimeNeeded(name)
