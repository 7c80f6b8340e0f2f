import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.genie_core.room.live_room import loader, opened
from tests.ports import free_port

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.agent.approval import ask_about
from genie_core.errors import GenieError
from genie_core.message import Message
from genie_core.reasoner import Decision, Response
from genie_core.room.client.model import Answer, ConnectionState, EngineState
from genie_core.room.engine.config import Engine, EngineLoader
from genie_core.room.files.sync import FileSync
from genie_core.room.participant.receipt import LeftInDisorder
from genie_core.room.protocol.errors import NoEngine, Unreachable
from genie_core.room.protocol.events import (
    ApprovalResolved,
    Event,
    MessagePosted,
    RoomSuspended,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.members import Presence
from genie_core.room.state.thread import Phase
from genie_core.room.transport.websocket import ws_connector
from genie_core.storage.blobs import BlobStore
from genie_testing import Emit, ignore_all


async def tool_user(input: AgentInput, callback: ApprovalCallback, emit: Emit) -> str:  # noqa: A002 - as in Agent.run
    verdict = await ask_about(callback, "delete", {"path": input.query})
    emit("done " if verdict else "kept ")
    return f"deleted {input.query}" if verdict else f"kept it: {verdict.reason}"


async def test_guest_messages_go_to_host(
    tmp_path: Path,
) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path / "ann"))
        ben, _ = await live.joined("ben", loader(tmp_path / "ben"))
        cleo, _ = await live.joined("cleo", None)
        for person in (ann, ben, cleo):
            person.messages.send(f"from {person.name}")
        await ear.until(lambda: sum(e.answer is not None for e in ann.state.threads.values()) == 3)
        by_author = {e.author: e for e in ann.state.threads.values()}
        assert {a: e.handler for a, e in by_author.items()} == {
            "ann": "ann",
            "ben": "ben",
            "cleo": "ann",
        }
        answers = {a: e.answer.text for a, e in by_author.items() if e.answer}
        assert answers["cleo"] == "echo: from cleo"


async def test_ignore_reason_reaches_everybody(tmp_path: Path) -> None:
    async with opened() as live:
        ann, _ = await live.joined("ann", loader(tmp_path / "a", ignore_all))
        cleo, ear = await live.joined("cleo", None)
        ann.messages.send("nice weather")
        await ear.until(lambda: any(e.phase is Phase.IGNORED for e in cleo.state.threads.values()))
        (thread,) = cleo.state.threads.values()
        assert thread.decision is not None
        assert thread.decision.reason == "told to ignore everything"


async def test_first_answer_of_handler_counts(tmp_path: Path) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path / "a", run=tool_user))
        cleo, _ = await live.joined("cleo", None)
        cleo.messages.send("old.txt")
        await ear.until(lambda: ann.state.pending_for("ann"))
        (call,) = ann.state.pending_for("ann")
        assert (call.tool, call.arguments) == ("delete", {"path": "old.txt"})
        assert call.where == "ann's machine"
        assert ann.state.presence("ann") is Presence.WAITING
        assert not cleo.approvals.answer(call.id, Answer(allow=True))
        assert ann.approvals.answer(call.id, Answer(allow=False, reason="still needed"))
        assert not ann.approvals.answer(call.id, Answer(allow=True))
        await ear.until(lambda: not ann.state.running)
        (thread,) = ann.state.threads.values()
        assert thread.answer is not None
        assert thread.answer.text == "kept it: still needed"
        settled = ann.state.calls[call.id]
        assert (settled.outcome, settled.reason, settled.settled_by) == (
            "denied",
            "still needed",
            "ann",
        )


async def test_session_grant_binds_tool_and_user(
    tmp_path: Path,
) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path / "a", run=tool_user))
        cleo, _ = await live.joined("cleo", None)
        ann.messages.send("one")
        await ear.until(lambda: ann.state.pending_for("ann"))
        ann.approvals.answer(
            ann.state.pending_for("ann")[0].id, Answer(allow=True, scope="session", covers="*")
        )
        await ear.until(lambda: not ann.state.running)
        ann.messages.send("two")
        await ear.until(lambda: sum(e.answer is not None for e in ann.state.threads.values()) == 2)
        cleo.messages.send("three")
        await ear.until(lambda: ann.state.pending_for("ann"))
        outcomes = [(p.outcome, p.reason) for p in ann.state.calls.values()]
        assert outcomes == [
            ("approved", None),
            ("approved", "allowed for this session"),
            (None, None),
        ]


