"""Exceptions of libraries reach people in our words."""

import importlib
from collections.abc import Iterator

import httpx2
import pydantic
import pytest
from pydantic_ai.models.test import TestModel

from genie_core.agent.provider.openai.errors import run_failed
from genie_core.agent.provider.pydantic_ai.errors import failures_told
from genie_core.errors import GenieError, StageFailed, public_summary, summary
from genie_core.foreign_errors import in_our_words

MODULES = (
    "pydantic_ai.exceptions",
    "openai",
    "agents.exceptions",
    "httpx2",
    "mcp.shared.exceptions",
    "fastmcp.exceptions",
)
OF_TOOLS = {"MCPError", "McpError", "ModelRetry", "PromptError", "ResourceError", "ToolError"} | {
    "ToolFailed",
    "NoBackChannelError",
    "UrlElicitationRequiredError",
}
WORDS = "Exceeded maximum retries, see https://errors.pydantic.dev/2/v/int_type"


def kinds() -> Iterator[type[Exception]]:
    """Yield the libraries' exceptions that a run can raise."""
    found = set[type[Exception]]()
    for name in MODULES:
        module = importlib.import_module(name)
        found |= {
            each
            for each in (getattr(module, attribute) for attribute in dir(module))
            if isinstance(each, type)
            and issubclass(each, Exception)
            and not issubclass(each, Warning | ExceptionGroup)
            and each.__module__ != "builtins"
        }
    yield from sorted(found, key=lambda each: (each.__module__, each.__name__))


def made(kind: type[Exception]) -> Exception:
    """Create an exception with a library's words in all its fields."""
    base = kind if not issubclass(kind, OSError) else OSError
    error: Exception = base.__new__(kind, WORDS)
    error.args = (WORDS,)
    request = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")
    fields = {
        "message": WORDS,
        "body": {"unknown": WORDS},
        "status_code": 500,
        "code": None,
        "model_name": "m",
        "request": request,
        "response": httpx2.Response(500, request=request),
        "phase": "read",
        "timeout": 1.0,
    }
    for name, value in fields.items():
        try:
            setattr(error, name, value)
        except AttributeError:  # a property, which is then of no other use
            continue
    return error


def told_by_pydantic_ai(error: Exception) -> Exception:
    try:
        with failures_told(TestModel()):
            raise error
    except Exception as told:
        return told


@pytest.mark.parametrize("kind", [*kinds()], ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_library_keeps_its_words_to_itself(kind: type[Exception]) -> None:
    for told in (told_by_pydantic_ai(made(kind)), run_failed(made(kind), "m")):
        failed = StageFailed("agent", "agent 'a' of ann", told)
        if kind.__name__ not in OF_TOOLS:
            assert WORDS not in str(failed)
        assert WORDS not in failed.public
        assert kind.__name__ not in failed.public or isinstance(told, GenieError)


def test_group_of_errors_is_told_by_its_first() -> None:
    group = ExceptionGroup("unhandled errors in a TaskGroup", [LookupError("no such bed")])
    assert summary(group) == "LookupError: no such bed"


def test_validation_error_is_described() -> None:
    class Number(pydantic.BaseModel):
        value: int

    with pytest.raises(pydantic.ValidationError) as refused:
        Number.model_validate({"value": "x"})
    assert summary(refused.value) == public_summary(refused.value)
    assert "pydantic" not in summary(refused.value)


def test_cause_and_status_are_told() -> None:
    failed = httpx2.ConnectError("All connection attempts failed")
    failed.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert in_our_words(failed) == "the connection failed: Connection refused"
    request = httpx2.Request("GET", "http://127.0.0.1/")
    refused = httpx2.HTTPStatusError(
        WORDS, request=request, response=httpx2.Response(401, request=request)
    )
    assert in_our_words(refused) == "the connection failed: HTTP status 401 (unauthorized)"


def test_builtin_exception_keeps_its_text() -> None:
    assert in_our_words(LookupError("no such bed")) is None
    assert summary(LookupError("no such bed")) == "LookupError: no such bed"
