"""Executions that a killed process left without an outcome."""

import asyncio
import os
import subprocess
import sys
from asyncio import Future
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from genie_core.agent import AgentInput, Approval, ApprovalCallback, Decision
from genie_core.datastore import DataStore
from genie_core.errors import NotUnfinished, SessionLocked, SessionStopped
from genie_core.execution import Answered, Decided
from genie_core.message import Attachment, Message
from genie_core.reasoner import Response
from genie_core.session import GroupSession, Unfinished
from genie_core.storage.memory import MemoryStore
from genie_core.storage.store import Data
from genie_testing import DecideFn, Emit, RunFn, agent_factory, echo, reasoner_factory

pytestmark = pytest.mark.timeout(100)

CHILD = """
import asyncio, sys
from pathlib import Path
from genie_core.agent import Approval, Decision
from genie_core.datastore import DataStore
from genie_core.message import Attachment, Message
from genie_core.reasoner import Response
from genie_core.session import GroupSession
from genie_testing import agent_factory, reasoner_factory

point, folder = sys.argv[1], sys.argv[2]

async def reached(which):
    if which == point:
        await store.flush()
        print("reached", flush=True)
        await asyncio.Event().wait()

async def decide(updates):
    await reached("deciding")
    if point == "ignored":
        return Response(Decision.IGNORE)
    return Response(Decision.DELEGATE, "book: " + updates[-1].content, "bob", "asked for")

async def run(input, callback, emit):
    if point == "failed":
        raise ConnectionError("model away")
    await asyncio.sleep(0)
    if point == "decided":
        await asyncio.Event().wait()
    await callback("look", {"place": "Oslo"})
    print("looked", flush=True)
    await callback("book", {"place": "Oslo", "what": object()})
    return "booked"

async def follow(execution):
    async for element in execution.stream():
        match element:
            case Decision.DELEGATE if point == "decided":
                print("reached", flush=True)
            case Approval(tool_name="look"):
                element.approve(by="ann")
            case Approval() if point == "asked":
                print("reached", flush=True)
            case Approval() if point == "query":
                await asyncio.Event().wait()
            case Approval() if point == "cancelled":
                execution.cancel()
            case Approval():
                element.deny("no")

async def main():
    global store
    store = DataStore(Path(folder))
    chat = GroupSession("s", reasoner_factory(decide), agent_factory(run), store)
    chat.append(Message("context", "carol"))
    if point == "query":
        asyncio.ensure_future(follow(chat.delegate("list", sender="alice", receiver="bob")))
        await asyncio.Event().wait()
    files = [Attachment("/map", "map", "text/plain")]
    try:
        await follow(chat.handle(Message("a trip", "alice", request_id="r", attachments=files)))
    except Exception as error:
        print(type(error).__name__, flush=True)
    if point == "cancelled":
        await store.flush()
    print("reached", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def killed_at(point: str, folder: Path) -> None:
    """Run a session in a process of its own, and kill it when it has come to a point."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", CHILD, point, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        mark = b"looked" if point == "query" else b"reached"
        while (line := process.stdout.readline()).strip() != mark:
            assert line, "it ended by itself"
        process.kill()


def no_decision(_updates: list[Message]) -> Response:
    raise AssertionError("a decision was made already")


def opened(folder: Path, decide: DecideFn = no_decision, run: RunFn = echo) -> GroupSession:
    return GroupSession("s", reasoner_factory(decide), agent_factory(run), DataStore(folder))


async def only(chat: GroupSession) -> Unfinished:
    [unfinished] = await chat.unfinished()
    return unfinished


async def nothing_left(folder: Path, *contents: str) -> None:
    """Check that another session finds these messages and nothing unfinished."""
    chat = opened(folder)
    assert await chat.unfinished() == []
    assert [each.content for each in await chat.remembered()] == list(contents)
    await chat.join()


