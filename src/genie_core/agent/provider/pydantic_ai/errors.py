"""Convert pydantic-ai's exceptions about a model to the engine's."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    IncompleteToolCall,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings, merge_model_settings

from genie_core.agent.provider.failures import (
    ModelRequestInfo,
    endless,
    kind_of_status,
    message_in,
    says_too_long,
    unsendable,
)
from genie_core.errors import ModelFailed, ModelTrouble
from genie_core.foreign_errors import cause_of
from genie_core.privacy.redaction import hide_secrets
from genie_core.runtime.model_limits import STALL_TIMEOUT

log = logging.getLogger(__name__)

REQUEST_TIMEOUT: Final = 600.0
"""Seconds for a whole request to a model whose SDK can't measure silence."""

_KINDS: Final[tuple[tuple[type[Exception], ModelTrouble], ...]] = (  # narrower classes first
    (ModelAuthenticationError, "key"),
    (ModelNotFoundError, "model"),
    (ModelContextWindowExceededError, "length"),
    (ModelRequestRejectedError, "refused"),
    (ModelQuotaExceededError, "quota"),
    (ModelRateLimitError, "limit"),
    (ModelUnavailableError, "server"),
    (ModelServerError, "server"),
    (ModelTimeoutError, "timeout"),
    (ModelRequestTimeout, "timeout"),
    (ModelConnectionError, "connection"),
    (ContentFilterError, "filter"),
    (IncompleteToolCall, "output"),
    (UnexpectedModelBehavior, "answer"),
)


@contextmanager
def failures_told(model: Model) -> Iterator[None]:
    """Convert exceptions about the model to `ModelFailed` or another error of ours.

    If several models were tried, the last failure is reported. The original exception is the
    context but is not shown, since providers and SDKs print keys.
    """
    try:
        yield
    except FallbackExceptionGroup as group:
        told = [failure_of(each, model) for each in group.exceptions if _is_about_model(each)]
        if not told:
            raise
        raise told[-1] from None
    except (ModelAPIError, UnexpectedModelBehavior) as error:
        raise failure_of(error, model) from None
    except UsageLimitExceeded as error:
        raise endless(model.model_name) from error
    except UnicodeEncodeError:
        asked = info_of_model(model)
        if not unsendable(asked.key):
            raise
        raise asked.failed("key") from None


def with_limit(
    model: Model, settings: ModelSettings | None, limit: ModelSettings
) -> ModelSettings | None:
    """Add a time limit, unless the settings or the model have one."""
    given = {*(model.settings or ()), *(settings or ())}
    if given & {"timeout", "request_timeout"}:
        return settings
    return merge_model_settings(limit, settings)


def silence_limit(model: Model, seconds: float = STALL_TIMEOUT) -> ModelSettings:
    """Limit the silence of a model, or its whole response if its SDK can't measure silence."""
    if "timeout" in unwrapped(model).unsupported_settings:
        return ModelSettings(request_timeout=max(seconds, REQUEST_TIMEOUT))
    return ModelSettings(timeout=seconds)


def _is_about_model(error: Exception) -> bool:
    return isinstance(error, ModelAPIError | UnexpectedModelBehavior)


def failure_of(error: Exception, model: Model) -> ModelFailed:
    """Describe why a model did not answer a request."""
    name = getattr(error, "model_name", None)
    asked = info_of_model(model, name)
    retry_after = getattr(error, "retry_after", None)
    return asked.failed(trouble_of(error), _words(error), retry_after)


def trouble_of(error: Exception) -> ModelTrouble:
    """Classify an error of a model."""
    kind = _kind(error)
    if kind in {"refused", "server"} and says_too_long(_words(error)):
        return "length"
    return kind


def _kind(error: Exception) -> ModelTrouble:
    if isinstance(error, ModelConnectionError) and error.phase == "read":
        return "timeout" if isinstance(error, ModelTimeoutError) else "cut"
    for category, kind in _KINDS:
        if isinstance(error, category):
            return kind
    if isinstance(error, ModelHTTPError):
        return kind_of_status(error.status_code, error.provider_error_code)
    return "server"


def _words(error: Exception) -> str:
    """Return the provider's words, or those of the system; the SDK's are not for people."""
    if not isinstance(error, ModelAPIError):
        log.info("a model's answer is refused: %s", hide_secrets(str(error)))
        return ""
    if isinstance(error, ModelRequestTimeout):
        return f"within {error.timeout:g} seconds"
    if message := message_in(error.body):
        return message
    return (
        f"HTTP status {error.status_code}" if isinstance(error, ModelHTTPError) else cause_of(error)
    )


def info_of_model(model: Model, name: str | None = None) -> ModelRequestInfo:
    """Return the model that was asked, inside wrappers and alternatives."""
    model = unwrapped(model)
    if isinstance(model, FallbackModel):
        named = [each for each in model.models if each.model_name == name]
        return info_of_model((named or list(model.models))[-1], name)
    return ModelRequestInfo(
        name or model.model_name,
        getattr(model, "base_url", None) or "",
        model.system,
        _key(getattr(model, "client", None)),
    )


def unwrapped(model: Model) -> Model:
    """Return the model inside wrappers."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return model


def _key(client: Any) -> str | None:
    """Return the key in an SDK's client; clients have no common interface for it."""
    for holder in (client, getattr(client, "_api_client", None)):
        for name in ("api_key", "token"):
            if isinstance(key := getattr(holder, name, None), str):
                return key
    return None
