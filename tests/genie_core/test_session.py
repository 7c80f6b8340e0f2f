import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from genie_core.agent import (
    AgentFactory,
    AgentInfo,
    AgentInput,
    Approval,
    ApprovalCallback,
    Decision,
)
from genie_core.datastore import DataStore
from genie_core.errors import ExecutionFailed, InvalidMessage, SessionStopped
from genie_core.execution import (
    Answered,
    ApprovalResolved,
    Cancelled,
    Decided,
    Failed,
    Unsaved,
)
from genie_core.message import Attachment, Message
from genie_core.preferences import PreferencesSource
from genie_core.reasoner import GroupReasonerFactory, Response
from genie_core.reasoner.runner import ReasonerRunner
from genie_core.secrets import SecretsProvider
from genie_core.session import Execution, GroupSession
from genie_core.testing import (
    DecideFn,
    Emit,
    RunFn,
    ScriptedAgent,
    ScriptedReasoner,
    agent_factory,
    delegate_all,
    echo,
    ignore_all,
    reasoner_factory,
)

pytestmark = pytest.mark.timeout(20)


def session(
    run: RunFn = echo, decide: DecideFn = delegate_all, store: DataStore | None = None
) -> GroupSession:
    return GroupSession("s", reasoner_factory(decide), agent_factory(run), store)


async def asks(input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
    verdict = await callback("tool", {"q": input.query})
    return "done" if verdict else f"refused: {verdict.reason}"


async def events(execution: Execution) -> list[Any]:
    return [event async for event in execution.events()]


async def first_approval(execution: Execution) -> Approval:
    async for element in execution.stream():
        if isinstance(element, Approval):
            return element
    raise AssertionError("no approval was asked for")


async def contents(chat: GroupSession) -> list[str]:
    return [each["content"] for each in json.loads(await chat.get_group_chat_messages())]


async def test_a_delegated_message_is_answered_for_its_receiver() -> None:
    execution = session().handle(Message("hi", "alice", request_id="r1"))
    answer = Message("echo: hi", "system", receiver="alice", request_id="r1")
    assert await execution.result() == answer
    assert [element async for element in execution.stream()] == [Decision.DELEGATE, answer]


async def test_an_ignored_message_is_reasoned_about_once_however_often_it_is_read() -> None:
    calls = []

    def decide(updates: list[Message]) -> Response:
        calls.append(updates)
        return ignore_all(updates)

    execution = session(decide=decide).handle(Message("hi", "alice"))
    readers = await asyncio.gather(*(events(execution) for _ in range(3)))
    assert len(calls) == 1
    assert all(record == readers[0] for record in readers)
    (decided,) = readers[0]
    assert isinstance(decided, Decided)
    assert decided.reason
    assert decided.elapsed >= 0


async def test_the_work_is_done_without_any_reader() -> None:
    done = asyncio.Event()

    async def run(*_: Any) -> str:
        done.set()
        return "ok"

    session(run).handle(Message("hi", "alice"))
    await done.wait()


async def test_one_senders_messages_are_worked_on_in_order_and_others_do_not_wait() -> None:
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


async def test_a_pending_approval_delays_neither_others_nor_the_senders_decisions() -> None:
    chat = session(asks)
    waiting = chat.handle(Message("one", "alice"))
    approval = await first_approval(waiting)
    other = chat.handle(Message("two", "bob"))
    (await first_approval(other)).approve()
    assert (await other.result()) is not None
    next_one = chat.handle(Message("three", "alice"))
    assert isinstance(await anext(next_one.events()), Decided)
    approval.approve()
    assert await waiting.result()


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


async def test_context_is_seen_by_the_next_decision_but_not_reasoned_about() -> None:
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([message.content for message in updates])
        return ignore_all(updates)

    chat = session(decide=decide)
    chat.append(Message("from afar", "bob"))
    chat.append(Message("an answer", "system"))
    await chat.handle(Message("hi", "alice")).result()
    assert seen == [["from afar", "an answer", "hi"]]


async def test_a_ready_query_goes_to_the_agent_without_reasoning() -> None:
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


async def test_a_reader_that_leaves_or_is_cancelled_changes_nothing() -> None:
    chat = session(asks)
    execution = chat.handle(Message("hi", "alice"))
    approval = await first_approval(execution)
    reader = asyncio.create_task(execution.result())
    await asyncio.sleep(0)
    reader.cancel()
    approval.deny("no")
    last = (await events(execution))[-1]
    assert last.message.content in {"done", "refused: no"}


async def test_cancelling_while_an_approval_is_pending_ends_it_and_the_next_run_works() -> None:
    chat = session(asks)
    execution = chat.handle(Message("hi", "alice"))
    approval = await first_approval(execution)
    assert execution.cancel("enough")
    recorded = await events(execution)
    assert recorded[-1] == Cancelled("enough")
    assert not approval.approve()
    assert (await chat.handle(Message("again", "alice")).result()) is not None


async def test_cancelling_right_away_spares_the_reasoner() -> None:
    calls = []

    def decide(updates: list[Message]) -> Response:
        calls.append([message.content for message in updates])
        return ignore_all(updates)

    chat = session(decide=decide)
    execution = chat.handle(Message("never mind", "alice"))
    execution.cancel()
    assert await events(execution) == [Cancelled("")]
    await chat.handle(Message("hi", "alice")).result()
    assert calls == [["never mind", "hi"]]


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


async def test_stopping_denies_pending_approvals_and_joining_returns() -> None:
    chat = session(asks)
    execution = chat.handle(Message("hi", "alice"))
    await first_approval(execution)
    behind = chat.handle(Message("behind it", "alice"))
    chat.stop()
    chat.stop()
    await chat.join()
    for each in (execution, behind):
        recorded = await events(each)
        assert recorded[-1].message.content == "refused: session is stopping"
        (resolved,) = [event for event in recorded if isinstance(event, ApprovalResolved)]
        assert resolved.verdict.reason == "session is stopping"
    await chat.join()


async def test_a_stopped_session_refuses_everything_new() -> None:
    chat = session()
    chat.stop()
    for call in (
        lambda: chat.handle(Message("hi", "alice")),
        lambda: chat.append(Message("hi", "alice")),
        lambda: chat.delegate("hi", sender="alice"),
    ):
        with pytest.raises(SessionStopped):
            call()
    await chat.join()


async def test_joining_without_stopping_stops() -> None:
    chat = session()
    execution = chat.handle(Message("hi", "alice"))
    await chat.join()
    assert execution.done
    with pytest.raises(SessionStopped):
        chat.handle(Message("hi", "alice"))


async def test_a_join_that_times_out_can_be_repeated() -> None:
    release = asyncio.Event()

    async def run(*_: Any) -> str:
        await release.wait()
        return "at last"

    chat = session(run)
    execution = chat.handle(Message("hi", "alice"))
    chat.stop()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(chat.join(), 0.02)
    assert chat.running == [execution]
    release.set()
    await chat.join()
    assert isinstance((await events(execution))[-1], Answered)
    assert chat.running == []


async def test_a_message_from_system_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="append"):
        session().handle(Message("hi", "system"))


