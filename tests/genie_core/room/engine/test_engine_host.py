"""One person's engine among several terminals, and what it gets to see."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.genie_core.room.engine.doubles import FakeRoom
from tests.genie_core.room.live_room import (
    Ear,
    LiveRoom,
    answers,
    by_socket,
    loader,
    opened,
    tool_user,
)
from tests.genie_core.room.shelf import Shelf, Store
from tests.limits import scaled

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.agent.approval import ask_about
from genie_core.errors import GenieError
from genie_core.message import Attachment, Message, Thread
from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets
from genie_core.reasoner import Decision, Response
from genie_core.room.client.events import RoomEvent
from genie_core.room.client.model import Answer, EngineState, EngineStatus
from genie_core.room.client.signer import Signer
from genie_core.room.engine.config import Engine, EngineConfig, EngineLoader, EngineSite
from genie_core.room.engine.engine_host import EngineHost
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MessagePosted,
    Quote,
    QuotedLine,
    RoomCreated,
    RunBody,
    RunFailed,
)
from genie_core.room.protocol.frames import MemberTyping
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.grace import Grace
from genie_testing import Emit

DIGEST = "ab" * 32
FILE = FileRef(DIGEST, "plan.pdf", 5, "application/pdf")


# -- several terminals


async def test_message_runs_at_other_terminal(
    tmp_path: Path,
) -> None:
    async with opened() as live:
        connector = await by_socket(live)
        desk, _ = await live.joined(
            "ben", loader(tmp_path / "desk"), connector=connector, device="desk"
        )
        couch, ear = await live.joined("ben", None, connector=connector, device="couch")
        couch.messages.send("hello")
        await ear.until(lambda: answers(couch))
        (thread,) = couch.state.threads.values()
        assert (thread.handler, thread.device) == ("ben", "desk")
        assert desk.state.threads.keys() == couch.state.threads.keys()


# -- work that there is no engine for


class Ben(FakeRoom):
    """The owner of an engine that never gets to work."""

    def __init__(self, *unrecorded: RunBody) -> None:
        super().__init__("ben", ear=(ear := Engines()))
        self.owe(*unrecorded)
        self.published: list[RunBody] = []
        self.failed = ear.failed

    def record(self, body: RunBody) -> None:
        self.published.append(body)
        self.ear(MemberTyping("ben"))  # so that `until` looks again


class Engines(Ear):
    """An ear that hears at once of an engine that has failed."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = asyncio.Event()

    def __call__(self, event: RoomEvent) -> None:
        super().__call__(event)
        if isinstance(event, EngineStatus) and event.state is EngineState.FAILED:
            self.failed.set()


@asynccontextmanager
async def engine_of(
    ben: Ben,
    load: EngineLoader,
    reload: Callable[[str], EngineLoader] | None = None,
    author: Signer | None = None,
) -> AsyncIterator[tuple[EngineHost, RoomState]]:
    """The engine of somebody who comes back to a room where a run of theirs is under way."""
    for by, body in (
        ("", RoomCreated("r", "Room")),
        ("", HostStarted("ann")),
        ("ben", MemberJoined("member", engine=True, device="desk")),
        ("ben", MessagePosted("m", "tidy up", "ben", device="desk")),
        ("ben", DecisionMade(4, "delegate", "asked for", "tidy up", None, 0.5)),
    ):
        ben.add(by, body)
    config = EngineConfig(load, "scripted", reload=reload, private=ben.private)
    engine = EngineHost(
        config,
        ben.state,
        ben.reporter,
        ben.approvals,
        ben.remote,
        EngineSite("desk", author=author),
    )
    engine.open("ben")
    engine.begin(ben.state.head)
    yield engine, ben.state
    await engine.close("ben left", Grace(0.0))


ENDED: list[RunBody] = [AnswerPosted(4, "done", "ben", 1.0)]


@pytest.mark.parametrize(("unrecorded", "given_up"), [([], 1), (ENDED, 0)])
async def test_failed_engine_keeps_ended_runs(unrecorded: list[RunBody], given_up: int) -> None:
    async def load() -> Engine:
        raise GenieError("no such model")

    ben = Ben(*unrecorded)
    async with engine_of(ben, load), asyncio.timeout(scaled(60)):
        await ben.failed.wait()
        told = "the engine of ben is not ready; ben sees the details"
        assert ben.published == [RunFailed(4, "factory", told)] * given_up
        ben.owe(*ben.published, *unrecorded)
    assert len(ben.published) == given_up


@pytest.mark.parametrize(("unrecorded", "given_up"), [([], 1), (ENDED, 0)])
async def test_leaving_early_keeps_ended_runs(unrecorded: list[RunBody], given_up: int) -> None:
    async def load() -> Engine:
        await asyncio.Event().wait()
        raise NotImplementedError

    ben = Ben(*unrecorded)
    async with engine_of(ben, load):
        pass
    assert ben.published == [RunFailed(4, "lost", "ben left before it began")] * given_up


