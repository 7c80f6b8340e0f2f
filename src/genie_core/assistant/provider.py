"""Which model providers there are and what each needs before its first request.

The table repeats what pydantic-ai asks for, so that a wrong setting is reported before the room
opens, in a few microseconds, and without importing any SDK. A test holds the table against the
installed pydantic-ai.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from genie_core.assistant.errors import MissingPackage, MissingVariable, UnknownProvider

OLLAMA_LOCAL_URL: Final = "http://127.0.0.1:11434/v1"
GATEWAY_PREFIX: Final = "gateway/"


@dataclass(frozen=True, slots=True)
class Needs:
    """What a provider needs: of each group of variables at least one, and perhaps a package."""

    variables: tuple[tuple[str, ...], ...] = ()
    package: str | None = None
    extra: str | None = None


def _key(*alternatives: str) -> Needs:
    return Needs((alternatives,))


_OPENAI: Final = _key("OPENAI_API_KEY", "OPENAI_BASE_URL")
_AZURE: Final = Needs((("AZURE_OPENAI_ENDPOINT",), ("AZURE_OPENAI_API_KEY",)))
_GATEWAY: Final = _key("PYDANTIC_AI_GATEWAY_API_KEY", "PAIG_API_KEY")

PROVIDERS: Final[Mapping[str, Needs]] = {
    "alibaba": _key("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
    "anthropic": _key("ANTHROPIC_API_KEY"),
    "azure": _AZURE,
    "azure-responses": _AZURE,
    "bedrock": Needs(package="boto3", extra="bedrock"),
    "bedrock-mantle": _key("AWS_DEFAULT_REGION", "AWS_REGION"),
    "cerebras": _key("CEREBRAS_API_KEY"),
    "cohere": Needs((("CO_API_KEY",),), package="cohere", extra="cohere"),
    "crusoe": _key("CRUSOE_API_KEY"),
    "deepseek": _key("DEEPSEEK_API_KEY"),
    "fireworks": _key("FIREWORKS_API_KEY"),
    "github-copilot": _key(
        "GITHUB_COPILOT_API_KEY", "GITHUB_COPILOT_API_TOKEN", "COPILOT_GITHUB_TOKEN"
    ),
    "google": _key("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "google-cloud": Needs(),
    "groq": Needs((("GROQ_API_KEY",),), package="groq", extra="groq"),
    "heroku": _key("HEROKU_INFERENCE_KEY"),
    "huggingface": Needs((("HF_TOKEN",),), package="huggingface_hub", extra="huggingface"),
    "litellm": Needs(),
    "meta": _key("META_API_KEY"),
    "mistral": Needs((("MISTRAL_API_KEY",),), package="mistralai", extra="mistral"),
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
    "xai": Needs((("XAI_API_KEY",),), package="xai_sdk", extra="xai"),
    "zai": _key("ZAI_API_KEY"),
}
"""Providers whose models can chat and be named by a string, with what they need."""


def check_model(name: str, env: Mapping[str, str]) -> None:
    """Raise a `ModelError` if `name` cannot work with this environment.

    Passing does not promise that the key is valid or that the model exists: only the provider
    knows that, and it is not asked.
    """
    provider, colon, model = name.partition(":")
    if not colon or not model:
        raise UnknownProvider(name, tuple(PROVIDERS))
    needs = _GATEWAY if provider.startswith(GATEWAY_PREFIX) else PROVIDERS.get(provider)
    if needs is None:
        raise UnknownProvider(name, tuple(PROVIDERS))
    if needs.package and needs.extra and find_spec(needs.package) is None:
        raise MissingPackage(name, needs.extra)
    for alternatives in needs.variables:
        if not any(env.get(variable) for variable in alternatives):
            raise MissingVariable(name, alternatives)
