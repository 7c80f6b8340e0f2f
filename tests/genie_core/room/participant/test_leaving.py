import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.genie_core.room.live_room import answers, by_socket, loader, opened
from tests.limits import scaled
from tests.ports import free_port

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.room.client.model import Answer, ConnectionState, EngineState, PendingReport
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalResolved,
    DecisionMade,
    Event,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.signing import same_content
from genie_core.room.state.members import Presence
from genie_core.room.state.thread import MessageThread, Phase
from genie_core.room.transport.websocket import ws_connector
from genie_testing import Emit

DEADLINE = scaled(60.0)


async def held(released: asyncio.Event) -> None:
    """Wait, and ignore every cancellation."""
    while not released.is_set():
        with suppress(asyncio.CancelledError):
            await released.wait()


def working(person: JoinedRoom) -> list[MessageThread]:
    return [e for e in person.state.threads.values() if e.phase is Phase.WORKING]


async def test_stubborn_agent_delays_no_leaving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.room.engine.runs.END_TIMEOUT", 0.2)
    released = asyncio.Event()

    async def stubborn(_input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=stubborn))
        ann.messages.send("go")
        await ear.until(lambda: any(e.phase is Phase.WORKING for e in ann.state.threads.values()))
        assert ann.state.presence("ann") is Presence.THINKING
        async with asyncio.timeout(scaled(60)):
            await ann.leave(grace=0.05)
        released.set()
        kinds = [type(event.body).__name__ for event in live.sink.events]
        assert "RunCancelled" in kinds
        assert kinds[-1] == "RoomSuspended"


async def test_receipt_lists_each_kind_of_end(tmp_path: Path) -> None:
    released, going = asyncio.Event(), asyncio.Event()

    async def run(input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        match input.query:
            case "quick":
                await going.wait()
            case "slow":
                await released.wait()
            case "ask":
                await callback("delete", {"path": "x"})
            case "stubborn":
                await held(released)
        return "done"

    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=run))
        for guest in ("bob", "cleo", "dan"):
            person, _ = await live.joined(guest, None)
            person.messages.send({"bob": "quick", "cleo": "slow", "dan": "stubborn"}[guest])
        ann.messages.send("ask")
        await ear.until(lambda: ann.state.pending_for("ann") and len(working(ann)) == 3)
        before = ann.ending
        assert before is None
        leaving = asyncio.create_task(ann.leave(grace=DEADLINE))
        await ear.until(lambda: len(ann.state.running) == 3)  # the call is parked at once
        ending = ann.ending
        assert ending is not None
        assert ending.doing == "ending your agents"
        assert 0 < ending.left <= DEADLINE
        assert [run.said.text for run in ending.runs] == ["quick", "slow", "stubborn"]
        going.set()
        await ear.until(lambda: len(ann.state.running) == 2)
        assert not leaving.done()
        ann.hurry()
        receipt = await leaving
        released.set()
    assert [each.text for each in receipt.finished] == ["quick"]
    assert [each.text for each in receipt.cancelled] == ["slow"]
    assert [(each.text, each.author) for each in receipt.left_behind] == [("stubborn", "dan")]
    assert [(each.text, each.detail) for each in receipt.parked] == [("ask", "delete")]
    assert not receipt.problems
    assert await ann.leave() == receipt


async def test_blocked_thread_is_left_behind(tmp_path: Path) -> None:
    release = threading.Event()

    async def blocked(_input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:
        await asyncio.to_thread(release.wait)
        return "at last"

    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=blocked))
        ann.messages.send("wait for it")
        await ear.until(lambda: working(ann))
        receipt = await ann.leave(grace=0)
        release.set()
    assert [each.text for each in receipt.cancelled] == ["wait for it"]