async def test_undecided_message_is_decided(tmp_path: Path) -> None:
    killed_at("deciding", tmp_path)
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([each.content for each in updates])
        return Response(Decision.DELEGATE, "now", "bob")

    chat = opened(tmp_path, decide)
    left = await only(chat)
    assert (left.message.content, left.message.request_id) == ("a trip", "r")
    assert (left.decided, left.approvals, left.allowed) == (None, [], [])
    answer = await left.resume().result()
    assert answer == Message("echo: now", "system", receiver="bob", request_id="r")
    assert seen == [["context", "a trip"]]
    await chat.join()
    await nothing_left(tmp_path, "context", "a trip", "echo: now")


async def test_message_seen_as_context_is_decided(
    tmp_path: Path,
) -> None:
    killed_at("deciding", tmp_path)
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([each.content for each in updates])
        return Response(Decision.IGNORE)

    chat = opened(tmp_path, decide)
    await chat.handle(Message("newer", "alice")).result()
    assert await (await only(chat)).resume().result() is None
    chat.append(Message("more", "carol"))
    await chat.handle(Message("newest", "alice")).result()
    await chat.join()
    again = opened(tmp_path, decide)
    again.append(Message("and more", "carol"))
    await again.handle(Message("last", "alice")).result()
    await again.join()
    assert seen == [
        ["context", "a trip", "newer"],
        ["a trip"],
        ["more", "newest"],
        ["and more", "last"],
    ]


