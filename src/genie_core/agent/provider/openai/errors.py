"""Convert the SDK's exceptions to failures of a request."""

from typing import Final

import httpx2
from agents import AgentsException, MaxTurnsExceeded, ModelBehaviorError, ModelTimeoutError
from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, OpenAIError

from genie_core.agent.provider.failures import (
    BEARER,
    ModelRequestInfo,
    code_in,
    endless,
    info_of,
    kind_of_status,
    message_in,
)
from genie_core.errors import GenieError, ModelFailed, summary

_UNKNOWN: Final = 500  # what an error in the midst of a stream counts as


def model_failed(error: Exception, model: str) -> ModelFailed | None:
    """Describe an error of the model or of the connection to it; None for other errors."""
    asked = _asked(error, model)
    match error:
        case APIStatusError():
            detail = message_in(error.body) or error.message
            kind = kind_of_status(error.status_code, code_in(error.body), detail)
            return asked.failed(kind, detail, _seconds(error.response.headers.get("retry-after")))
        case APITimeoutError() | ModelTimeoutError():
            return asked.failed("timeout")
        case APIConnectionError():
            detail = summary(error.__cause__) if error.__cause__ else ""
            return asked.failed("connection" if _never_there(error) else "cut", detail)
        case APIError():
            detail = message_in(error.body) or error.message
            return asked.failed(kind_of_status(_UNKNOWN, error.code, detail), detail)
        case UnicodeEncodeError(object=str() as header) if header.startswith(BEARER):
            return ModelRequestInfo(model, "", key=header.removeprefix(BEARER)).failed("key")
        case OpenAIError():  # the client finds no key to begin with
            return ModelRequestInfo(model, "", "openai").failed("key", str(error))
        case ModelBehaviorError():
            return asked.failed("answer", error.message)
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


def _never_there(error: APIConnectionError) -> bool:
    return isinstance(error.__cause__, (httpx2.ConnectError, httpx2.UnsupportedProtocol))


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header else None
    except ValueError:  # a date, which is allowed too
        return None
