"""Whatever raises, and whatever it raises: one execution fails and the session serves on."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.faults.scene import VICTIM, events, joined, last_event, session
from tests.faults.traps import SAVING, STAGES, Trap, trapped_session
from tests.limits import scaled

from genie_core.agent import AgentFactory, AgentInput, AgentRunner, ApprovalContext
from genie_core.datastore import DataStore
from genie_core.errors import ExecutionFailed, GenieError
from genie_core.execution import Answered, Decided, Failed, Unsaved
from genie_core.message import Message
from genie_core.reasoner import Decision, GroupReasonerFactory, Response
from genie_core.reasoner.runner import ReasonerRunner
from genie_core.session import GroupSession
from genie_testing import ScriptedAgent, ScriptedReasoner, reasoner_factory

pytestmark = pytest.mark.timeout(100)


class Panic(BaseException):
    """What libraries written in other languages raise when they are at their wits' end."""


def raising(error: BaseException) -> Callable[[], Any]:
    def fault() -> None:
        raise error

    return fault


@pytest.mark.parametrize("place", [*(each for each in STAGES if "restored" not in each), *SAVING])
async def test_key_in_error_is_hidden(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = ConnectionError(
        "401 for url 'https://ann:12345678@host/v1?key=12345678' with "
        "{'Authorization': 'Bearer 12345678', 'x-api-key': 'sk-12345678'}"
    )
    chat = trapped_session(Trap(place, raising(error)), DataStore(tmp_path))
    recorded = await events(chat.handle(Message("1", VICTIM)))
    told = [each.error for each in recorded if isinstance(each, Failed | Unsaved)]
    assert "401 for url" in told[0]
    assert "12345678" not in "".join([*told, *chat.problems, *caplog.messages])


@pytest.mark.parametrize(
    "error",
    [ConnectionError("it\nbroke"), StopIteration(), asyncio.CancelledError(), Panic("it broke")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("place", STAGES)
async def test_fault_ends_only_its_executions(
    tmp_path: Path, place: str, error: BaseException
) -> None:
    trap = Trap(place, raising(error))
    trap.armed = False
    store = DataStore(tmp_path)
    earlier_life = trapped_session(trap, store)
    assert isinstance(await last_event(earlier_life.handle(Message("0", VICTIM))), Answered)
    await joined(earlier_life)

    trap.armed = True
    chat = trapped_session(trap, store)
    broken = [chat.handle(Message(text, VICTIM)) for text in ("1", "2")]
    fine = chat.handle(Message("hi", "alice"))
    for execution in broken:
        last = await last_event(execution)
        assert isinstance(last, Failed)
        assert last.stage == STAGES[place]
        assert VICTIM in last.error
        assert "\n" not in last.error
    assert isinstance(await last_event(fine), Answered)
    trap.armed = False
    assert isinstance(await last_event(chat.handle(Message("3", VICTIM))), Answered)
    await joined(chat)


@pytest.mark.parametrize(
    "error",
    [ConnectionError("it\nbroke"), StopIteration(), asyncio.CancelledError(), Panic("it broke")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("place", SAVING)
async def test_fault_while_saving_keeps_answer(
    tmp_path: Path, place: str, error: BaseException
) -> None:
    chat = trapped_session(Trap(place, raising(error)), DataStore(tmp_path))
    for text in ("1", "2"):
        recorded = await events(chat.handle(Message(text, VICTIM)))
        assert isinstance(recorded[-1], Answered)
        (unsaved,) = (each for each in recorded if isinstance(each, Unsaved))
        assert VICTIM in unsaved.error
        assert "\n" not in unsaved.error
    assert any(VICTIM in problem for problem in chat.problems)
    assert isinstance(await last_event(chat.handle(Message("hi", "alice"))), Answered)
    await joined(chat)


@pytest.mark.parametrize("error", [OSError("broken pipe"), asyncio.CancelledError(), Panic()])
async def test_failing_close_harms_nobody(error: BaseException) -> None:
    chat = trapped_session(Trap("tools end", raising(error)), idle_timeout=0.01)
    for text in ("1", "2"):
        assert isinstance(await last_event(chat.handle(Message(text, VICTIM))), Answered)
        (runner,) = chat._agents.values()
        await runner.join()
    await joined(chat)


async def test_a_failing_reasoner_streams_as_ignored() -> None:
    chat = trapped_session(Trap("reasoner run", raising(ConnectionError("model away"))))
    execution = chat.handle(Message("hi", VICTIM))
    assert [element async for element in execution.stream()] == [Decision.IGNORE]
    await joined(chat)


async def test_agent_failure_raises_from_result() -> None:
    chat = trapped_session(Trap("agent run", raising(ConnectionError("model away"))))
    execution = chat.handle(Message("hi", VICTIM))
    for _ in range(2):
        with pytest.raises(ExecutionFailed, match="model away"):
            await execution.result()
    await joined(chat)


async def test_debug_log_has_traceback(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "genie_core")
    chat = trapped_session(Trap("agent run", raising(ConnectionError("model away"))))
    assert isinstance(await last_event(chat.handle(Message("hi", VICTIM))), Failed)
    [shown] = [each for each in caplog.records if "agent failed" in each.message]
    assert shown.levelname == "DEBUG"
    assert shown.exc_text is not None
    assert "ConnectionError: model away" in shown.exc_text
    await joined(chat)


async def test_non_folder_store_has_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    async with DataStore(tmp_path / "file") as store:
        chat = GroupSession("s", reasoner_factory(), AgentFactory(lambda _: ScriptedAgent()), store)
        assert isinstance(await last_event(chat.handle(Message("hi", "alice"))), Answered)
        await joined(chat)
    assert "begins without its saved messages" in caplog.text
    assert not any(each.exc_info for each in caplog.records)


@pytest.mark.parametrize("alone", [False, True])
async def test_missing_tool_server_logs_one_line(
    alone: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Missing(ScriptedAgent):
        @asynccontextmanager
        async def mcp(self) -> AsyncIterator["Missing"]:
            try:
                await asyncio.create_subprocess_exec("no-such-program")
            except OSError as error:
                raise RuntimeError(f"client failed to connect: {error}") from error
            yield self

    factory = AgentFactory(lambda _: Missing())
    chat = GroupSession("s", reasoner_factory(), factory)
    runner = AgentRunner("system", "system", "alice", factory)
    answer: Awaitable[Any] = (
        runner.invoke(AgentInput("q"), ApprovalContext(asyncio.Queue()))
        if alone
        else chat.handle(Message("hi", "alice")).result()
    )
    with pytest.raises(GenieError) as caught:
        await answer
    assert "no-such-program" in str(caught.value)
    told = traceback.format_exception(caught.value)
    assert "create_subprocess_exec" not in "".join(told)
    assert all(len(each.message.splitlines()) == 1 for each in caplog.records)
    assert not any(each.exc_info for each in caplog.records if each.levelname != "DEBUG")
    await joined(chat)


@pytest.mark.parametrize("text", ["", " \n"])
async def test_empty_answer_fails_agent(text: str) -> None:
    async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        return text if input.query == "one" else "ok"

    chat = session(run)
    decided, failed = await events(chat.handle(Message("one", "alice")))
    assert isinstance(decided, Decided)
    assert isinstance(failed, Failed)
    assert failed.stage == "agent"
    assert failed.error.endswith("the agent gave an empty answer")
    assert isinstance(await last_event(chat.handle(Message("two", "alice"))), Answered)
    await joined(chat)


@pytest.mark.parametrize("query", [None, "", "  "])
async def test_delegation_without_query_fails(query: str | None) -> None:
    chat = session(decide=lambda _updates: Response(Decision.DELEGATE, query=query))
    (failed,) = await events(chat.handle(Message("hi", "alice")))
    assert isinstance(failed, Failed)
    assert failed.stage == "reasoner"
    await joined(chat)


@pytest.mark.parametrize("state", [{"when": object()}, LookupError("lost")])
@pytest.mark.parametrize("whose", ["agent", "reasoner"])
async def test_unsavable_state_keeps_answer(tmp_path: Path, whose: str, state: Any) -> None:
    def tell() -> Any:
        if isinstance(state, Exception):
            raise state
        return state

    agent, reasoner = ScriptedAgent(), ScriptedReasoner()
    mute: Any = agent if whose == "agent" else reasoner
    mute.get_serialized = tell
    reasoners = GroupReasonerFactory(lambda _secrets, _owner: reasoner)
    chat = GroupSession("s", reasoners, AgentFactory(lambda _: agent), DataStore(tmp_path))
    for text in ("one", "two"):
        recorded = await events(chat.handle(Message(text, "alice")))
        assert [type(each) for each in recorded] == [Decided, Unsaved, Answered]
        last = recorded[-1]
        assert isinstance(last, Answered)
        assert last.message.content == f"echo: {text}"
    assert chat.problems
    await joined(chat)
    messages = await GroupSession.load_messages(DataStore(tmp_path).narrowed("s"))
    assert [each.content for each in messages or []] == ["one", "echo: one", "two", "echo: two"]


async def test_what_cannot_begin_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(owner: str, *args: Any, **options: Any) -> ReasonerRunner:
        if owner == VICTIM:
            raise RuntimeError("a fault in the engine itself")
        return ReasonerRunner(owner, *args, **options)

    monkeypatch.setattr("genie_core.session.ReasonerRunner", create)
    chat = session(store=DataStore(tmp_path))
    broken = chat.handle(Message("one", VICTIM))
    fine = chat.handle(Message("two", "alice"))
    assert isinstance(await last_event(broken), Failed)
    assert isinstance(await last_event(fine), Answered)
    await joined(chat)
    assert chat.running == []


@pytest.mark.parametrize("worker", ["reasoner of mallory", "agent 'system' of mallory"])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5])
async def test_dead_worker_leaves_nobody_waiting(worker: str, steps: int) -> None:
    """Killed after some steps of the event loop, with messages in its mailbox."""
    chat = session()
    executions = [chat.handle(Message(str(n), VICTIM)) for n in range(3)]
    fine = chat.handle(Message("hi", "alice"))
    task = await _named(worker)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    for execution in executions:
        assert isinstance(await last_event(execution), Failed | Answered)
    assert isinstance(await last_event(fine), Answered)
    assert isinstance(await last_event(chat.handle(Message("after", VICTIM))), Answered)
    await joined(chat)


async def _named(name: str) -> "asyncio.Task[Any]":
    async with asyncio.timeout(scaled(60)):
        while True:
            for task in asyncio.all_tasks():
                if task.get_name() == name:
                    return task
            await asyncio.sleep(0)
