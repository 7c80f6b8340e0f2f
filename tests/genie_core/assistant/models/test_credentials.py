"""The table of arguments, held against the installed pydantic-ai."""

import inspect
import warnings
from importlib.util import find_spec

import pytest
from openai import AsyncOpenAI
from pydantic_ai.providers import infer_provider_class

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.models.credentials import arguments_for, variables_of
from genie_core.assistant.models.make import pydantic_model
from genie_core.assistant.provider import COMPATIBLE, PROVIDERS

ADDRESS = "https://host.invalid/openai/v1"
INSTALLED = sorted(
    name for name, needs in PROVIDERS.items() if not needs.package or find_spec(needs.package)
)


@pytest.mark.parametrize("provider", INSTALLED)
def test_a_provider_takes_the_arguments_that_are_named_for_it(provider: str) -> None:
    taken = inspect.signature(infer_provider_class(provider).__init__).parameters
    assert set(variables_of(provider)) <= set(taken)


@pytest.mark.parametrize(
    "provider", [n for n in INSTALLED if PROVIDERS[n].variables and n != "bedrock-mantle"]
)
@pytest.mark.usefixtures("bare_environment")
def test_what_is_stored_suffices_without_anything_in_the_environment(provider: str) -> None:
    variables = [first for first, *_ in PROVIDERS[provider].variables]
    keys = {name: ADDRESS if name.endswith(("URL", "ENDPOINT")) else "some" for name in variables}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a made-up model name may be remarked upon
        model = pydantic_model(ModelChoice(f"{provider}:some/model"), keys)
    assert model.model_name == "some/model"
    assert model.provider is not None
    assert isinstance(model.provider.client, AsyncOpenAI) is PROVIDERS[provider].compatible


@pytest.mark.parametrize("provider", [name for name in INSTALLED if not PROVIDERS[name].compatible])
def test_those_that_are_not_compatible_have_other_clients(provider: str) -> None:
    client = inspect.signature(infer_provider_class(provider).__init__).parameters
    assert "openai_client" not in client


def test_compatible_names_are_those_of_providers_with_an_address() -> None:
    for provider in COMPATIBLE:
        taken = inspect.signature(infer_provider_class(provider).__init__).parameters
        assert {"base_url", "api_key"} <= set(taken)


def test_the_first_that_is_set_counts_and_nothing_counts_for_nothing() -> None:
    keys = {"GOOGLE_API_KEY": "", "GEMINI_API_KEY": "two", "OPENAI_API_KEY": "other"}
    assert arguments_for("google", keys) == {"api_key": "two"}
    assert arguments_for("anthropic", keys) == {}
    assert arguments_for("gateway/openai", {"PAIG_API_KEY": "three"}) == {"api_key": "three"}
