"""Reports of one person's engine, to the room and to its owner."""

from collections.abc import Sequence

import msgspec

from genie_core.privacy.known_secrets import DeltaMask
from genie_core.privacy.redaction import delta_mask, mask_known, mask_value
from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import OnEvent, warning
from genie_core.room.client.model import EngineState, EngineStatus
from genie_core.room.client.send_queue import ENVELOPE
from genie_core.room.protocol.errors import RoomError
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import AgentProgress, AnswerDelta, ReportProgress
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.progress import What


class EngineReporter:
    """Records an engine's steps in the room's log, and shows what it is doing.

    Known secrets are masked first, so that neither the log nor the room ever has them; names of
    people, agents and tools stay as they are. `label` is the one that the room knows so far.
    """

    def __init__(self, client: RoomConnection, state: RoomState, emit: OnEvent, label: str) -> None:
        self._client = client
        self._state = state
        self._emit = emit
        self._label = label
        self._masks: dict[int, DeltaMask] = {}

    def publish(self, body: RunBody) -> bool:
        """Record a step; False if the room can't hold it, which the owner is told."""
        mask = None
        if isinstance(body, AnswerPosted | RunFailed | RunCancelled):
            mask = self._masks.pop(body.message, None)
        if mask is not None and isinstance(body, AnswerPosted):
            self._show(body.message, mask.end())
        exchange = self._state.exchanges.get(body.message)
        said = exchange.said if exchange is not None and self._is_own(body.message) else None
        try:
            self._client.publish(masked(body), said)
        except RoomError as error:
            self.warn(f"a step of your engine could not be recorded: {error}")
            return False
        return True

    @property
    def largest(self) -> int:
        return self._client.limits.frame_bytes - 2 * ENVELOPE

    @property
    def unrecorded(self) -> Sequence[RunBody]:
        """The published steps that the room's log does not show yet, in order."""
        return [report.body for report in self._client.queue.reports]

    def delta(self, message: int, text: str) -> None:
        """Show more of an unfinished answer, here and to the others.

        Text that may be the beginning of a secret is held back. It is shown when the answer is
        complete, and never if the answer breaks off.
        """
        mask = self._masks.setdefault(message, delta_mask())
        self._show(message, mask.feed(text))

    def _show(self, message: int, text: str) -> None:
        if text:
            self._client.queue.delta(message, text)
            self._emit(AnswerDelta(message, text))

    def progress(self, message: int, agent: str, what: What, detail: str) -> None:
        """Show what an agent is doing, here and to the others.

        A note may quote the arguments of a call, and stays here if those do. A detail is a note
        that always stays here.
        """
        detail = mask_known(detail)
        is_private = what == "note" and not (self._is_own(message) or self._state.sharing)
        if what == "detail":
            what = "note"
        elif not is_private:
            self._client.queue.progress(ReportProgress(message, agent, what, detail))
        self._emit(AgentProgress(message, agent, what, detail))

    def show_engine(self, status: EngineStatus) -> None:
        """Show the engine's status to the owner, and a new label to the room."""
        if status.state is EngineState.READY and status.label != self._label:
            self._label = status.label
            self._client.equip(status.label)
        self._emit(status)

    def warn(self, text: str) -> None:
        self._emit(warning(mask_known(text)))

    def _is_own(self, message: int) -> bool:
        exchange = self._state.exchanges.get(message)
        return exchange is not None and exchange.author == self._client.name


def masked(body: RunBody) -> RunBody:
    """Mask known secrets in everything that an engine or a person has worded."""
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
            return _with(body, error=error, text=_safe_start(text))
        case RunCancelled(reason=reason, text=text):
            return _with(body, reason=reason, text=_safe_start(text))


def _safe_start(text: str) -> str:
    """An incomplete text without an end that may be the beginning of a secret."""
    return delta_mask().feed(text)


def _with(body: RunBody, **fields: object) -> RunBody:
    return msgspec.structs.replace(
        body, **{name: mask_value(value) for name, value in fields.items()}
    )
