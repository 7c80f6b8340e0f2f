"""Sampling: a server asks the person's model during a call of one of its tools.

The person sees the prompt and allows each request; the usage counts as the run's.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, TypeAlias

from mcp.types import (
    INTERNAL_ERROR,
    CreateMessageRequestParams,
    CreateMessageResult,
    ErrorData,
    SamplingMessage,
    TextContent,
)
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from genie_core.agent.approval import ask_about, asking
from genie_core.agent.provider.pydantic_ai.errors import failures_told, silence_limit, with_limit
from genie_core.agent.provider.pydantic_ai.observed_model import ObservedModel
from genie_core.agent.provider.pydantic_ai.portable import portable
from genie_core.assistant.servers.calls import CallsInProgress
from genie_core.errors import public_summary, summary
from genie_core.privacy.redaction import mask_known
from genie_core.room.engine.approval_policy import SAMPLE_MODEL
from genie_core.runtime.progress import doing, note

log = logging.getLogger(__name__)

MOST_SAMPLES: Final = 5
"""Requests in one call; calls of a server that run at the same time count as one."""

MOST_TOKENS: Final = 8_000
LONGEST_PROMPT: Final = 40_000
"""Characters of a prompt, which a person is to read."""

ModelSource: TypeAlias = Callable[[], Awaitable[Model]]
"""Returns the model of the agent that makes the call; may raise a `GenieError`."""

_NO_CALL: Final = ErrorData(code=INTERNAL_ERROR, message="no tool call is in progress")
_REJECTED: Final = ErrorData(code=-1, message="User rejected sampling request")


async def sample(
    server: str, calls: CallsInProgress, model: ModelSource, params: CreateMessageRequestParams
) -> CreateMessageResult | ErrorData:
    """Ask the model if the person whose agent made the call in progress allows it."""
    result: CreateMessageResult | ErrorData = await calls.answer(
        lambda: _asked(server, calls, model, params), _NO_CALL
    )
    return result


async def _asked(
    server: str, calls: CallsInProgress, model: ModelSource, params: CreateMessageRequestParams
) -> CreateMessageResult | ErrorData:
    ask, number = asking.get(), calls.count(SAMPLE_MODEL)
    if why := _objection(number, params):
        if number <= MOST_SAMPLES + 1:
            doing("note", f"tool server {server!r} may not use the model: {why}")
        return ErrorData(code=-1, message=f"refused: {why}")
    if ask is None or not await ask_about(ask, SAMPLE_MODEL, _question(server, params)):
        return _REJECTED
    try:
        return await _answered(await model(), params)
    except Exception as error:  # the call goes on after any failure of the model
        log.info("the model did not answer a tool server", exc_info=True)
        said = f"tool server {server!r}: the model did not answer"
        note(f"{said}: {public_summary(error)}", f"{said}: {summary(error)}")
        return ErrorData(code=INTERNAL_ERROR, message="the model did not answer")


def _objection(number: int, params: CreateMessageRequestParams) -> str:
    """Say why a request is refused without asking; empty if it is not."""
    if number > MOST_SAMPLES:
        return f"it asked more than {MOST_SAMPLES} times in one call"
    if params.tools or params.tool_choice:
        return "it asks for tools"
    if not all(isinstance(each.content, TextContent) for each in params.messages):
        return "it sends something other than text"
    texts = [params.system_prompt or "", *(_text(each) for each in params.messages)]
    if not any(texts[1:]):
        return "its prompt is empty"
    too_long = sum(map(len, texts)) > LONGEST_PROMPT
    return f"its prompt has more than {LONGEST_PROMPT:,} characters" if too_long else ""


def _question(server: str, params: CreateMessageRequestParams) -> dict[str, object]:
    """Return the text of the card: all that goes to the model."""
    first, *others = params.messages
    prompt = _text(first)
    if others or first.role != "user":
        prompt = "\n\n".join(f"{each.role}: {_text(each)}" for each in params.messages)
    asked: dict[str, object] = {"server": server, "prompt": prompt}
    if params.system_prompt:
        asked["system prompt"] = params.system_prompt
    return {**asked, "max tokens": min(params.max_tokens, MOST_TOKENS)}


async def _answered(model: Model, params: CreateMessageRequestParams) -> CreateMessageResult:
    settings = ModelSettings(max_tokens=min(max(params.max_tokens, 1), MOST_TOKENS))
    if params.temperature is not None:
        settings["temperature"] = params.temperature
    limited = with_limit(model, portable(model, settings), silence_limit(model))
    with failures_told(model):
        async with model:
            response = await model_request(
                ObservedModel(model), list(_messages(params)), model_settings=limited
            )
    return CreateMessageResult(
        role="assistant",
        content=TextContent(type="text", text=mask_known(response.text or "")),
        model=response.model_name or model.model_name,
        stop_reason="maxTokens" if response.finish_reason == "length" else "endTurn",
    )


def _messages(params: CreateMessageRequestParams) -> Iterator[ModelMessage]:
    instructions = params.system_prompt or None
    for each in params.messages:
        if each.role == "user":
            yield ModelRequest([UserPromptPart(_text(each))], instructions=instructions)
        else:
            yield ModelResponse([TextPart(_text(each))])
    if params.messages[-1].role != "user":  # providers want the user's turn last
        yield ModelRequest([UserPromptPart("Go on.")], instructions=instructions)


def _text(message: SamplingMessage) -> str:
    return message.content.text if isinstance(message.content, TextContent) else ""
