"""Word for the model why a tool call has no result: a person's answer, or a failure."""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from genie_core.agent.approval import Verdict
from genie_core.errors import GenieError, public_summary, summary, tool_failure
from genie_core.privacy.redaction import mask_known
from genie_core.runtime.progress import note

if TYPE_CHECKING:
    from pydantic import ValidationError

log = logging.getLogger(__name__)

_DENIED: Final = "The user did not allow this tool call."
_NOT_RUN: Final = "This tool call was not run"


@dataclass
class InvalidArgumentsError(GenieError):
    """Edited arguments that do not fit the tool."""

    tool: str
    reason: str

    def __str__(self) -> str:
        return f"the arguments entered by the user do not fit {self.tool}: {self.reason}"


def complaints(error: "ValidationError") -> str:
    """Describe how arguments violate a function's signature."""
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())


def denial(verdict: Verdict) -> str:
    """Return the text that the model reads instead of the tool's result.

    It mentions a person only if one decided.
    """
    if verdict.automatic:
        return f"{_NOT_RUN}: {mask_known(verdict.reason)}" if verdict.reason else f"{_NOT_RUN}."
    if not verdict.reason:
        return _DENIED
    return f"{_DENIED} Reason given: {mask_known(verdict.reason)}"


def failed(tool: str, error: Exception) -> str:
    """Report an exception of a tool; returns the text that the model reads instead of a result."""
    if not isinstance(error, GenieError):
        log.warning("tool %s raised", tool, exc_info=error)
    note(f"{tool}: {public_summary(error)}", f"{tool}: {summary(error)}")
    return tool_failure(error)
