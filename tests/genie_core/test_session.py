import asyncio
import gc
import json
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from genie_core.agent import (
    AgentInput,
    ApprovalCallback,
    Decision,
)
from genie_core.datastore import DataStore
from genie_core.errors import NotOnEventLoop
from genie_core.execution import (
    Answered,
)
from genie_core.message import Attachment, Message
from genie_core.reasoner import Response
from genie_core.session import Execution, GroupSession
from genie_testing import (
    DecideFn,
    Emit,
    RunFn,
    agent_factory,
    delegate_all,
    echo,
    ignore_all,
    reasoner_factory,
)

pytestmark = pytest.mark.timeout(100)


def session(
    run: RunFn = echo, decide: DecideFn = delegate_all, store: DataStore | None = None
) -> GroupSession:
    return GroupSession("s", reasoner_factory(decide), agent_factory(run), store)


async def events(execution: Execution) -> list[Any]:
    return [event async for event in execution.events()]


async def contents(chat: GroupSession) -> list[str]:
    return [each["content"] for each in json.loads(await chat.get_group_chat_messages())]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tasks are never eager before Python 3.12")
async def test_eager_loop_runs_sync_reasoner() -> None:
    if sys.version_info >= (3, 12):  # for the type checker
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    chat = session()
    answer = await chat.handle(Message("hi", "alice")).result()
    await chat.join()
    assert answer is not None
    assert answer.content == "echo: hi"


async def test_ended_execution_needs_no_gc() -> None:
    chat = session()
    gc.disable()
    try:
        execution = chat.delegate("hi", sender="alice", private=True)
        await execution.result()
        await chat.join()
        left = weakref.ref(execution)
        del execution
        assert left() is None
    finally:
        gc.enable()


CALLS: dict[str, Callable[[GroupSession], Any]] = {
    "handle": lambda chat: chat.handle(Message("hi", "alice")),
    "append": lambda chat: chat.append(Message("hi", "alice")),
    "delegate": lambda chat: chat.delegate("hi", sender="alice"),
    "request_ids": lambda chat: chat.request_ids(),
    "get_group_chat_messages": lambda chat: asyncio.run(chat.get_group_chat_messages()),
    "remembered": lambda chat: asyncio.run(chat.remembered()),
    "stop": lambda chat: chat.stop(),
    "join": lambda chat: asyncio.run(chat.join()),
}


@pytest.mark.parametrize("method", CALLS)
async def test_call_from_thread_is_refused(method: str, tmp_path: Path) -> None:
    async with DataStore(tmp_path) as store:
        chat = session(store=store)
        await chat.handle(Message("before", "alice")).result()
        with pytest.raises(
            NotOnEventLoop, match=rf"^GroupSession\.{method} .*call_soon_threadsafe"
        ):
            await asyncio.to_thread(CALLS[method], chat)
        assert chat.running == []
        await chat.handle(Message("after", "alice")).result()
        said = await contents(chat)
        await chat.join()
    assert said == ["before", "echo: before", "after", "echo: after"]


@pytest.mark.parametrize("method", ["handle", "append", "delegate", "request_ids"])
def test_input_needs_running_loop(method: str) -> None:
    chat = session()
    with pytest.raises(NotOnEventLoop):
        CALLS[method](chat)
    assert asyncio.run(contents(chat)) == []


async def test_execution_is_bound_to_its_loop() -> None:
    chat = session()
    execution = chat.handle(Message("hi", "alice"))
    for call in (lambda: asyncio.run(events(execution)), lambda: asyncio.run(execution.result())):
        with pytest.raises(NotOnEventLoop):
            await asyncio.to_thread(call)
    with pytest.raises(NotOnEventLoop):
        await asyncio.to_thread(execution.cancel)
    assert await execution.result() is not None
    await chat.join()


async def test_answer_addresses_its_receiver() -> None:
    execution = session().handle(Message("hi", "alice", request_id="r1"))
    answer = Message("echo: hi", "system", receiver="alice", request_id="r1")
    assert await execution.result() == answer
    assert [element async for element in execution.stream()] == [Decision.DELEGATE, answer]


