"""What an engine reports, without the secrets that are known."""

from collections.abc import Sequence

import msgspec

from genie_core.privacy.known_secrets import DeltaMask
from genie_core.privacy.redaction import delta_mask, mask_known, mask_value
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.reporter import Reporter
from genie_core.runtime.progress import What


class Discreet:
    """Passes reports on with known secrets hidden, so that neither log nor room ever has them.

    Names of people, agents and tools stay as they are. Of an answer in the making, what could be
    the beginning of a secret waits; it is shown when the answer is complete, and never if it isn't.
    """

    def __init__(self, inner: Reporter) -> None:
        self._inner = inner
        self._masks: dict[int, DeltaMask] = {}

    def publish(self, body: RunBody) -> bool:
        """Record a step."""
        mask = None
        if isinstance(body, AnswerPosted | RunFailed | RunCancelled):
            mask = self._masks.pop(body.message, None)
        if mask is not None and isinstance(body, AnswerPosted):
            self._show(body.message, mask.end())
        return self._inner.publish(discreet(body))

    @property
    def largest(self) -> int:
        """How many bytes a step may have."""
        return self._inner.largest

    @property
    def unrecorded(self) -> Sequence[RunBody]:
        """The published steps that the room's log does not show yet, in order."""
        return self._inner.unrecorded

    def delta(self, message: int, text: str) -> None:
        """Show text of an answer in the making, as far as it is sure to hold no secret."""
        mask = self._masks.setdefault(message, delta_mask())
        self._show(message, mask.feed(text))

    def progress(self, message: int, agent: str, what: What, detail: str) -> None:
        """Show what an agent is at."""
        self._inner.progress(message, agent, what, mask_known(detail))

    def warn(self, text: str) -> None:
        """Tell the owner that something is wrong."""
        self._inner.warn(mask_known(text))

    def _show(self, message: int, text: str) -> None:
        if text:
            self._inner.delta(message, text)


def discreet(body: RunBody) -> RunBody:
    """The step with known secrets hidden in all that an engine or a person has worded."""
    match body:
        case DecisionMade(reason=reason, query=query):
            return _with(body, reason=reason, query=query)
        case ApprovalRequested(arguments=arguments, because=because):
            return _with(body, arguments=arguments, because=because)
        case ApprovalResolved(reason=reason, arguments=arguments):
            return _with(body, reason=reason, arguments=arguments)
        case AnswerPosted(text=text):
            return _with(body, text=text)
        case RunFailed(error=error, text=text):
            return _with(body, error=error, text=_begun(text))
        case RunCancelled(reason=reason, text=text):
            return _with(body, reason=reason, text=_begun(text))


def _begun(text: str) -> str:
    """A text that broke off, without an end that could be the beginning of a secret."""
    return delta_mask().feed(text)


def _with(body: RunBody, **fields: object) -> RunBody:
    return msgspec.structs.replace(
        body, **{name: mask_value(value) for name, value in fields.items()}
    )
