"""The table of providers, held against the installed pydantic-ai."""

import os
import re
import warnings
from importlib.util import find_spec
from pathlib import Path

import pydantic_ai.providers
import pytest
from pydantic_ai.models import infer_model

from genie_core.assistant.errors import MissingPackage, MissingVariable, UnknownProvider
from genie_core.assistant.models.providers import PROVIDERS, check_model, served_name

NOT_FOR_CHAT = {"elevenlabs", "sentence-transformers", "voyageai"}
NOT_BY_NAME = {
    "openai-chatgpt": "asks for credentials in code",
    "openai-decisions": "judges, does not chat",
    "system-one": "judges, does not chat",
    "typesafe": "judges, does not chat",
    "github": "retired by its owner",
}
OWN_CREDENTIALS = {"google-cloud", "openai-codex", "litellm", "bedrock", "ollama"}
INSTALLED = sorted(
    name for name, needs in PROVIDERS.items() if not needs.package or find_spec(needs.package)
)


def names_known_to_pydantic_ai() -> set[str]:
    source = Path(pydantic_ai.providers.__file__).read_text(encoding="utf-8")
    body = source[source.index("def infer_provider_class") : source.index("def infer_provider(")]
    tests = re.findall(r"provider (?:==|in) (.+):", body)
    return {name for test in tests for name in re.findall(r"'([^']+)'", test)}


def test_table_lists_every_chat_provider() -> None:
    assert set(PROVIDERS) == names_known_to_pydantic_ai() - NOT_FOR_CHAT - set(NOT_BY_NAME)


@pytest.mark.usefixtures("bare_environment")
@pytest.mark.parametrize("provider", [n for n in INSTALLED if n not in OWN_CREDENTIALS])
def test_missing_variable_matches_provider(provider: str) -> None:
    with pytest.raises(MissingVariable) as ours:
        check_model(f"{provider}:some-model", os.environ)
    with pytest.raises(Exception, match="environment variable") as theirs:
        infer_model(f"{provider}:some-model")
    assert ours.value.variables[0] in str(theirs.value)
    assert ours.value.variables[0] in str(ours.value)


@pytest.mark.usefixtures("bare_environment")
@pytest.mark.parametrize(
    "provider", [n for n in INSTALLED if PROVIDERS[n].variables and n != "bedrock-mantle"]
)
def test_the_listed_variables_suffice(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, *_ in PROVIDERS[provider].variables:
        is_address = variable.endswith(("URL", "ENDPOINT"))
        monkeypatch.setenv(variable, "https://example.invalid/openai/v1" if is_address else "some")
    check_model(f"{provider}:some/model", os.environ)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a made-up model name may be remarked upon
        assert infer_model(f"{provider}:some/model").model_name == "some/model"


@pytest.mark.parametrize("alternative", PROVIDERS["google"].variables[0])
def test_each_alternative_variable_is_enough(alternative: str) -> None:
    check_model("google:gemini", {alternative: "key"})


def test_empty_variable_counts_as_missing() -> None:
    with pytest.raises(MissingVariable, match="ANTHROPIC_API_KEY"):
        check_model("anthropic:claude", {"ANTHROPIC_API_KEY": ""})


def test_local_models_need_no_key() -> None:
    check_model("ollama:qwen3", {})
    check_model("openai:local", {"OPENAI_BASE_URL": "http://127.0.0.1:1234/v1"})


def test_unknown_provider_suggests_nearest() -> None:
    with pytest.raises(UnknownProvider, match=r"did you mean anthropic\?$"):
        check_model("antropic:claude", {})


@pytest.mark.parametrize("name", ["gpt-5", "openai:", "", ":x", "test"])
def test_incomplete_name_is_refused(name: str) -> None:
    with pytest.raises(UnknownProvider, match=r"known providers: .*openai.*") as refused:
        check_model(name, {"OPENAI_API_KEY": "key"})
    assert "\n" not in str(refused.value)


def test_absent_sdk_names_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.assistant.models.providers.find_spec", lambda _: None)
    with pytest.raises(MissingPackage, match=r'pip install "pydantic-ai-slim\[groq\]"'):
        check_model("groq:llama", {"GROQ_API_KEY": "key"})


def test_the_gateway_needs_its_own_key() -> None:
    with pytest.raises(MissingVariable, match="PYDANTIC_AI_GATEWAY_API_KEY"):
        check_model("gateway/openai:gpt-5", {"OPENAI_API_KEY": "key"})


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("openai:gpt-oss:20b", ("openai", "gpt-oss:20b")),
        ("ollama:qwen3:8b", ("ollama", "qwen3:8b")),
        ("qwen3:8b", ("", "qwen3:8b")),
        ("mistral:latest", ("", "mistral:latest")),
        ("plain", ("", "plain")),
        ("openai:", ("", "openai:")),
    ],
)
def test_served_name_may_contain_colons(name: str, parts: tuple[str, str]) -> None:
    assert served_name(name) == parts