async def test_sender_order_blocks_no_others() -> None:
    log: list[str] = []
    release = asyncio.Event()

    async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        log.append(f"+{input.query}")
        if input.query.startswith("alice"):
            await release.wait()
        log.append(f"-{input.query}")
        return "ok"

    chat = session(run)
    slow = [chat.handle(Message(f"alice{number}", "alice")) for number in range(3)]
    await chat.handle(Message("bob", "bob")).result()
    assert log == ["+alice0", "+bob", "-bob"]
    release.set()
    for execution in slow:
        await execution.result()
    assert log[3:] == ["-alice0", "+alice1", "-alice1", "+alice2", "-alice2"]


async def test_messages_keep_the_order_of_the_calls() -> None:
    chat = session(decide=ignore_all)
    last = None
    for number in range(10):
        message = Message(str(number), f"user{number % 3}")
        last = chat.handle(message)
        chat.append(Message(f"{number}!", "system"))
    assert last is not None
    await last.result()
    assert await contents(chat) == [f"{n}{mark}" for n in range(10) for mark in ("", "!")]


async def test_context_joins_next_decision() -> None:
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([message.content for message in updates])
        return ignore_all(updates)

    chat = session(decide=decide)
    chat.append(Message("from afar", "bob"))
    chat.append(Message("an answer", "system"))
    await chat.handle(Message("hi", "alice")).result()
    assert seen == [["from afar", "an answer", "hi"]]


async def test_ready_query_skips_reasoning() -> None:
    def never(_updates: list[Message]) -> Response:
        raise AssertionError("no reasoning was asked for")

    chat = session(decide=never)
    execution = chat.delegate(
        "go on", sender="alice", receiver="bob", request_id="r", reason="approved later"
    )
    decided, answered = await events(execution)
    assert (decided.decision, decided.query, decided.receiver, decided.reason) == (
        Decision.DELEGATE,
        "go on",
        "bob",
        "approved later",
    )
    assert answered.message == Message("echo: go on", "system", receiver="bob", request_id="r")
    assert await contents(chat) == ["echo: go on"]