async def test_a_decision_is_not_made_again(tmp_path: Path) -> None:
    killed_at("decided", tmp_path)
    inputs: list[AgentInput] = []

    async def run(input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        inputs.append(input)
        return "done"

    chat = opened(tmp_path, run=run)
    left = await only(chat)
    assert left.decided is not None
    execution = left.resume()
    assert execution.id == left.id
    decided, *_, answered = [event async for event in execution.events()]
    assert decided == left.decided
    assert isinstance(decided, Decided)
    assert (decided.decision, decided.query) == (Decision.DELEGATE, "book: a trip")
    assert (decided.receiver, decided.reason) == ("bob", "asked for")
    assert isinstance(answered, Answered)
    assert answered.message == Message("done", "system", receiver="bob", request_id="r")
    assert [each.attachments for each in inputs] == [[Attachment("/map", "map", "text/plain")]]
    await chat.join()
    await nothing_left(tmp_path, "context", "a trip", "done")


async def test_waiting_and_allowed_calls_differ(tmp_path: Path) -> None:
    killed_at("asked", tmp_path)
    chat = opened(tmp_path)
    left = await only(chat)
    [waited], [allowed] = left.approvals, left.allowed
    assert (waited.sender, waited.tool_name, waited.tool_args) == ("system", "book", ())
    assert waited.tool_kwargs["place"] == "Oslo"
    assert waited.tool_kwargs["what"].startswith("<object object")
    assert (allowed.tool_name, allowed.tool_kwargs) == ("look", {"place": "Oslo"})
    await chat.join()


async def test_a_resumed_run_asks_for_approval_again(tmp_path: Path) -> None:
    killed_at("asked", tmp_path)
    ran: list[str] = []

    async def run(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        if await callback("look", {}):
            ran.append("look")
        if await callback("book", {}):
            ran.append("book")
        return "done"

    chat = opened(tmp_path, run=run)
    async for element in (await only(chat)).resume().stream():
        if isinstance(element, Approval):
            element.deny() if element.tool_name == "look" else element.approve()
    assert ran == ["book"]
    await chat.join()
    await nothing_left(tmp_path, "context", "a trip", "done")


async def test_second_kill_lists_waiting_calls(tmp_path: Path) -> None:
    killed_at("asked", tmp_path)

    async def run(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        await callback("other", {})
        raise AssertionError

    chat = opened(tmp_path, run=run)
    stream = (await only(chat)).resume().stream()
    assert await anext(stream) is Decision.DELEGATE
    assert isinstance(await anext(stream), Approval)
    copy = tmp_path / "copy"
    (copy / "s").mkdir(parents=True)
    (copy / "s" / "session.jsonl").write_bytes((tmp_path / "s" / "session.jsonl").read_bytes())
    other = opened(copy)
    left = await only(other)
    assert [each.tool_name for each in left.approvals] == ["other"]
    assert [each.tool_name for each in left.allowed] == ["look"]
    await other.join()
    chat.running[0].cancel()
    await chat.join()


async def test_a_program_can_give_the_answer(tmp_path: Path) -> None:
    killed_at("asked", tmp_path)
    chat = opened(tmp_path)
    await (await only(chat)).answer(Message("it broke off", "system", receiver="alice"))
    assert await chat.unfinished() == []
    await chat.join()
    await nothing_left(tmp_path, "context", "a trip", "it broke off")
    saved = await GroupSession.load_messages(DataStore(tmp_path).narrowed("s"))
    assert saved is not None
    assert saved[-1] == Message("it broke off", "system", receiver="alice", request_id="r")


@pytest.mark.parametrize("point", ["deciding", "decided", "asked"])
async def test_a_program_can_close_it(tmp_path: Path, point: str) -> None:
    killed_at(point, tmp_path)
    chat = opened(tmp_path)
    await (await only(chat)).close("too late")
    await chat.join()
    await nothing_left(tmp_path, "context", "a trip")


async def test_delegated_query_is_resumed(tmp_path: Path) -> None:
    killed_at("query", tmp_path)
    chat = opened(tmp_path)
    left = await only(chat)
    assert (left.message.content, left.message.sender) == ("list", "alice")
    assert [each.tool_name for each in left.allowed] == ["look"]
    answer = await left.resume().result()
    assert answer == Message("echo: list", "system", receiver="bob")
    await chat.join()
    await nothing_left(tmp_path, "context", "echo: list")


@pytest.mark.parametrize("point", ["ignored", "failed", "cancelled", "answered"])
async def test_what_has_an_outcome_is_not_listed(tmp_path: Path, point: str) -> None:
    killed_at(point, tmp_path)
    said = ["context", "a trip", *(["booked"] if point == "answered" else [])]
    await nothing_left(tmp_path, *said)


async def test_ended_event_loop_leaves_unfinished(tmp_path: Path) -> None:
    """A program that ends its event loop leaves its executions as a kill does."""

    async def ask(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        await callback("book", {})
        raise AssertionError

    async def begin() -> None:
        async with DataStore(tmp_path) as store:
            chat = GroupSession("s", reasoner_factory(), agent_factory(ask), store)
            async for element in chat.handle(Message("hi", "alice")).stream():
                if isinstance(element, Approval):
                    break

    await asyncio.to_thread(lambda: asyncio.run(begin()))
    chat = opened(tmp_path)
    assert [each.tool_name for each in (await only(chat)).approvals] == ["book"]
    await chat.join()


async def test_text_to_agent_resumes_unreasoned(tmp_path: Path) -> None:
    async def ask(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        await callback("book", {})
        raise AssertionError

    async def begin() -> None:
        async with DataStore(tmp_path) as store:
            chat = GroupSession("s", reasoner_factory(no_decision), agent_factory(ask), store)
            async for element in chat.handle(Message("hi", "alice", "system")).stream():
                if isinstance(element, Approval):
                    break

    await asyncio.to_thread(lambda: asyncio.run(begin()))
    chat = opened(tmp_path)
    answer = await (await only(chat)).resume().result()
    assert answer == Message("echo: hi", "system", receiver="alice")
    await chat.join()


class Diary(MemoryStore):
    """Notes the order of what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def narrowed(self, *keys: str) -> "Diary":
        part = Diary()
        part.__dict__.update(super().narrowed(*keys).__dict__, written=self.written)
        return part

    def save(self, key: str, data: Data) -> "Future[None]":
        self.written.append(key)
        return super().save(key, data)

    def append(self, key: str, lines: Iterable[Data], *, sync: bool = True) -> "Future[None]":
        known = list(lines)
        self.written += [key if "content" in line else next(reversed(line)) for line in known]
        return super().append(key, known, sync=sync)


async def test_writes_precede_dependent_steps() -> None:
    async def run(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        await callback("book", {})
        store.written.append("the tool runs")
        return "done"

    store = Diary()
    chat = GroupSession("s", reasoner_factory(), agent_factory(run), store)
    async for element in chat.handle(Message("hi", "alice")).stream():
        if isinstance(element, Approval):
            store.written.append("a person is asked")
            element.approve()
    await chat.join()
    assert store.written == [
        *("session", "reasoner", "decided", "asked", "a person is asked", "approved"),
        *("the tool runs", "session", "system"),
    ]


ENDINGS: dict[str, Callable[[Unfinished], Any]] = {
    "resume": lambda left: left.resume(),
    "answer": lambda left: left.answer(Message("late", "system")),
    "close": lambda left: left.close(),
}


@pytest.mark.parametrize("second", ENDINGS)
@pytest.mark.parametrize("first", ENDINGS)
async def test_each_is_taken_up_once(tmp_path: Path, first: str, second: str) -> None:
    killed_at("decided", tmp_path)
    chat = opened(tmp_path)
    left, same = await only(chat), await only(chat)
    ENDINGS[first](left)
    with pytest.raises(NotUnfinished, match=left.id):
        ENDINGS[second](same)
    await chat.join()
    again = opened(tmp_path)
    assert len(await again.remembered()) == (2 if first == "close" else 3)
    await again.join()


async def test_nothing_is_taken_up_after_the_stop(tmp_path: Path) -> None:
    killed_at("decided", tmp_path)
    chat = opened(tmp_path)
    left = await only(chat)
    await chat.join()
    with pytest.raises(SessionStopped):
        left.resume()
    again = opened(tmp_path)
    assert len(await again.unfinished()) == 1
    await again.join()


async def test_non_durable_session_notes_nothing(tmp_path: Path) -> None:
    async with DataStore(tmp_path) as store:
        chat = GroupSession("s", reasoner_factory(), agent_factory(), store, durable=False)
        execution = chat.handle(Message("hi", "alice"))
        await execution.result()
        await chat.join()
        lines = await store.narrowed("s").load_lines("session")
    assert execution.id == ""
    assert [set(line) for line in lines] == [set(Message("hi", "alice").serialize())] * 2
    assert not list(tmp_path.glob("*.lock"))


async def test_a_damaged_note_costs_only_itself(tmp_path: Path) -> None:
    async with DataStore(tmp_path) as store:
        await store.narrowed("s").append(
            "session", [{"execution": "a", "query": 1}, Message("hi", "alice").serialize()]
        )
    chat = opened(tmp_path)
    assert [each.content for each in await chat.remembered()] == ["hi"]
    assert len(chat.problems) == 1
    await chat.join()


async def test_second_session_is_refused(tmp_path: Path) -> None:
    first = opened(tmp_path)
    with pytest.raises(SessionLocked, match=r"^session 's' in .* is open in this process"):
        opened(tmp_path)
    other = GroupSession("t", reasoner_factory(), agent_factory(), DataStore(tmp_path))
    await first.join()
    again = opened(tmp_path)
    await again.join()
    await other.join()


async def test_store_close_releases_sessions(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    _forgotten = GroupSession("s", reasoner_factory(), agent_factory(), store)
    await store.aclose()
    await opened(tmp_path).join()


HOLDER = """
import sys
from pathlib import Path
from genie_core.datastore import DataStore
from genie_core.session import GroupSession
from genie_testing import agent_factory, reasoner_factory

chat = GroupSession("s", reasoner_factory(), agent_factory(), DataStore(Path(sys.argv[1])))
print("open", flush=True)
sys.stdin.read()
"""


async def test_session_is_locked_across_processes(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(SessionLocked, match=f"process {process.pid}"):
            opened(tmp_path)
        process.kill()
        process.wait()
        await opened(tmp_path).join()


async def test_unlockable_folder_is_reported(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.lock").mkdir()
    chat = opened(tmp_path, lambda _updates: Response(Decision.DELEGATE, "q"))
    assert await chat.handle(Message("hi", "alice")).result() is not None
    assert len(chat.problems) == 1
    assert "can't be locked" in chat.problems[0]
    await chat.join()