class Credulous(Signer):
    """A signer that accepts every signature."""

    def __init__(self) -> None:
        pass

    def wrote(self, said: MessagePosted) -> bool:
        return True

    def is_current(self, said: MessagePosted) -> bool:
        return True

    def reported(self, said: MessagePosted, body: RunBody) -> bool:
        return True


async def test_reloaded_engine_ignores_past(tmp_path: Path) -> None:
    async def broken() -> Engine:
        raise GenieError("no such model")

    ben = Ben()
    async with engine_of(
        ben, broken, reload=lambda _name: loader(tmp_path), author=Credulous()
    ) as (engine, state):
        await ben.ear.until(ben.failed.is_set)

        def hear(by: str, body: AnyBody) -> None:
            event = Event(state.head + 1, 9.0, by, body)
            assert state.apply(event)
            engine.accept(event)
            engine.begin(5)  # as after every event

        again = MessagePosted("m2", "delete it", "ben", device="desk")
        hear("ben", again)
        assert isinstance(ben.published[-1], RunFailed)
        hear("ben", ben.published[-1])
        await engine.use_model("other")
        hear("ben", again)  # before the engine is there
        await ben.ear.until(lambda: engine.status.state is EngineState.READY)
        hear("ben", again)
        hear("ben", MessagePosted("m3", "go on", "ben", device="desk"))
        await ben.ear.until(lambda: any(isinstance(body, AnswerPosted) for body in ben.published))
    told = [(body.message, type(body)) for body in ben.published if body.message > 6]
    assert told == [(8, RunFailed), (9, RunFailed), (10, DecisionMade), (10, AnswerPosted)]


# -- what a guest's calls are made with


@asynccontextmanager
async def a_guests_call(
    folder: Path, *, share: bool = False
) -> AsyncIterator[tuple[LiveRoom, tuple[JoinedRoom, Ear], tuple[JoinedRoom, Ear], JoinedRoom]]:
    """A guest's message makes the host's agent ask; the host sits at two terminals."""
    async with opened() as live:
        connector = await by_socket(live)
        ann, ear = await live.joined("ann", loader(folder, run=tool_user), device="desk")
        away, away_ear = await live.joined("ann", None, connector=connector, device="couch")
        cleo, _ = await live.joined("cleo", None, connector=connector)
        if share:
            assert ann.hosting.share(True)
            await ear.until(lambda: ann.state.sharing)
        cleo.messages.send("secrets.txt")
        await away_ear.until(lambda: away.state.pending_for("ann"))
        await ear.until(lambda: ann.state.pending_for("ann"))
        yield live, (ann, ear), (away, away_ear), cleo


async def test_guest_call_is_seen_only_locally(tmp_path: Path) -> None:
    async with a_guests_call(tmp_path) as (live, (ann, ear), (away, _), cleo):
        (here,), (there,) = ann.state.pending_for("ann"), away.state.pending_for("ann")
        assert (here.arguments, here.withheld) == ({"path": "secrets.txt"}, True)
        assert (there.arguments, there.withheld) == ({}, True)
        (asked,) = [e.body for e in live.sink.events if isinstance(e.body, ApprovalRequested)]
        assert asked.arguments == {}
        assert ann.approvals.answer(here.id, Answer(allow=True))
        await ear.until(lambda: answers(ann))
        assert cleo.state.sharing is False


async def test_unseen_call_needs_own_terminal(tmp_path: Path) -> None:
    async with a_guests_call(tmp_path) as (_, (ann, ear), (away, away_ear), _):
        (request,) = away.state.pending_for("ann")
        assert not away.approvals.answer(request.id, Answer(allow=True))
        assert "answer it there" in away_ear.notices[-1]
        assert ann.state.pending_for("ann")
        assert away.approvals.answer(request.id, Answer(allow=False, reason="not today"))
        await ear.until(lambda: answers(ann))
        assert answers(ann) == ["kept it: not today"]


async def test_a_host_who_shares_shows_it_to_all(tmp_path: Path) -> None:
    async with a_guests_call(tmp_path, share=True) as (live, (ann, ear), (away, _), _):
        (request,) = away.state.pending_for("ann")
        assert (request.arguments, request.withheld) == ({"path": "secrets.txt"}, False)
        assert away.approvals.answer(request.id, Answer(allow=True))
        await ear.until(lambda: answers(ann))
        (settled,) = [e.body for e in live.sink.events if isinstance(e.body, ApprovalResolved)]
        assert settled.outcome == "approved"


async def test_forgotten_call_is_not_allowed(tmp_path: Path) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=tool_user))
        cleo, _ = await live.joined("cleo", None)
        cleo.messages.send("secrets.txt")
        await ear.until(lambda: ann.state.pending_for("ann"))
        await ann.leave()
        events = live.sink.events
    async with opened(events) as live:  # the file of what was withheld is gone
        ann, ear = await live.joined("ann", loader(tmp_path, run=tool_user))
        await ear.until(lambda: ann.engine.status.state is EngineState.READY)
        (request,) = ann.state.parked_for("ann")
        assert not ann.approvals.answer(request.id, Answer(allow=True))
        assert "not known here any more" in ear.notices[-1]
        assert ann.approvals.answer(request.id, Answer(allow=False))
        await ear.until(lambda: not ann.state.parked)


