"""Elicitation: a server asks the person for input during a call of one of its tools.

The person answers on the card of an approval request. Neither the server's question nor the answer
is recorded in the room.
"""

from typing import Any, Final
from urllib.parse import urlsplit

from mcp.types import (
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
)

from genie_core.agent.approval import Verdict, ask_about, asking
from genie_core.assistant.servers.calls import CallsInProgress
from genie_core.room.engine.approval_policy import ANSWER_SERVER
from genie_core.runtime.progress import doing
from genie_core.text.tool_form import UnfitForm, fault_in, fields_of

MOST_QUESTIONS: Final = 10
"""Questions in one call; calls of a server that run at the same time count as one."""

LONGEST_MESSAGE: Final = 4_000
LONGEST_ADDRESS: Final = 4_000

CANCELLED: Final = ElicitResult(action="cancel")
_DECLINED: Final = ElicitResult(action="decline")


async def elicit(server: str, calls: CallsInProgress, params: ElicitRequestParams) -> ElicitResult:
    """Ask the person whose agent made the call that is in progress.

    A denial declines. A request without a call, one too many, or one that can't be shown is
    cancelled.
    """
    return await calls.answer(lambda: _asked(server, calls, params), CANCELLED)


async def _asked(server: str, calls: CallsInProgress, params: ElicitRequestParams) -> ElicitResult:
    ask, number = asking.get(), calls.count(ANSWER_SERVER)
    if number > MOST_QUESTIONS:
        return CANCELLED
    try:
        arguments, schema = _question(server, params)
    except UnfitForm as error:
        doing("note", f"tool server {server!r} asks for input that can't be given here: {error}")
        return CANCELLED
    if ask is None:
        return CANCELLED
    verdict = await ask_about(ask, ANSWER_SERVER, arguments, schema)
    if not verdict:
        return CANCELLED if verdict.automatic else _DECLINED
    if isinstance(params, ElicitRequestURLParams):
        return ElicitResult(action="accept")
    return _answer(server, params, verdict)


def _question(
    server: str, params: ElicitRequestParams
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the text of the card, and the schema of the answer. Raises `UnfitForm`."""
    if len(params.message) > LONGEST_MESSAGE:
        raise UnfitForm("its message is too long")
    asked = {"server": server, "message": params.message}
    if isinstance(params, ElicitRequestURLParams):
        return {**asked, "url": _checked(params.url)}, None
    fields_of(params.requested_schema)
    return {**asked, "answer": {}}, {
        "type": "object",
        "properties": {"answer": params.requested_schema},
    }


def _checked(url: str) -> str:
    """Return an address that a browser may open. Raises `UnfitForm`.

    A person reads its host: names with letters that look like others are in their ASCII form, and
    nothing before an @, or behind a backslash, can pass for the host.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UnfitForm("its address is invalid") from error
    fits = parts.scheme in ("http", "https") and parts.hostname and url.isprintable()
    if not fits or set(" \\") & set(url) or len(url) > LONGEST_ADDRESS:
        raise UnfitForm("its address does not begin with http:// or https://, or is invalid")
    if "@" in parts.netloc or not url.isascii():
        raise UnfitForm("its address could be taken for another one")
    return url


def _answer(server: str, params: ElicitRequestFormParams, verdict: Verdict) -> ElicitResult:
    """Return the person's answer. Allowing without one fits only a form without fields."""
    schema = params.requested_schema
    answer = verdict.arguments.get("answer") if verdict.arguments is not None else None
    if answer is None and not fields_of(schema):
        answer = {}
    fault = fault_in(schema, answer) if isinstance(answer, dict) else "nothing was filled in"
    if fault:
        doing("note", f"tool server {server!r} got no answer: {fault}")
        return _DECLINED
    return ElicitResult(action="accept", content=answer)