async def test_an_idle_timeout_shorter_than_an_approvals_wait_disturbs_nobody() -> None:
    agents: list[ScriptedAgent] = []

    def create(_secrets: dict[str, str]) -> ScriptedAgent:
        agents.append(ScriptedAgent(asks))
        return agents[-1]

    chat = GroupSession(
        "s",
        reasoner_factory(delegate_all, 0.01),
        AgentFactory(create, AgentInfo("system", "", idle_timeout=0.01)),
    )
    first = chat.handle(Message("one", "alice"))
    approval = await first_approval(first)
    second = chat.handle(Message("two", "alice"))
    for _ in range(3):
        other = chat.handle(Message("x", "bob"))
        (await first_approval(other)).approve()
        await other.result()
        await asyncio.sleep(0.02)
    assert agents[0].open
    approval.approve()
    assert (await first.result()) is not None
    assert (await second.result()) is not None
    assert agents[0].queries == ["one", "two"]
    await chat.join()


class Vault(SecretsProvider):
    def get_secrets(self, username: str) -> dict[str, str] | None:
        if username == "mallory":
            raise PermissionError("the vault is locked")
        return {}


class Wishes(PreferencesSource):
    async def get_preferences(self, username: str) -> str | None:
        if username == "mallory":
            raise ConnectionError("no database")
        return f"as {username} likes it"


def failing_reasoner(updates: list[Message]) -> Response:
    if updates[-1].sender == "mallory":
        raise ConnectionError("model away")
    return delegate_all(updates)


