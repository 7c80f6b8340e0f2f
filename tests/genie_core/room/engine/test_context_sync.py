"""What a session is told of what others said, answered and attached."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from genie_core.message import Message
from genie_core.reasoner import Decision, Response
from genie_core.room.engine.context import ContextSync
from genie_core.room.engine.verification import Verifier
from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    DecisionMade,
    Event,
    FileRef,
    HostStarted,
    MessagePosted,
    RoomCreated,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.session import GroupSession
from genie_testing import agent_factory, echo, reasoner_factory

FILE = FileRef("ab" * 32, "plan.pdf", 5, "application/pdf")


class Ben:
    """A member whose engine listens; `here` are the files that have arrived."""

    def __init__(self) -> None:
        self.here: set[str] = set()
        self.updates: list[Message] = []
        self.session = GroupSession("r", reasoner_factory(self.decide), agent_factory(echo))
        self.state = RoomState()
        verifier = Verifier(self.state, "ben", None, serves=False)
        self.context = ContextSync(self.session, "ben", verifier, self._place)
        self.add("", RoomCreated("r", "Room"))
        self.add("", HostStarted("ann"))

    def _place(self, digest: str) -> Path | None:
        return Path("/files", digest) if digest in self.here else None

    def add(self, by: str, body: AnyBody) -> int:
        seq = self.state.head + 1
        self.state.apply(Event(seq, float(seq), by, body))
        return seq

    def said(self, by: str, text: str, *files: FileRef) -> MessageThread:
        seq = self.add(by, MessagePosted(f"id{self.state.head}", text, "ann", files=files))
        return self.state.threads[seq]

    async def heard(self) -> list[tuple[str, str]]:
        """Ask the engine something; returns who it had heard say what until then."""
        async for _ in self.session.handle(Message("and now?", "ben")).events():
            pass
        return [(each.sender, each.content) for each in self.updates[:-1]]

    def decide(self, updates: list[Message]) -> Response:
        self.updates += updates
        return Response(Decision.IGNORE, reason="listening")


@pytest.fixture
async def ben() -> AsyncIterator[Ben]:
    ben = Ben()
    yield ben
    ben.session.stop()
    await ben.session.join()


async def test_a_file_that_comes_late_is_told_of_once(ben: Ben) -> None:
    ben.context.on_said(ben.said("cleo", "look", FILE))
    ben.context.on_file(FILE.digest)  # it is not there, whoever says so
    ben.context.on_said(ben.said("cleo", "again", FILE))
    ben.here.add(FILE.digest)
    for _ in range(2):
        ben.context.on_file(FILE.digest)
    texts = [text for _, text in await ben.heard()]
    assert texts == [
        "look\n(attached, but not here yet: plan.pdf)",
        "again\n(attached, but not here yet: plan.pdf)",
        "(the file plan.pdf is here now)",
    ]


async def test_others_and_their_agents_are_heard(
    ben: Ben,
) -> None:
    cleo = ben.said("cleo", "hello")
    ben.context.on_said(cleo)
    ben.add("ann", DecisionMade(cleo.seq, "delegate", "", "hello", "cleo"))
    ben.add("ann", AnswerPosted(cleo.seq, "hello cleo", "cleo"))
    ben.context.on_answered(cleo)
    assert [text for _, text in await ben.heard()] == ["hello", "hello cleo"]


async def test_unacceptable_message_is_left_out(ben: Ben) -> None:
    ben.context.on_said(ben.said("", "from nobody"))
    ben.context.on_said(ben.said("cleo", "hello"))
    assert await ben.heard() == [("cleo", "hello")]


async def test_message_comes_with_local_files(ben: Ben) -> None:
    ben.here.add(FILE.digest)
    thread = ben.said("cleo", "look", FILE)
    (attachment,) = ben.context.message(thread).attachments
    assert attachment.path == f"/files/{FILE.digest}"
    ben.context.await_files(thread)
    ben.context.on_file(FILE.digest)
    assert await ben.heard() == []  # it was not awaited