async def test_message_in_suspend_is_answered(
    tmp_path: Path,
) -> None:
    released = asyncio.Event()

    async def run(input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        if input.query == "long":
            await released.wait()
        return f"echo: {input.query}"

    async def begin_closing(within: float) -> int:
        return live.server.begin_suspending(within)

    port = free_port()
    async with opened() as live:
        connector = ws_connector(str(await live.server.listen(port=port)))
        ann, ear = await live.joined("ann", loader(tmp_path, run=run), begin_closing=begin_closing)
        ben, other = await live.joined("ben", None, connector=connector)
        ann.messages.send("long")
        await ear.until(lambda: working(ann))
        leaving = asyncio.create_task(ann.leave(grace=DEADLINE))
        await other.until(lambda: ben.connection.closing_in is not None)
        assert 0 < (ben.connection.closing_in or 0) <= DEADLINE
        ben.messages.send("one more")
        assert [each.text for each in ben.messages.pending] == ["one more"]
        released.set()
        receipt = await leaving
        assert [each.text for each in receipt.finished] == ["long"]
        assert [e.said.text for e in ann.state.threads.values()] == ["long"]
        await other.until(lambda: ben.connection.state is ConnectionState.RETRYING)
        assert "suspended" in ben.connection.detail
        await live.server.close()
        async with opened(live.sink.events) as again:
            await again.server.listen(port=port)
            await again.joined("ann", loader(tmp_path, run=run))
            await other.until(
                lambda: (
                    [e.answer.text for e in ben.state.threads.values() if e.answer]
                    == ["echo: long", "echo: one more"]
                )
            )
            assert not ben.messages.pending


class Deleter:
    """An agent's run that asks before it does as it is told, once."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def run(self, input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        verdict = await callback("delete", {"path": input.query})
        if verdict:
            self.done.append(input.query)
        return f"deleted {input.query}" if verdict else "kept it"


async def told(person: JoinedRoom, kind: type[RunBody]) -> None:
    """Wait until their engine has told of this, which no listener hears before the room does."""
    async with asyncio.timeout(DEADLINE):
        while not any(isinstance(each.body, kind) for each in person.reports):
            await asyncio.sleep(0)


def back_with(events: list[Event], left: Sequence[PendingReport]) -> Callable[[JoinedRoom], None]:
    """How a seat is prepared for somebody who comes back with a copy and what it lacks."""

    def prepare(joined: JoinedRoom) -> None:
        joined.replay(events)
        joined.restore_reports(left, events)

    return prepare


@asynccontextmanager
async def stranded(
    folder: Path, deleter: Deleter
) -> AsyncIterator[tuple[list[Event], JoinedRoom, str]]:
    """A room as its host left it while a call of ben's waited, ben at his screen, and the call."""
    async with opened() as live:
        ann, _ = await live.joined("ann", None)
        ben, ear = await live.joined(
            "ben", loader(folder, run=deleter.run), connector=await by_socket(live)
        )
        ben.messages.send("old.txt")
        await ear.until(lambda: ben.state.pending_for("ben"))
        (call,) = ben.state.pending_for("ben")
        await ann.leave()
        await live.server.close()
        await ear.until(lambda: ben.connection.state is ConnectionState.RETRYING)
        yield live.sink.events, ben, call.id


async def test_offline_grant_is_not_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever left before the host was back tells of it at the next visit."""
    deleter = Deleter()
    async with stranded(tmp_path, deleter) as (events, ben, approval):
        assert ben.approvals.answer(approval, Answer(allow=True))
        await told(ben, AnswerPosted)
        receipt = await ben.leave()
        left = ben.reports
    assert [each.text for each in receipt.unheard] == ["old.txt"]
    assert [type(each.body) for each in left] == [ApprovalResolved, AnswerPosted]

    async with opened(events) as live:
        await live.joined("ann", None)
        ben, ear = await live.joined(
            "ben", loader(tmp_path, run=deleter.run), prepare=back_with(events, left)
        )
        await ear.until(lambda: answers(ben))
        ben.messages.send("new.txt")
        await ear.until(lambda: ben.state.pending_for("ben"))
        first, _ = ben.state.threads.values()
        assert (first.phase, answers(ben)) == (Phase.ANSWERED, ["deleted old.txt"])
        assert ben.state.calls[approval].outcome == "approved"
        assert deleter.done == ["old.txt"]
        assert not ben.reports
        ends = [e.body for e in live.sink.events if isinstance(e.body, AnswerPosted | RunFailed)]
        (end,) = ends
        assert same_content(end, left[-1].body)
    assert "did not record" not in caplog.text


async def test_unanswered_call_waits_for_return(
    tmp_path: Path,
) -> None:
    deleter = Deleter()
    async with stranded(tmp_path, deleter) as (events, ben, approval):
        await ben.leave()
        left = ben.reports
    assert [type(each.body) for each in left] == [ApprovalResolved, RunCancelled]

    async with opened(events) as live:
        await live.joined("ann", None)
        ben, ear = await live.joined(
            "ben", loader(tmp_path, run=deleter.run), prepare=back_with(events, left)
        )
        await ear.until(lambda: ben.engine.status.state is EngineState.READY)
        await ear.until(lambda: ben.state.parked)
        assert list(ben.state.parked) == [approval]
        assert ben.approvals.answer(approval, Answer(allow=True))
        await ear.until(lambda: answers(ben))
        assert (answers(ben), deleter.done) == (["deleted old.txt"], ["old.txt"])
        failed = [e.body for e in live.sink.events if isinstance(e.body, RunFailed)]
        assert failed == []


async def test_killed_program_keeps_answer(tmp_path: Path) -> None:
    """What was answered stays answered; the run, of which nobody knows the end, is lost."""
    deleter = Deleter()
    async with stranded(tmp_path, deleter) as (events, ben, approval):
        assert ben.approvals.answer(approval, Answer(allow=True))
        await told(ben, ApprovalResolved)
        left = ben.reports[:1]

    async with opened(events) as live:
        await live.joined("ann", None)
        ben, ear = await live.joined(
            "ben", loader(tmp_path, run=deleter.run), prepare=back_with(events, left)
        )
        await ear.until(lambda: not ben.state.running)
        (thread,) = ben.state.threads.values()
        assert thread.error is not None
        assert thread.error.stage == "lost"
        assert ben.state.calls[approval].outcome == "approved"
        assert not ben.state.parked


class Slow(Deleter):
    """Does as it is told, and then takes its time."""

    async def run(self, input: AgentInput, callback: ApprovalCallback, emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        await super().run(input, callback, emit)
        if self.done:
            await asyncio.Event().wait()
        return "done"


@asynccontextmanager
async def stranded_again(
    folder: Path, deleter: Deleter
) -> AsyncIterator[tuple[list[Event], JoinedRoom, str]]:
    """The same once more, when the call has been parked and its run cancelled on leaving."""
    async with stranded(folder, deleter) as (events, ben, approval):
        await ben.leave()
        left = ben.reports

    async with opened(events) as live:
        ann, _ = await live.joined("ann", None)
        ben, ear = await live.joined(
            "ben",
            loader(folder, run=deleter.run),
            prepare=back_with(events, left),
            connector=await by_socket(live),
        )
        await ear.until(lambda: ben.engine.status.state is EngineState.READY)
        await ear.until(lambda: ben.state.parked)
        await ann.leave()
        await live.server.close()
        await ear.until(lambda: ben.connection.state is ConnectionState.RETRYING)
        yield live.sink.events, ben, approval


async def test_cut_runs_make_call_once(tmp_path: Path) -> None:
    """Two runs end in the same words; that the first was recorded says nothing of the second."""
    slow = Slow()
    async with stranded_again(tmp_path, slow) as (events, ben, approval):
        assert ben.approvals.answer(approval, Answer(allow=True))
        await told(ben, DecisionMade)
        async with asyncio.timeout(DEADLINE):
            while not slow.done:
                await asyncio.sleep(0)
        receipt = await ben.leave(grace=0)
        left = ben.reports
    assert receipt.parked == ()
    assert [each.detail for each in receipt.unheard] == ["cancelled"]

    async with opened(events) as live:
        await live.joined("ann", None)
        ben, ear = await live.joined(
            "ben", loader(tmp_path, run=slow.run), prepare=back_with(events, left)
        )
        await ear.until(lambda: ben.engine.status.state is EngineState.READY)
        await ear.until(lambda: not ben.reports)
        assert ben.state.calls[approval].outcome == "approved"
        assert not ben.state.parked
        assert not ben.approvals.answer(approval, Answer(allow=True))
        assert slow.done == ["old.txt"]


async def test_offline_work_is_on_receipt(tmp_path: Path) -> None:
    deleter = Deleter()
    async with stranded_again(tmp_path, deleter) as (_, ben, approval):
        assert ben.approvals.answer(approval, Answer(allow=True))
        await told(ben, AnswerPosted)
        receipt = await ben.leave()
    assert receipt.parked == ()
    assert [(each.text, each.detail) for each in receipt.unheard] == [("old.txt", "answered")]


async def test_oversized_step_keeps_member_in(
    tmp_path: Path,
) -> None:
    class Talker(Deleter):
        async def run(self, input: AgentInput, callback: ApprovalCallback, emit: Emit) -> str:  # noqa: A002 - as in Agent.run
            return await super().run(input, callback, emit) + "!" * 40_000

    talker = Talker()
    async with stranded(tmp_path, talker) as (events, ben, approval):
        assert ben.approvals.answer(approval, Answer(allow=True))
        await told(ben, AnswerPosted)
        await ben.leave()
        left = ben.reports

    async with opened(events, limits=Limits(frame_bytes=16 * 1024)) as live:
        await live.joined("ann", None)
        ben, ear = await live.joined(
            "ben",
            loader(tmp_path, run=talker.run),
            prepare=back_with(events, left),
            connector=await by_socket(live),
        )
        await ear.until(lambda: not ben.state.running)
        await ear.until(lambda: any("too large" in line for line in ear.notices))
        (thread,) = ben.state.threads.values()
        assert (thread.phase, ben.connection.state) == (Phase.FAILED, ConnectionState.ONLINE)
        assert ben.state.calls[approval].outcome == "approved"


async def test_report_on_unknown_is_dropped(
    tmp_path: Path,
) -> None:
    def prepare(joined: JoinedRoom) -> None:
        joined.restore_reports([PendingReport("a", RunCancelled(99, "ben left"))], ())

    async with opened() as live:
        await live.joined("ann", None)
        ben, _ = await live.joined("ben", loader(tmp_path), prepare=prepare)
        assert ben.reports == ()


async def test_early_return_replaces_own_ghost(
    tmp_path: Path,
) -> None:
    """The connection from before seems to last; whoever has the copy is the same terminal."""
    deleter = Deleter()
    async with opened() as live:
        await live.joined("ann", None)
        ghost, ear = await live.joined(
            "ben", loader(tmp_path / "ghost", run=deleter.run), device="laptop"
        )
        ghost.messages.send("old.txt")
        await ear.until(lambda: ghost.state.pending_for("ben"))
        (call,) = ghost.state.pending_for("ben")
        events = list(live.sink.events)
        left = [
            PendingReport("s", ApprovalResolved(call.message, call.id, "approved"), len(events)),
            PendingReport(
                "a", AnswerPosted(call.message, "deleted old.txt", "ben", 1.0), len(events)
            ),
        ]

        ben, ear = await live.joined(
            "ben",
            loader(tmp_path / "ben", run=deleter.run),
            prepare=back_with(events, left),
            device="laptop",
        )
        await ear.until(lambda: not ben.reports)
        assert answers(ben) == ["deleted old.txt"]
        assert ben.device == "laptop"
