"""What one person's engine does, told to the room and to the person."""

from collections.abc import Sequence

from genie_core.room.audience import Audience
from genie_core.room.client import RoomClient
from genie_core.room.outbox import ENVELOPE
from genie_core.room.protocol.errors import RoomError
from genie_core.room.protocol.events import RunBody
from genie_core.room.protocol.frames import ReportProgress
from genie_core.room.seat import EngineState, EngineStatus
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.progress import What


class Herald:
    """Tells of an engine here and everywhere; an `Owner` for an `EngineRoom`.

    `label` is the one by which the room knows the engine so far.
    """

    def __init__(
        self, client: RoomClient, state: RoomState, audience: Audience, label: str
    ) -> None:
        self._client = client
        self._state = state
        self._audience = audience
        self._label = label

    def publish(self, body: RunBody) -> bool:
        """Record a step of the engine in the room's log; False if it can't be."""
        exchange = self._state.exchanges.get(body.message)
        try:
            is_own = exchange is not None and exchange.author == self._client.name
            self._client.publish(body, exchange.said if exchange and is_own else None)
        except RoomError as error:
            self.warn(f"a step of your engine could not be recorded: {error}")
            return False
        return True

    @property
    def largest(self) -> int:
        """How many bytes a step may have, so that the room can hold it with its signature."""
        return self._client.limits.frame_bytes - 2 * ENVELOPE

    @property
    def unrecorded(self) -> Sequence[RunBody]:
        """The published steps that the room's log does not show yet, in order."""
        return [report.body for report in self._client.unrecorded]

    def delta(self, message: int, text: str) -> None:
        """Show text of an answer in the making, here and to the others."""
        self._client.delta(message, text)
        self._audience.listener.on_delta(message, text)

    def progress(self, message: int, agent: str, what: What, detail: str) -> None:
        """Show what an agent is at, here and to the others.

        A note may quote what a tool was called with, and stays here where that does. A detail is a
        note that always stays here.
        """
        if what == "detail":
            self._audience.listener.on_progress(message, agent, "note", detail)
            return
        exchange = self._state.exchanges.get(message)
        is_own = exchange is not None and exchange.author == self._client.name
        if what != "note" or is_own or self._state.sharing:
            self._client.progress(ReportProgress(message, agent, what, detail))
        self._audience.listener.on_progress(message, agent, what, detail)

    def show_engine(self, status: EngineStatus) -> None:
        """Show how the engine is, and tell the room if it goes by another label now."""
        if status.state is EngineState.READY and status.label != self._label:
            self._label = status.label
            self._client.equip(status.label)
        self._audience.listener.on_engine(status)

    def warn(self, text: str) -> None:
        """Tell the person, and nobody else, that something is wrong."""
        self._audience.warn(text)
