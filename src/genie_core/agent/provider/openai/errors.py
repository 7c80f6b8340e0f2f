"""Convert the SDK's exceptions to failures of a request."""

import logging
from typing import Final

import httpx2
from agents import (
    AgentsException,
    MaxTurnsExceeded,
    ModelBehaviorError,
    ModelRefusalError,
    ModelTimeoutError,
)
from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    ContentFilterFinishReasonError,
    LengthFinishReasonError,
    OpenAIError,
)

from genie_core.agent.provider.failures import (
    BEARER,
    ModelRequestInfo,
    code_in,
    endless,
    info_of,
    kind_of_status,
    message_in,
    seconds_in,
)
from genie_core.errors import GenieError, ModelFailed, ModelTrouble
from genie_core.foreign_errors import cause_of
from genie_core.privacy.redaction import hide_secrets

log = logging.getLogger(__name__)

_UNKNOWN: Final = 500  # the kind of an error in the midst of a stream


class EmptyAnswer(ModelBehaviorError):
    """A model's answer without a word, also when it was asked again."""


def model_failed(error: Exception, model: str) -> ModelFailed | None:
    """Describe an error of the model or of the connection to it; None for other errors."""
    asked = _asked(error, model)
    match error:
        case APIStatusError():
            detail = message_in(error.body) or f"HTTP status {error.status_code}"
            kind = kind_of_status(error.status_code, code_in(error.body), detail)
            retry_after = seconds_in(error.response.headers.get("retry-after"))
            return asked.failed(kind, detail, retry_after)
        case APITimeoutError() | ModelTimeoutError():
            return asked.failed("timeout")
        case APIConnectionError():
            return asked.failed(_connection_trouble(error), cause_of(error))
        case APIError():
            detail = message_in(error.body)
            return asked.failed(kind_of_status(_UNKNOWN, error.code, detail), detail)
        case UnicodeEncodeError(object=str() as header) if header.startswith(BEARER):
            return ModelRequestInfo(model, "", key=header.removeprefix(BEARER)).failed("key")
        case LengthFinishReasonError():
            return asked.failed("output")
        case ContentFilterFinishReasonError() | ModelRefusalError():
            return asked.failed("filter")
        case OpenAIError() if type(error) is OpenAIError:  # the client finds no key to begin with
            return ModelRequestInfo(model, "", "openai").failed("key")
        case EmptyAnswer():
            return asked.failed("answer", "it is empty")
        case OpenAIError() | ModelBehaviorError():
            log.info("a model's answer is refused: %s", hide_secrets(str(error)))
            return asked.failed("answer")
        case _:
            return None


def run_failed(error: Exception, model: str) -> Exception:
    """Convert an error to the form that people see."""
    if isinstance(error, GenieError):
        return error
    if isinstance(error, AgentsException) and isinstance(error.__cause__, GenieError):
        return error.__cause__
    if isinstance(error, MaxTurnsExceeded):
        return endless(model)
    if isinstance(error, AgentsException) and isinstance(error.__cause__, Exception):
        return model_failed(error.__cause__, model) or model_failed(error, model) or error
    return model_failed(error, model) or error


def _asked(error: Exception, model: str) -> ModelRequestInfo:
    request = error.request if isinstance(error, (APIConnectionError, APIError)) else None
    if not isinstance(request, httpx2.Request):
        return ModelRequestInfo(model, "")
    return info_of(request, model)


def _connection_trouble(error: APIConnectionError) -> ModelTrouble:
    never_there = isinstance(error.__cause__, (httpx2.ConnectError, httpx2.UnsupportedProtocol))
    return "connection" if never_there else "cut"