# -- files and quotes


async def test_engine_gets_paths_and_threads(tmp_path: Path) -> None:
    seen: list[Message] = []

    def decide(updates: list[Message]) -> Response:
        seen.extend(updates)
        return Response(Decision.IGNORE, reason="listening")

    quote = Quote("r2", "Design", (QuotedLine("dora", "blue?"), QuotedLine("ann", "green")))
    async with opened(files=Store(FILE)) as live:
        shelf = Shelf(tmp_path / "blobs")
        shelf.sent.add(DIGEST)
        _, ear = await live.joined("ann", loader(tmp_path / "a", decide), library=shelf)
        cleo, _ = await live.joined("cleo", None, connector=await by_socket(live))
        cleo.messages.send("look at this", files=[FILE], quotes=[quote])
        cleo.messages.send("", files=[FILE])
        await ear.until(lambda: len(seen) == 2)
        first, second = seen
        attachment = Attachment(str(tmp_path / "blobs" / DIGEST), "plan.pdf", "application/pdf")
        assert first.attachments == second.attachments == [attachment]
        assert first.threads == [
            Thread("Design", [Message("blue?", "dora"), Message("green", "ann")])
        ]
        assert (first.content, second.content) == ("look at this", "(plan.pdf)")


async def test_engine_gets_file_on_arrival(tmp_path: Path) -> None:
    seen: list[Message] = []

    def decide(updates: list[Message]) -> Response:
        seen.extend(updates)
        return Response(Decision.IGNORE, reason="listening")

    async with opened(files=Store(FILE)) as live:
        shelf = Shelf(tmp_path)
        ben, ear = await live.joined("ben", loader(tmp_path / "b", decide), library=shelf)
        await ear.until(lambda: ben.engine.status.state is EngineState.READY)
        cleo, _ = await live.joined("cleo", None, connector=await by_socket(live))
        cleo.messages.send("look at this", files=[FILE])
        await ear.until(lambda: len(ben.state.threads) == 1)
        shelf.sent.add(DIGEST)
        shelf.report(Transfer(DIGEST, "plan.pdf", Direction.DOWN, 5, 5))
        shelf.report(Transfer(DIGEST, "plan.pdf", Direction.DOWN, 5, 5))  # it is told of once
        ben.messages.send("and?")
        await ear.until(lambda: len(seen) == 3)
        absent, late, _ = seen
        assert absent.content == "look at this\n(attached, but not here yet: plan.pdf)"
        assert absent.attachments == []
        assert (late.sender, late.content) == ("cleo", "(the file plan.pdf is here now)")
        assert [each.path for each in late.attachments] == [str(tmp_path / DIGEST)]


# -- secrets

VALUE = "correct-horse-battery"


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """A value that this process knows to be secret."""
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know([VALUE])
    return VALUE


async def sender(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
    given = {"header": f"Token {VALUE}", "to": "a"}
    verdict = await ask_about(callback, "send", given)
    made = verdict.arguments or given
    return f"{made['header'] == f'Token {VALUE}'} {made['to']}" if verdict else "no"


async def test_masked_secret_survives_edit(tmp_path: Path, secret: str) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=sender))
        ann.messages.send("send it")
        await ear.until(lambda: ann.state.pending_for("ann"))
        (request,) = ann.state.pending_for("ann")
        assert request.arguments == {"header": f"Token {HIDDEN}", "to": "a"}
        edited = {"header": f"Token {HIDDEN}", "to": "b"}
        assert ann.approvals.answer(request.id, Answer(allow=True, arguments=edited))
        await ear.until(lambda: answers(ann))
        assert answers(ann) == ["True b"]
        assert request.edited == edited
        assert secret not in repr(live.sink.events)


async def test_parked_secret_call_is_recognised(tmp_path: Path, secret: str) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=sender))
        ann.messages.send("send it")
        await ear.until(lambda: ann.state.pending_for("ann"))
        await ann.leave()
    async with opened(live.sink.events) as resumed:
        ann, ear = await resumed.joined("ann", loader(tmp_path, run=sender))
        await ear.until(lambda: ann.engine.status.state is EngineState.READY)
        (request,) = ann.state.parked_for("ann")
        assert ann.approvals.answer(request.id, Answer(allow=True))
        await ear.until(lambda: answers(ann))
        assert answers(ann) == ["True a"]
        assert secret not in repr(resumed.sink.events)


async def test_an_engine_that_breaks_tells_no_secret(tmp_path: Path, secret: str) -> None:
    async def broken() -> Engine:
        raise GenieError(f"the key {secret} is wrong")

    async with opened() as live:
        ann, ear = await live.joined("ann", broken)
        await ear.until(lambda: ann.engine.status.state is EngineState.FAILED)
        ann.messages.send("anybody there?")
        await ear.until(lambda: any(isinstance(e.body, RunFailed) for e in ear.events))
        assert ann.engine.status.detail == f"the key {HIDDEN} is wrong"
        assert secret not in repr((ear.notices, ear.engines, live.sink.events))
