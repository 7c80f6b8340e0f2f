"""The table of arguments, held against the installed pydantic-ai."""

import inspect
import warnings
from importlib.util import find_spec

import pytest
from openai import AsyncOpenAI
from pydantic_ai.providers import infer_provider_class

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.models.credentials import (
    arguments_for,
    is_own_address,
    key_of,
    variables_of,
)
from genie_core.assistant.models.make import pydantic_model
from genie_core.assistant.models.providers import COMPATIBLE, PROVIDERS

ADDRESS = "https://host.invalid/openai/v1"
INSTALLED = sorted(
    name for name, needs in PROVIDERS.items() if not needs.package or find_spec(needs.package)
)


@pytest.mark.parametrize("provider", INSTALLED)
def test_provider_accepts_named_arguments(provider: str) -> None:
    taken = inspect.signature(infer_provider_class(provider).__init__).parameters
    assert set(variables_of(provider)) <= set(taken)


@pytest.mark.parametrize(
    "provider", [n for n in INSTALLED if PROVIDERS[n].variables and n != "bedrock-mantle"]
)
@pytest.mark.usefixtures("bare_environment")
def test_stored_values_need_no_environment(provider: str) -> None:
    variables = [first for first, *_ in PROVIDERS[provider].variables]
    keys = {name: ADDRESS if name.endswith(("URL", "ENDPOINT")) else "some" for name in variables}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a made-up model name may be remarked upon
        model = pydantic_model(ModelChoice(f"{provider}:some/model"), keys)
    assert model.model_name == "some/model"
    assert model.provider is not None
    assert isinstance(model.provider.client, AsyncOpenAI) is PROVIDERS[provider].compatible


@pytest.mark.parametrize("provider", [name for name in INSTALLED if not PROVIDERS[name].compatible])
def test_others_take_no_openai_client(provider: str) -> None:
    client = inspect.signature(infer_provider_class(provider).__init__).parameters
    assert "openai_client" not in client


def test_compatible_providers_take_address() -> None:
    for provider in COMPATIBLE:
        taken = inspect.signature(infer_provider_class(provider).__init__).parameters
        assert {"base_url", "api_key"} <= set(taken)


def test_first_nonempty_key_counts() -> None:
    keys = {"GOOGLE_API_KEY": "", "GEMINI_API_KEY": "two", "OPENAI_API_KEY": "other"}
    assert arguments_for("google", keys) == {"api_key": "two"}
    assert arguments_for("anthropic", keys) == {}
    assert arguments_for("gateway/openai", {"PAIG_API_KEY": "three"}) == {"api_key": "three"}


@pytest.mark.parametrize(
    ("provider", "address", "own"),
    [
        ("openai", "https://api.openai.com/v1", True),
        ("openai", "https://EU.api.openai.com:443/v1/", True),
        ("openai", "http://api.openai.com/v1", False),
        ("openai", "https://api.openai.com:8443/v1", False),
        ("openai", "https://api.openai.com.evil.example/v1", False),
        ("openai", "https://evilapi.openai.com/v1", False),
        ("openai", "https://gateway.example/v2", True),
        ("openai", "http://gateway.example/v1", False),
        ("openai", "https://gateway.example:444/v1", False),
        ("openai-responses", "https://gateway.example/v1", True),
        ("ollama", "https://ollama.com/v1", True),
        ("ollama", "https://gateway.example/v1", False),
        ("ollama", "http://127.0.0.1:11434/v1", False),
        ("vllm", "https://api.openai.com/v1", False),
    ],
)
def test_key_goes_only_to_own_address(provider: str, address: str, own: bool) -> None:
    keys = {"OPENAI_BASE_URL": "https://gateway.example/v1", "OLLAMA_BASE_URL": "http://[broken"}
    assert is_own_address(provider, address, keys) is own


def test_the_key_that_is_sent_is_named() -> None:
    keys = {"OPENAI_API_KEY": "a", "VLLM_API_KEY": "b", "MINE": "c", "OLLAMA_API_KEY": "d"}
    assert key_of(ModelChoice("openai:m"), keys) == "OPENAI_API_KEY"
    assert key_of(ModelChoice("m", ADDRESS), keys) == ""
    assert key_of(ModelChoice("openai:m", ADDRESS), keys) == ""
    assert key_of(ModelChoice("vllm:m", ADDRESS), keys) == ""
    assert key_of(ModelChoice("m", ADDRESS, "MINE"), keys) == "MINE"
    assert key_of(ModelChoice("m", ADDRESS, "GONE"), keys) == ""
    assert key_of(ModelChoice("m", "https://api.openai.com/v1"), keys) == "OPENAI_API_KEY"
    assert key_of(ModelChoice("ollama:m"), keys) == ""
    here = {**keys, "OLLAMA_BASE_URL": ADDRESS}
    assert key_of(ModelChoice("ollama:m"), here) == "OLLAMA_API_KEY"
    assert key_of(ModelChoice("ollama:m", ADDRESS), here) == "OLLAMA_API_KEY"