async def test_message_to_agent_skips_reasoner(tmp_path: Path) -> None:
    def never(_updates: list[Message]) -> Response:
        raise AssertionError("no reasoning was asked for")

    given: list[AgentInput] = []

    async def run(input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        given.append(input)
        return "yes"

    chat = session(run, never)
    notes = Attachment(str(tmp_path / "notes"), "notes", "text/plain")
    message = Message("are you there?", "alice", "system", [], [notes], "r")
    decided, answered = await events(chat.handle(message))
    assert (decided.decision, decided.query) == (Decision.DELEGATE, "are you there?")
    assert answered.message == Message("yes", "system", receiver="alice", request_id="r")
    assert given == [AgentInput("are you there?", [notes])]
    assert await contents(chat) == ["are you there?", "yes"]
    await chat.join()


async def test_reasoner_sees_skipped_messages() -> None:
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([each.content for each in updates])
        return Response(Decision.IGNORE)

    chat = session(decide=decide)
    await chat.handle(Message("to the agent", "alice", "system")).result()
    await chat.handle(Message("to all", "alice")).result()
    await chat.handle(Message(" ", "alice", "system", [], [Attachment("p", "n", "t")])).result()
    await chat.join()
    assert seen == [["to the agent", "echo: to the agent", "to all"], [" "]]


async def test_a_session_tells_that_it_was_stopped() -> None:
    chat = session()
    before = chat.stopped
    chat.stop()
    assert (before, chat.stopped) == (False, True)
    await chat.join()


async def test_private_query_has_own_memory(
    tmp_path: Path,
) -> None:
    def never(_updates: list[Message]) -> Response:
        raise AssertionError("no reasoning was asked for")

    made: list[str] = []

    async def run(input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        made.append(input.query)
        return f"echo: {input.query}"

    store = DataStore(tmp_path)
    chat = session(run, never, store)
    private = await chat.delegate("a secret", sender="alice", private=True).result()
    public = await chat.delegate("go on", sender="alice").result()
    assert private is not None
    assert public is not None
    assert private.content == "echo: a secret"
    assert await contents(chat) == ["echo: go on"]
    await chat.join()
    await store.aclose()
    told = {
        path.relative_to(tmp_path).parts: path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    holding = [parts for parts, text in told.items() if "a secret" in text]
    assert holding
    assert all(parts[:3] == ("s", "alice", "private") for parts in holding)


async def test_cancelling_a_running_reasoner_stops_it() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def decide(_updates: list[Message]) -> Response:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    execution = session(decide=decide).handle(Message("hi", "alice"))
    await started.wait()
    execution.cancel()
    await stopped.wait()


async def test_attachments_reach_next_delegation() -> None:
    inputs: list[AgentInput] = []

    async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        inputs.append(input)
        return "ok"

    chat = session(run)
    file = Attachment("/a", "a", "text/plain")
    chat.append(Message("look", "bob", attachments=[file]))
    await chat.handle(Message("hi", "alice")).result()
    await chat.handle(Message("again", "alice")).result()
    assert [each.attachments for each in inputs] == [[file], []]


async def test_accepted_messages_are_restored(tmp_path: Path) -> None:
    for life in range(3):
        store = DataStore(tmp_path)
        chat = session(store=store)
        for sender in ("alice", "bob"):
            chat.handle(Message(f"{sender}{life}", sender, request_id=f"{sender}{life}"))
        chat.append(Message(f"context{life}", "carol"))
        await chat.join()
        assert await chat.request_ids() == {
            f"{sender}{number}" for sender in ("alice", "bob") for number in range(life + 1)
        }
        await store.aclose()
    saved = await GroupSession.load_messages(DataStore(tmp_path))
    assert saved is not None
    assert len(saved) == 3 * 5
    state = await DataStore(tmp_path).narrowed("s", "alice").load("system")
    assert state == {"queries": ["alice0", "alice1", "alice2"]}


async def test_early_messages_follow_saved_ones(tmp_path: Path) -> None:
    first = session(store=DataStore(tmp_path))
    await first.handle(Message("old", "alice")).result()
    await first.join()
    second = session(store=DataStore(tmp_path))
    second.append(Message("new", "bob"))
    cancelled = second.handle(Message("cancelled", "alice"))
    cancelled.cancel()
    await second.handle(Message("newer", "alice")).result()
    assert await contents(second) == [
        "old",
        "echo: old",
        "new",
        "cancelled",
        "newer",
        "echo: newer",
    ]
    await second.join()


ENDLESS = """
import asyncio, sys
from pathlib import Path
from genie_core.datastore import DataStore
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing import agent_factory, reasoner_factory

async def main():
    chat = GroupSession("s", reasoner_factory(), agent_factory(), DataStore(Path(sys.argv[1])))
    async def talk(sender):
        number = 0
        while True:
            answer = await chat.handle(Message(f"{sender} {number}", sender)).result()
            print(answer.content, flush=True)
            number += 1
    await asyncio.gather(*(talk(sender) for sender in ("alice", "bob", "carol")))

asyncio.run(main())
"""


@pytest.mark.timeout(100)
@pytest.mark.parametrize("acknowledged", [1, 7, 40, 111, 300])
async def test_kill_keeps_answered_messages(tmp_path: Path, acknowledged: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        answers = [process.stdout.readline() for _ in range(acknowledged)]
        process.kill()
        answers += process.stdout.readlines()
    answers = [answer for answer in answers if answer.endswith(b"\n")]
    store = DataStore(tmp_path)
    saved = await GroupSession.load_messages(store)
    assert saved is not None
    texts = {message.content for message in saved}
    for answer in answers:
        text = answer.decode().strip()
        assert text in texts
        assert text.removeprefix("echo: ") in texts
    chat = session(store=store)
    for sender in ("alice", "bob", "carol"):
        last = (await events(chat.handle(Message("after", sender))))[-1]
        assert isinstance(last, Answered)
        assert (await store.narrowed("s", sender).load("system"))["queries"][-1] == "after"
    await chat.join()


async def test_work_inherits_context_variables(tmp_path: Path) -> None:
    """Programs that embed a session tell by them which request a log line or a trace is about."""
    request: ContextVar[str] = ContextVar("request", default="none")
    seen: list[tuple[str, str, str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append(("reasoner", updates[-1].content, request.get()))
        return delegate_all(updates)

    async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        seen.append(("agent", input.query, request.get()))
        return "ok"

    async with DataStore(tmp_path) as store:
        chat = session(run, decide, store)
        executions = []
        for name in ("a", "b"):  # while it still loads
            request.set(name)
            executions.append(chat.handle(Message(name, "alice")))
        for execution in executions:
            await execution.result()
        request.set("c")
        await chat.handle(Message("c", "alice")).result()
        await chat.join()
    assert sorted(seen) == [(who, name, name) for who in ("agent", "reasoner") for name in "abc"]
