import pytest

from genie_core.agent.provider.failures import (
    KEY_VARIABLES,
    ModelRequestInfo,
    bare_address,
    code_in,
    describe_key,
    endless,
    kind_of_status,
    message_in,
    without_secrets,
    would_fail_again,
)
from genie_core.assistant.models.providers import PROVIDERS
from genie_core.errors import ModelFailed, ModelTrouble

KEY = "sk-proj-0123456789abcdefWXYZ"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "invalid_api_key", "key"),
        (403, None, "key"),
        (402, None, "quota"),
        (429, "rate_limit_exceeded", "limit"),
        (429, "insufficient_quota", "quota"),
        (404, None, "model"),
        (400, "model_not_found", "model"),
        (400, "context_length_exceeded", "length"),
        (413, None, "length"),
        (400, None, "refused"),
        (422, None, "refused"),
        (408, None, "timeout"),
        (500, None, "server"),
        (529, None, "server"),
    ],
)
def test_status_and_code_give_trouble_kind(
    status: int, code: str | None, kind: ModelTrouble
) -> None:
    assert kind_of_status(status, code) == kind


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"error": {"message": "no", "code": "c", "type": "t"}}, "no", "c"),
        ({"message": "no", "code": None, "type": "t"}, "no", "t"),
        ([{"error": {"message": "no"}}], "no", None),
        ({"detail": "no"}, "no", None),
        ({"error": "no"}, "no", None),
        ("no", "no", None),
        (None, "", None),
    ],
)
def test_message_is_found_in_any_body(body: object, message: str, code: str | None) -> None:
    assert (message_in(body), code_in(body)) == (message, code)


@pytest.mark.parametrize(
    ("key", "provider", "environ", "text"),
    [
        (KEY, "openai", {"OPENAI_API_KEY": KEY}, "key in OPENAI_API_KEY ending in 'WXYZ'"),
        (KEY, "openai", {}, "key (ending in 'WXYZ', usually OPENAI_API_KEY)"),
        (KEY, "unheard-of", {}, "key (ending in 'WXYZ')"),
        ("local", "openai", {"OPENAI_API_KEY": "local"}, "key in OPENAI_API_KEY"),
        ("local", "openai", {}, "key (usually OPENAI_API_KEY)"),
        (None, "google", {}, "key (usually GOOGLE_API_KEY or GEMINI_API_KEY)"),
        (None, "", {}, "key"),
    ],
)
def test_key_is_named_by_source(
    key: str | None, provider: str, environ: dict[str, str], text: str
) -> None:
    assert describe_key(key, provider, environ) == text


@pytest.mark.parametrize(
    "said",
    [
        f"Incorrect API key provided: {KEY}.",
        f"bad key {KEY[:12]} given",
        f"bad key …{KEY[-8:]}",
        "Incorrect API key provided: sk-pr*****WXYZ. See the docs.",
        "no such token: gsk_abcdefgh12345678",
        "Authorization: Bearer abc.def.ghi was refused",
        "https://host/v1/models?key=AIzaSyA1234567890abcdef failed",
        "AIzaSyA1234567890abcdef failed",
        "401 Unauthorized for url 'https://host/mcp?token=12345678&x=abc.def'",
        "no way through http://me:12345678@proxy:8080",
        "postgresql://me:1@12345678@host/db",
        "x-api-key: 12345678 is unknown",
        '{"token": "12345678"} was sent',
        "access_token=12345678",
        "ghp_abcdefgh12345678",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.12345678",
    ],
)
def test_key_lookalikes_are_removed(said: str) -> None:
    text = without_secrets(said, KEY)
    assert "[hidden]" in text
    for secret in (KEY[:6], KEY[-6:], "*", "12345678", "abc.def", "AIza"):
        assert secret not in text


@pytest.mark.parametrize("mask", ["sk-…", "sk-proj-…", "…", "****", "sk-...", "•••", "sk-**"])
def test_a_masked_key_does_not_show_its_end(mask: str) -> None:
    assert KEY[-4:] not in without_secrets(f"Incorrect API key ({mask}{KEY[-4:]}) given", KEY)


def test_plain_words_stay_on_one_line() -> None:
    assert (
        without_secrets("a monkey asked\n for task-lists", KEY) == "a monkey asked for task-lists"
    )
    parser = "Unexpected token: this. Did you mean max_tokens: 4096? See https://host/docs"
    assert without_secrets(parser) == parser
    assert len(without_secrets("word " * 1000)) < 400


@pytest.mark.parametrize(
    ("address", "bare"),
    [
        ("https://me:secret@host:8080/v1/?key=x#y", "https://host:8080/v1"),
        ("http://127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1"),
        ("http://[::1/?key=x", "http://[::1/?key=[hidden]"),
        ("google", "google"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_credentials(address: str, bare: str) -> None:
    assert bare_address(address) == bare


def test_failure_names_model_and_hides_key() -> None:
    asked = ModelRequestInfo("gpt-x", "https://me:pw@host/v1", "unheard-of", KEY)
    failure = asked.failed("key", f"Incorrect API key provided: {KEY}.")
    assert str(failure) == (
        "model 'gpt-x' at https://host/v1 does not accept the key (ending in 'WXYZ'): "
        "Incorrect API key provided: [hidden]; use a valid key that may use this model"
    )
    assert KEY not in repr(asked) + repr(failure)
    assert (failure.kind, failure.model, failure.where) == ("key", "gpt-x", "https://host/v1")


@pytest.mark.parametrize(
    "said",
    [
        "registry.ollama.ai/library/gemma3:4b does not support tools",
        "This model does not support function calling.",
        "`tool calling` is not supported with this model",
        "Unsupported parameter: 'tools' is not supported with this model.",
        "No endpoints found that support tool use. Try disabling 'search'.",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "tools param requires --jinja flag",
    ],
)
def test_missing_tool_support_is_found(said: str) -> None:
    failure = ModelRequestInfo("m", "http://here/v1").failed("refused", said)
    assert failure.kind == "tools"
    assert str(failure).endswith("; choose another model, one that can call tools")


@pytest.mark.parametrize(
    "said",
    [
        "An assistant message with 'tool_calls' must be followed by tool messages.",
        "Invalid schema for function 'read': additionalProperties is not supported",
        "This model does not support images, only the tools do",
        "tool_choice 'required' needs tools",
    ],
)
def test_other_tool_trouble_stays_refused(said: str) -> None:
    assert ModelRequestInfo("m", "http://here/v1").failed("refused", said).kind == "refused"


def test_key_variables_match_setup() -> None:
    for provider, variables in KEY_VARIABLES.items():
        asked_for = {name for group in PROVIDERS[provider].variables for name in group}
        assert set(variables) <= asked_for


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ModelFailed("length", "m", "there"), True),
        (ModelFailed("refused", "m", "there"), True),
        (ModelFailed("server", "m", "there"), False),
        (endless("m"), False),
        (OSError(), False),
    ],
    ids=str,
)
def test_refused_conversation_fails_again(error: Exception, again: bool) -> None:
    assert would_fail_again(error) is again