async def test_deltas_reach_others_once(tmp_path: Path) -> None:
    async def slow(_input: AgentInput, _callback: ApprovalCallback, emit: Emit) -> str:
        emit("half ")
        await gate.wait()
        return "half and whole"

    gate = asyncio.Event()
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path / "a", run=slow))
        _, other = await live.joined("cleo", None)
        ann.messages.send("go")
        await other.until(lambda: other.deltas)
        gate.set()
        await ear.until(lambda: not ann.state.running and ann.state.threads)
        assert "".join(text for _, text in other.deltas) == "half "
        assert "".join(text for _, text in ear.deltas) == "half "


async def test_only_author_and_handler_stop_run(tmp_path: Path) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path / "a", run=tool_user))
        cleo, _ = await live.joined("cleo", None)
        dora, _ = await live.joined("dora", None)
        cleo.messages.send("old.txt")
        await ear.until(lambda: ann.state.pending_for("ann"))
        await ear.until(lambda: dora.state.running and cleo.state.running)
        assert dora.engine.stop() == 0
        assert cleo.engine.stop() == 1
        await ear.until(lambda: not ann.state.running)
        (cancelled,) = [e.body for e in ear.events if isinstance(e.body, RunCancelled)]
        assert cancelled.reason == "stopped by cleo"


async def test_failed_engine_load_is_reported(tmp_path: Path) -> None:
    async def broken() -> Engine:
        raise GenieError("the model has no key")

    async with opened() as live:
        ann, ear = await live.joined("ann", broken)
        await ear.until(lambda: ann.engine.status.state is EngineState.FAILED)
        assert "the model has no key" in ear.notices
        ann.messages.send("anybody there?")
        await ear.until(lambda: any(isinstance(e.body, RunFailed) for e in ear.events))
        (thread,) = ann.state.threads.values()
        assert thread.phase is Phase.FAILED
        assert thread.error is not None
        assert thread.error.error == "the model has no key"


async def test_failed_engine_reloads_other_model(
    tmp_path: Path,
) -> None:
    async def broken() -> Engine:
        raise GenieError("the model has no key")

    def reload(model: str) -> EngineLoader:
        return loader(tmp_path) if model == "other" else broken

    async with opened() as live:
        ann, ear = await live.joined("ann", broken, reload=reload)
        await ear.until(lambda: ann.engine.status.state is EngineState.FAILED)
        with pytest.raises(NoEngine, match="the model has no key"):
            await ann.engine.use_model("nonsense")
        assert ann.engine.status.state is EngineState.FAILED
        assert await ann.engine.use_model("other") == "scripted"
        await ear.until(lambda: ann.engine.status.state is EngineState.READY)
        ann.messages.send("anybody there?")
        await ear.until(lambda: any(e.answer for e in ann.state.threads.values()))
        assert ann.engine.status.detail == ""


async def suspended_with_a_question_open(folder: Path) -> list[Event]:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(folder, run=tool_user))
        ann.messages.send("old.txt")
        await ear.until(lambda: ann.state.pending_for("ann"))
        await ann.leave("enough for today")
        return live.sink.events


async def test_leaving_parks_what_waits(tmp_path: Path) -> None:
    events = await suspended_with_a_question_open(tmp_path)
    (settled,) = [event.body for event in events if isinstance(event.body, ApprovalResolved)]
    assert settled.outcome == "parked"
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def test_allowed_parked_call_runs_once(
    tmp_path: Path,
) -> None:
    events = await suspended_with_a_question_open(tmp_path)
    async with opened(events) as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=tool_user))
        await ear.until(lambda: ann.engine.status.state is EngineState.READY)
        (call,) = ann.state.parked_for("ann")
        assert ann.approvals.answer(call.id, Answer(allow=True))
        assert not ann.approvals.answer(call.id, Answer(allow=True))
        await ear.until(lambda: any(e.answer for e in ann.state.threads.values()))
        (thread,) = ann.state.threads.values()
        assert thread.answer is not None
        assert thread.answer.text == "deleted old.txt"
        assert not ann.state.parked
        assert [p.reason for p in ann.state.calls.values()] == [None, "allowed after the pause"]


