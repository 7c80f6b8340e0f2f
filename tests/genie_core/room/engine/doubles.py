"""The room's end of an engine, without a room."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from tests.genie_core.room.live_room import Ear

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.model import PendingReport
from genie_core.room.client.send_queue import ENVELOPE
from genie_core.room.engine.approvals import Approvals
from genie_core.room.engine.private_arguments import PrivateArguments
from genie_core.room.engine.remote_control import RemoteControl
from genie_core.room.engine.reporter import EngineReporter
from genie_core.room.protocol.events import AnyBody, Event, RunBody
from genie_core.room.protocol.frames import ReportProgress
from genie_core.room.state.room_state import RoomState


class FakeRoom:
    """Takes what the engine of `name` publishes; `record` decides what becomes of it."""

    messages = SimpleNamespace(limits=SimpleNamespace(frame_bytes=100_000 + 2 * ENVELOPE))
    device = ""

    def __init__(
        self,
        name: str = "ann",
        state: RoomState | None = None,
        private: PrivateArguments | None = None,
        ear: Ear | None = None,
        where: str = "",
    ) -> None:
        self.name = name
        self.state = state or RoomState()
        self.private = private or PrivateArguments()
        self.ear = ear or Ear()
        self.reports: Sequence[PendingReport] = ()
        self.labels: list[str] = []
        client = cast("RoomConnection", self)
        self.reporter = EngineReporter(client, self.state, self.ear, "")
        self.remote = RemoteControl(self.state, client, self.ear)
        self.approvals = Approvals(self.state, self.reporter, self.private, self.remote, where)

    @property
    def warnings(self) -> list[str]:
        return self.ear.notices

    def add(self, by: str, body: AnyBody) -> int:
        seq = self.state.head + 1
        self.state.apply(Event(seq, float(seq), by, body))
        return seq

    def owe(self, *bodies: RunBody) -> None:
        """Let these be all that the room has yet to hear of."""
        self.reports = [PendingReport(str(index), body) for index, body in enumerate(bodies)]

    def record(self, body: RunBody) -> None:
        self.add(self.name, body)

    # -- as a `RoomConnection` and its queue

    @property
    def queue(self) -> "FakeRoom":
        return self

    def publish(self, body: RunBody) -> None:
        self.record(body)

    def delta(self, message: int, text: str) -> None: ...
    def progress(self, progress: ReportProgress) -> None: ...
    def equip(self, label: str) -> None:
        self.labels.append(label)