async def failing_agent(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
    if input.query == "mallory":
        raise ConnectionError("model away")
    return "ok"


def faulty_sessions() -> dict[str, GroupSession]:
    def no_agent(_secrets: dict[str, str]) -> ScriptedAgent:
        raise RuntimeError("no such model")

    def reasoner(_secrets: dict[str, str], owner: str) -> ScriptedReasoner:
        if owner == "mallory":
            raise RuntimeError("no such model")
        return ScriptedReasoner()

    good, agents = reasoner_factory(), agent_factory(failing_agent)
    return {
        "reasoner": GroupSession("s", reasoner_factory(failing_reasoner), agents),
        "factory": GroupSession("s", GroupReasonerFactory(reasoner), agents),
        "secrets": GroupSession(
            "s", good, AgentFactory(lambda _: ScriptedAgent(), secrets_provider=Vault())
        ),
        "preferences": GroupSession("s", good, agents, preferences_source=Wishes()),
        "agent": GroupSession("s", good, agents),
    }


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_answer_is_a_failure_of_the_agent(text: str) -> None:
    async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        return text if input.query == "one" else "ok"

    chat = session(run)
    decided, failed = await events(chat.handle(Message("one", "alice")))
    assert isinstance(decided, Decided)
    assert isinstance(failed, Failed)
    assert failed.stage == "agent"
    assert failed.error.endswith("the agent gave an empty answer")
    assert await chat.handle(Message("two", "alice")).result() is not None
    assert await contents(chat) == ["one", "two", "ok"]


@pytest.mark.parametrize("query", [None, "", "  "])
async def test_delegating_without_a_query_is_a_failure_of_the_reasoner(query: str | None) -> None:
    chat = session(decide=lambda _updates: Response(Decision.DELEGATE, query=query))
    (failed,) = await events(chat.handle(Message("hi", "alice")))
    assert isinstance(failed, Failed)
    assert failed.stage == "reasoner"


async def test_joining_does_not_wait_for_an_agent_that_will_not_be_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.actor.CANCEL_GRACE", 0.02)
    started, may_end = asyncio.Event(), asyncio.Event()

    async def stubborn(*_: Any) -> str:
        started.set()
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    chat = session(stubborn)
    execution = chat.handle(Message("hi", "alice"))
    await started.wait()
    execution.cancel()
    async with asyncio.timeout(10):
        await chat.join()
    assert isinstance((await events(execution))[-1], Cancelled)
    may_end.set()


@pytest.mark.parametrize("stage", ["reasoner", "factory", "secrets", "preferences", "agent"])
async def test_a_fault_ends_one_execution_and_the_session_serves_on(stage: str) -> None:
    chat = faulty_sessions()[stage]
    broken = [chat.handle(Message("mallory", "mallory")) for _ in range(2)]
    fine = chat.handle(Message("hi", "alice"))
    for execution in broken:
        last = (await events(execution))[-1]
        assert isinstance(last, Failed)
        assert last.stage == stage
        assert "mallory" in last.error
        assert "\n" not in last.error
        assert isinstance(last.exception, (ConnectionError, PermissionError, RuntimeError))
    assert (await fine.result()) is not None
    await chat.join()


async def test_a_failing_reasoner_streams_as_ignored_and_a_failing_agent_raises() -> None:
    chat = faulty_sessions()["reasoner"]
    execution = chat.handle(Message("mallory", "mallory"))
    assert [element async for element in execution.stream()] == [Decision.IGNORE]
    chat = faulty_sessions()["agent"]
    with pytest.raises(ExecutionFailed, match="model away"):
        await chat.handle(Message("mallory", "mallory")).result()


async def test_preferences_and_attachments_reach_the_agent() -> None:
    inputs: list[AgentInput] = []

    async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        inputs.append(input)
        return "ok"

    chat = GroupSession("s", reasoner_factory(), agent_factory(run), preferences_source=Wishes())
    file = Attachment("/a", "a", "text/plain")
    chat.append(Message("look", "bob", attachments=[file]))
    await chat.handle(Message("hi", "alice")).result()
    await chat.handle(Message("again", "alice")).result()
    assert [(each.attachments, each.preferences) for each in inputs] == [
        ([file], "as alice likes it"),
        ([], "as alice likes it"),
    ]


async def test_everything_accepted_is_on_disk_and_comes_back(tmp_path: Path) -> None:
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


async def test_sessions_with_different_ids_share_a_store_but_nothing_in_it(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    for life in range(2):
        for name in ("a/b", "a_b", "..", "session"):
            chat = GroupSession(name, reasoner_factory(), agent_factory(), store)
            assert [each.content for each in await chat.remembered()] == [
                text for n in range(life) for text in (f"{name} {n}", f"echo: {name} {n}")
            ]
            await chat.handle(Message(f"{name} {life}", "alice")).result()
            await chat.join()
    async with store.narrow("a_b") as part:
        saved = await GroupSession.load_messages(part)
    assert saved is not None
    assert [each.content for each in saved] == ["a_b 0", "echo: a_b 0", "a_b 1", "echo: a_b 1"]


async def test_a_damaged_state_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    await store.narrowed("s").save("session", {"messages": 5})
    chat = session(store=store)
    executions = [chat.handle(Message("hi", sender)) for sender in ("alice", "bob")]
    async with asyncio.timeout(10):
        assert [await each.result() is not None for each in executions] == [True, True]
    assert chat.problems
    await chat.join()


async def test_what_cannot_begin_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(owner: str, *args: Any, **options: Any) -> ReasonerRunner:
        if owner == "mallory":
            raise RuntimeError("a fault in the engine itself")
        return ReasonerRunner(owner, *args, **options)

    monkeypatch.setattr("genie_core.session.ReasonerRunner", create)
    chat = session(store=DataStore(tmp_path))
    broken = chat.handle(Message("one", "mallory"))
    fine = chat.handle(Message("two", "alice"))
    async with asyncio.timeout(10):
        assert isinstance((await events(broken))[-1], Failed)
        assert await fine.result() is not None
        await chat.join()
    assert chat.running == []


async def test_owners_whose_names_look_alike_share_nothing(tmp_path: Path) -> None:
    store = DataStore(tmp_path / "store")
    chat = session(store=store)
    owners = ["a/b", "a_b", "a:b", "..", "A", "a", "session", "x" * 300, "名前"]
    for owner in owners:
        await chat.handle(Message(f"from {owner}", owner)).result()
    await chat.join()
    for owner in owners:
        state = await store.narrowed("s", owner).load("system")
        assert state == {"queries": [f"from {owner}"]}
    assert [each.name for each in tmp_path.iterdir()] == ["store"]


async def test_messages_handed_in_while_loading_come_after_those_from_disk(tmp_path: Path) -> None:
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


async def test_a_disk_that_refuses_is_told_and_the_chat_goes_on(tmp_path: Path) -> None:
    for blocked in ("s/session.jsonl", "s/alice/reasoner.json.new", "s/alice/system.json.new"):
        (tmp_path / blocked).mkdir(parents=True)
    chat = session(store=DataStore(tmp_path))
    for text in ("one", "two"):
        recorded = await events(chat.handle(Message(text, "alice")))
        assert isinstance(recorded[-1], Answered)
        assert any(isinstance(event, Unsaved) for event in recorded)
    assert chat.problems
    await chat.join()


async def test_a_failed_answer_tells_too_what_could_not_be_saved(tmp_path: Path) -> None:
    (tmp_path / "s" / "session.jsonl").mkdir(parents=True)
    chat = session(failing_agent, store=DataStore(tmp_path))
    recorded = await events(chat.handle(Message("mallory", "alice")))
    assert [type(event) for event in recorded] == [Decided, Unsaved, Failed]
    await chat.join()


async def test_a_state_that_is_no_json_fails_the_execution(tmp_path: Path) -> None:
    class Unsaveable(ScriptedAgent):
        def get_serialized(self) -> Any:
            return {"when": object()}

    chat = GroupSession(
        "s", reasoner_factory(), AgentFactory(lambda _: Unsaveable()), DataStore(tmp_path)
    )
    last = (await events(chat.handle(Message("hi", "alice"))))[-1]
    assert isinstance(last, Failed)
    assert last.stage == "state"
    await chat.join()


ENDLESS = """
import asyncio, sys
from pathlib import Path
from genie_core.datastore import DataStore
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_core.testing import agent_factory, reasoner_factory

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


@pytest.mark.timeout(60)
@pytest.mark.parametrize("acknowledged", [1, 7, 40, 111, 300])
async def test_a_killed_process_loses_nothing_that_was_answered(
    tmp_path: Path, acknowledged: int
) -> None:
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


def test_a_session_can_be_made_before_the_event_loop_runs(tmp_path: Path) -> None:
    chat = session(store=DataStore(tmp_path))

    async def use() -> Message | None:
        answer = await chat.handle(Message("hi", "alice")).result()
        await chat.join()
        return answer

    assert asyncio.run(use()) is not None