async def test_without_an_engine_no_answer_is_taken(tmp_path: Path) -> None:
    async def never() -> Engine:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    events = await suspended_with_a_question_open(tmp_path)
    async with opened(events) as live:
        ann, ear = await live.joined("ann", never)
        await ear.until(lambda: ann.state.parked_for("ann"))
        (call,) = ann.state.parked_for("ann")
        assert not ann.approvals.answer(call.id, Answer(allow=True))
        assert ann.state.parked_for("ann") == [call]


async def test_parked_grant_covers_no_other_call(tmp_path: Path) -> None:
    async def changed_mind(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        return f"{bool(await callback('delete', {'path': 'everything'}))}"

    events = await suspended_with_a_question_open(tmp_path)
    async with opened(events) as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=changed_mind))
        await ear.until(lambda: ann.engine.status.state is EngineState.READY)
        ann.approvals.answer(ann.state.parked_for("ann")[0].id, Answer(allow=True))
        await ear.until(lambda: ann.state.pending_for("ann"))
        (call,) = ann.state.pending_for("ann")
        assert call.arguments == {"path": "everything"}
        ann.approvals.answer(call.id, Answer(allow=False))
        await ear.until(lambda: not ann.state.running)
        assert len(ann.state.calls) == 2


async def test_crashed_run_parks_its_call(
    tmp_path: Path,
) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=tool_user))
        ann.messages.send("old.txt")
        await ear.until(lambda: ann.state.pending_for("ann"))
        crashed = list(live.sink.events)
    async with opened(crashed) as live:
        ann, ear = await live.joined("ann", loader(tmp_path / "other", run=tool_user))
        await ear.until(lambda: any(isinstance(e.body, RunFailed) for e in ear.events))
        (thread,) = ann.state.threads.values()
        assert thread.phase is Phase.FAILED
        assert thread.error is not None
        assert thread.error.stage == "lost"
        assert len(ann.state.parked_for("ann")) == 1


async def test_late_engine_knows_history(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([f"{m.sender}: {m.content}" for m in updates])
        return Response(Decision.IGNORE, reason="listening")

    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path / "a"))
        ann.messages.send("first")
        await ear.until(lambda: any(e.answer for e in ann.state.threads.values()))
        ben, other = await live.joined("ben", loader(tmp_path / "b", decide))
        await other.until(lambda: ben.engine.status.state is EngineState.READY)
        ben.messages.send("second")
        await other.until(lambda: seen)
        assert seen == [["ann: first", "system: echo: first", "ben: second"]]


async def test_restart_repeats_no_memory(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([m.content for m in updates])
        return Response(Decision.DELEGATE, query=updates[-1].content)

    events: list[Event] = []
    for text in ("one", "two", "three"):
        async with opened(events) as live:
            ann, ear = await live.joined("ann", loader(tmp_path, decide))
            answered = len([e for e in events if isinstance(e.body, MessagePosted)]) + 1
            ann.messages.send(text)
            await ear.until(
                lambda: sum(e.answer is not None for e in ann.state.threads.values()) == answered  # noqa: B023 - awaited within the turn
            )
            await ann.leave()
            events = live.sink.events
    assert seen == [["one"], ["echo: one", "two"], ["echo: two", "three"]]


@pytest.mark.parametrize("text", ["", " \n\t"])
async def test_a_blank_answer_harms_nobody(tmp_path: Path, text: str) -> None:
    async def blank(_input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:
        return text

    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path / "a"))
        ben, other = await live.joined("ben", loader(tmp_path / "b", run=blank))
        await other.until(lambda: ben.engine.status.state is EngineState.READY)
        ben.messages.send("say nothing")
        await ear.until(lambda: any(e.phase is Phase.FAILED for e in ann.state.threads.values()))
        ann.messages.send("and you?")
        await ear.until(lambda: any(e.answer for e in ann.state.threads.values()))
        assert ann.connection.state is ConnectionState.ONLINE


