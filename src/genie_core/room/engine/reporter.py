"""Reports from one person's engine to the room and to its owner."""

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
from genie_core.room.security.sealing import PADDING
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.progress import Shown


class EngineReporter:
    """Records an engine's steps in the room's log, and shows its progress.

    Masks known secrets, so that they never reach the log or another member. Names of people, agents
    and tools stay as they are. `label` is the model label that the room has.
    """

    def __init__(self, client: RoomConnection, state: RoomState, emit: OnEvent, label: str) -> None:
        self._client = client
        self._state = state
        self._emit = emit
        self._label = label
        self._masks: dict[int, DeltaMask] = {}

    def publish(self, body: RunBody) -> bool:
        """Record a step. If it can't be recorded, warn the owner and return False."""
        mask = None
        if isinstance(body, AnswerPosted | RunFailed | RunCancelled):
            mask = self._masks.pop(body.message, None)
        if mask is not None and isinstance(body, AnswerPosted):
            self._show(body.message, mask.end())
        try:
            self._client.publish(masked(body))
        except RoomError as error:
            self.warn(f"a step of your engine could not be recorded: {error}")
            return False
        return True

    def max_bytes(self, message: int) -> int:
        """Maximum size of a step of the run for a message; leaves space for its signature."""
        most = self._client.messages.limits.frame_bytes - 2 * ENVELOPE
        return most * 3 // 4 - 2 * PADDING if self._is_private(message) else most  # base64

    @property
    def unrecorded(self) -> Sequence[RunBody]:
        """The published steps that the room's log does not contain yet, in order."""
        return [report.body for report in self._client.queue.reports]

    def delta(self, message: int, text: str) -> None:
        """Show more text of an unfinished answer, here and to the other members.

        Holds back text that may be the start of a secret until the answer is complete; if the
        answer fails, that text is never shown.
        """
        mask = self._masks.setdefault(message, delta_mask())
        self._show(message, mask.feed(text))

    def _show(self, message: int, text: str) -> None:
        if text:
            if not self._is_private(message):
                self._client.queue.delta(message, text)
            self._emit(AnswerDelta(message, text))

    def progress(self, message: int, agent: str, what: Shown, detail: str) -> None:
        """Show the current step of an agent, here and to the other members.

        A note may quote the arguments of a call, so it stays here if they do. A detail is a note
        that always stays here.
        """
        detail = mask_known(detail)
        is_note = what == "note" and not (self._is_own(message) or self._state.sharing)
        is_private = is_note or self._is_private(message)
        if what == "detail":
            what = "note"
        elif not is_private:
            self._client.queue.progress(ReportProgress(message, agent, what, detail))
        self._emit(AgentProgress(message, agent, what, detail))

    def show_engine(self, status: EngineStatus) -> None:
        """Send the engine's status to the owner, and a new label to the room."""
        if status.state is EngineState.READY and status.label != self._label:
            self._label = status.label
            self._client.equip(status.label)
        self._emit(status)

    def warn(self, text: str) -> None:
        self._emit(warning(mask_known(text)))

    def _is_private(self, message: int) -> bool:
        thread = self._state.threads.get(message)
        return thread is not None and thread.is_private

    def _is_own(self, message: int) -> bool:
        thread = self._state.threads.get(message)
        return thread is not None and thread.author == self._client.name


def masked(body: RunBody) -> RunBody:
    """Mask known secrets in all text that an engine or a person wrote."""
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
    """Cut off an end that may be the start of a secret."""
    return delta_mask().feed(text)


def _with(body: RunBody, **fields: object) -> RunBody:
    return msgspec.structs.replace(
        body, **{name: mask_value(value) for name, value in fields.items()}
    )
