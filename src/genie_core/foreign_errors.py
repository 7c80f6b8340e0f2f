"""Describe exceptions of libraries in this package's words.

A library's own words name its classes and options, link to its pages and quote whole responses.
Nothing here imports one: classes are known by name.
"""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

_LIBRARIES: Final = {
    **dict.fromkeys(
        ("agents", "anthropic", "google", "group_sense", "openai", "pydantic_ai"),
        "the request to the model failed",
    ),
    **dict.fromkeys(("anyio", "httpcore2", "httpx2"), "the connection failed"),
    **dict.fromkeys(("fastmcp", "mcp"), "the tool server failed"),
    **dict.fromkeys(("pydantic", "pydantic_core"), "a value does not have the form that is needed"),
}
"""The meaning of an exception, by the package that defines its class."""

_BY_OTHERS: Final = frozenset(
    {"MCPError", "McpError", "ModelRetry", "PromptError"}
    | {"ResourceError", "ToolError", "ToolFailed"}
)
"""Exceptions whose text is that of a tool or a server."""

_DEEPEST: Final = 10


def in_our_words(error: BaseException) -> str | None:
    """Describe a library's exception in one line; None for an exception that is no library's."""
    if not (meaning := meaning_of(error)):
        return None
    import logging  # light commands load errors, and no logging

    logging.getLogger(__name__).debug("%s", meaning, exc_info=error)
    names = {each.__name__ for each in type(error).__mro__}
    if names & _BY_OTHERS:
        return " ".join(str(error).split())
    if any("Timeout" in name or "TimedOut" in name for name in names):
        return "no answer came in time"
    detail = status_of(error) or cause_of(error)
    return f"{meaning}: {detail}" if detail else meaning


def meaning_of(error: BaseException) -> str:
    """Return the meaning of a library's exception, in words for everyone; empty for another one."""
    return _LIBRARIES.get(type(error).__module__.partition(".")[0], "")


def cause_of(error: BaseException) -> str:
    """Return the system's words about the first cause of an exception; may be empty."""
    for cause in reversed([*_chain(error)]):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        if type(cause).__module__.startswith(__package__ or ""):
            return str(cause)
    return ""


def status_of(error: BaseException) -> str:
    """Return the HTTP status of the response that an exception is about; may be empty."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if not isinstance(status, int):
        return ""
    phrase = f" ({HTTPStatus(status).phrase.lower()})" if status in set(HTTPStatus) else ""
    return f"HTTP status {status}{phrase}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(_DEEPEST):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