async def test_messages_during_load_are_handled(
    tmp_path: Path,
) -> None:
    ready = asyncio.Event()

    async def late() -> Engine:
        await ready.wait()
        return await loader(tmp_path, ignore_all)()

    async with opened() as live:
        ann, ear = await live.joined("ann", late)
        # More than are told as context, by several so that nobody is too fast.
        guests = [(await live.joined(f"guest{number}", None))[0] for number in range(15)]
        for guest in guests:
            for number in range(15):
                guest.messages.send(f"{guest.name} {number}")
        await ear.until(lambda: len(ann.state.threads) == 225)
        ready.set()
        await ear.until(lambda: not ann.state.running)
        assert {e.phase for e in ann.state.threads.values()} == {Phase.IGNORED}


async def test_unprintable_call_is_denied(tmp_path: Path) -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("don't look")

    async def shy(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        verdict = await ask_about(callback, "hide", {"what": Shy()})
        return f"{bool(verdict)}: {verdict.reason}"

    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=shy))
        ann.messages.send("go")
        await ear.until(lambda: any(e.answer for e in ann.state.threads.values()))
        (thread,) = ann.state.threads.values()
        assert thread.answer is not None
        assert thread.answer.text.startswith("False: its arguments")
        (call,) = ann.state.calls.values()
        assert (call.outcome, call.unasked) == ("expired", True)
        assert ann.state.pending_for("ann") == []


async def test_leaving_before_load_ends_runs(tmp_path: Path) -> None:
    async def never() -> Engine:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path))
        ben, other = await live.joined("ben", never)
        ben.messages.send("hello?")
        await other.until(lambda: ben.state.running)
        await ben.leave()
        await ear.until(lambda: any(isinstance(e.body, RunFailed) for e in ear.events))
        assert not ann.state.running


async def test_failed_leave_step_skips_no_other(
    tmp_path: Path,
) -> None:
    async def broken_store() -> Engine:
        engine = await loader(tmp_path)()

        async def fail() -> None:
            await engine.aclose()
            raise OSError("the disk is gone")

        return replace(engine, aclose=fail)

    async with opened() as live:
        ann, ear = await live.joined("ann", broken_store)
        await ear.until(lambda: ann.engine.status.state is EngineState.READY)
        with suppress(LeftInDisorder):
            await ann.leave()
        assert isinstance(live.sink.events[-1].body, RoomSuspended)
        assert ann.connection.state is ConnectionState.CLOSED


async def test_leaving_reports_unsent_messages(tmp_path: Path) -> None:
    async with opened() as live:
        await live.joined("ann", loader(tmp_path))
        ben, ear = await live.joined("ben", None)
        await live.server.close()
        await ear.until(lambda: ben.connection.state is ConnectionState.RETRYING)
        ben.messages.send("is anybody there?")
        with pytest.raises(LeftInDisorder, match="1 of your messages"):
            await ben.leave()


async def test_refused_join_leaves_no_tasks(tmp_path: Path) -> None:
    async with opened() as live:
        before = running()
        files = FileSync(BlobStore(tmp_path / "blobs"))
        nowhere = ws_connector(f"127.0.0.1:{free_port()}")
        with pytest.raises(Unreachable):
            await live.joined("ben", None, connector=nowhere, library=files)
        assert running() == before


def running() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if not task.cancelling()}


async def test_grant_ends_when_person_leaves(tmp_path: Path) -> None:
    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=tool_user))
        ben, _ = await live.joined("ben", None)
        ben.messages.send("one")
        await ear.until(lambda: ann.state.pending_for("ann"))
        ann.approvals.answer(
            ann.state.pending_for("ann")[0].id, Answer(allow=True, scope="session", covers="*")
        )
        await ear.until(lambda: ann.state.threads and not ann.state.running)
        await ben.leave()
        again, _ = await live.joined("ben", None)
        again.messages.send("two")
        await ear.until(lambda: ann.state.pending_for("ann"))
