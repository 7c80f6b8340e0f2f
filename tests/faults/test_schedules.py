"""Any order of doings, over reasoners and agents that answer, fail, ask or hang."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.faults.scene import DEADLINE, VICTIM, Stubborn, events, joined

from genie_core.agent import AgentFactory, AgentInfo, AgentInput, Approval, ApprovalCallback
from genie_core.datastore import DataStore
from genie_core.errors import ExecutionFailed, SessionStopped
from genie_core.execution import (
    Answered,
    ApprovalClosed,
    ApprovalPending,
    Cancelled,
    Decided,
    ExecutionEvent,
    Failed,
    TextDelta,
)
from genie_core.message import SYSTEM, Message
from genie_core.preferences import PreferencesSource
from genie_core.reasoner import Decision, Response
from genie_core.session import Execution, GroupSession
from genie_testing import Emit, ScriptedAgent, delegate_all, ignore_all, reasoner_factory

pytestmark = pytest.mark.timeout(120)

LONG_ENOUGH = 0.1
"""Seconds after which what still runs is taken to be one of those that never end."""

Reasoning: TypeAlias = Literal["ignore", "delegate", "fail", "hang"]
Acting: TypeAlias = Literal["answer", "fail", "ask", "ask twice", "hang", "stubborn"]


@dataclass(frozen=True)
class Handle:
    sender: str
    reasoning: Reasoning
    acting: Acting


@dataclass(frozen=True)
class Delegate:
    sender: str
    acting: Acting


@dataclass(frozen=True)
class Append:
    sender: str


@dataclass(frozen=True)
class Cancel:
    which: int


@dataclass(frozen=True)
class Settle:
    which: int
    approve: bool


@dataclass(frozen=True)
class Read:
    which: int
    elements: int


@dataclass(frozen=True)
class Pause:
    steps: int


@dataclass(frozen=True)
class Stop:
    pass


Doing: TypeAlias = Handle | Delegate | Append | Cancel | Settle | Read | Pause | Stop

senders = st.sampled_from(["alice", "bob", VICTIM])
acting: st.SearchStrategy[Any] = st.sampled_from(
    ["answer", "answer", "fail", "ask", "ask twice", "hang", "stubborn"]
)
reasoning: st.SearchStrategy[Any] = st.sampled_from(
    ["delegate", "delegate", "delegate", "ignore", "fail", "hang"]
)
which = st.integers(0, 30)
doings: st.SearchStrategy[Doing] = st.one_of(
    *[st.builds(Handle, senders, reasoning, acting)] * 4,
    st.builds(Delegate, senders, acting),
    st.builds(Append, st.sampled_from(["alice", "carol", SYSTEM])),
    st.builds(Cancel, which),
    *[st.builds(Settle, which, st.booleans())] * 2,
    st.builds(Read, which, st.integers(0, 4)),
    *[st.builds(Pause, st.integers(1, 40))] * 2,
)
schedules = st.tuples(
    st.lists(doings, min_size=12, max_size=40),
    st.one_of(st.just([]), st.lists(st.one_of(st.builds(Stop), doings), max_size=6)),
).map(lambda parts: [*parts[0], *parts[1]])


class Troubled(PreferencesSource):
    """Has nothing to say about one person but an error."""

    async def get_preferences(self, username: str) -> str | None:
        await asyncio.sleep(0)
        if username == VICTIM:
            raise ConnectionError("no database")
        return None


class Play:
    """Carries out a schedule. What reasoner and agent do stands in the messages themselves."""

    def __init__(self, store: DataStore | None, idle_timeout: float | None) -> None:
        info = AgentInfo("system", "", idle_timeout=idle_timeout)
        self.chat = GroupSession(
            "s",
            reasoner_factory(self.decide, idle_timeout),
            AgentFactory(lambda _secrets: ScriptedAgent(self.act), info),
            store,
            Troubled(),
        )
        self.accepted: list[str] = []
        self.executions: list[Execution] = []
        self.senders: list[str] = []
        self.readers: list[asyncio.Task[list[ExecutionEvent]]] = []
        self.leavers: list[asyncio.Task[None]] = []
        self.stubborn = Stubborn()
        self.reasoned: Counter[str] = Counter()

    async def decide(self, updates: list[Message]) -> Response:
        text = updates[-1].content
        self.reasoned[text] += 1
        match text.split()[1]:
            case "fail":
                raise ConnectionError("no model")
            case "hang":
                await asyncio.Event().wait()
            case "ignore":
                return ignore_all(updates)
        return delegate_all(updates)

    async def act(self, input: AgentInput, callback: ApprovalCallback, emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        emit("thinking")
        await asyncio.sleep(0)
        match input.query.split(maxsplit=2)[2]:
            case "fail":
                raise ConnectionError("no model")
            case "hang":
                await asyncio.Event().wait()
            case "stubborn":
                await self.stubborn()
            case "ask":
                await callback("tool", {})
            case "ask twice":
                await asyncio.gather(callback("one", {}), callback("two", {}))
        return f"answer to {input.query}"

    async def do(self, doing: Doing) -> None:
        number = len(self.accepted) + len(self.executions)
        try:
            match doing:
                case Handle(sender, thought, deed):
                    text = f"{number} {thought} {deed}"
                    self.begin(sender, self.chat.handle(Message(text, sender)))
                    self.accepted.append(text)
                case Delegate(sender, deed):
                    query = f"{number} delegate {deed}"
                    self.begin(sender, self.chat.delegate(query, sender=sender, receiver=sender))
                case Append(sender):
                    self.chat.append(Message(f"{number} context", sender))
                    self.accepted.append(f"{number} context")
                case Stop():
                    self.chat.stop()
                case Pause(steps):
                    for _ in range(steps):
                        await asyncio.sleep(0)
                case Cancel() | Settle() | Read() if self.executions:
                    self.touch(self.executions[doing.which % len(self.executions)], doing)
        except SessionStopped:
            pass

    def begin(self, sender: str, execution: Execution) -> None:
        self.senders.append(sender)
        self.executions.append(execution)

    def touch(self, execution: Execution, doing: Cancel | Settle | Read) -> None:
        match doing:
            case Cancel():
                execution.cancel("the schedule says so")
            case Settle(approve=approve):
                for approval in execution.pending_approvals[:1]:
                    assert approval.approve() if approve else approval.deny("no")
            case Read(elements=0):
                self.readers.append(asyncio.create_task(events(execution)))
            case Read(elements=count):
                self.leavers.append(asyncio.create_task(leave_after(execution, count)))

    async def end(self) -> None:
        """Stop, and cancel what does not end by itself."""
        self.chat.stop()
        if running := [asyncio.create_task(events(each)) for each in self.chat.running]:
            await asyncio.wait(running, timeout=LONG_ENOUGH)
        for execution in self.chat.running:
            execution.cancel("it does not end")
        await joined(self.chat)
        self.stubborn.let_go()
        await asyncio.gather(*running, *self.leavers)


async def leave_after(execution: Execution, count: int) -> None:
    async for _ in execution.events():
        count -= 1
        if not count:
            return


def is_last(event: ExecutionEvent) -> bool:
    return isinstance(event, Answered | Failed | Cancelled) or (
        isinstance(event, Decided) and event.decision is Decision.IGNORE
    )


def check_record(record: list[ExecutionEvent]) -> None:
    assert [is_last(event) for event in record] == [False] * (len(record) - 1) + [True]
    decisions = [n for n, event in enumerate(record) if isinstance(event, Decided)]
    assert decisions in ([], [0])
    if not decisions:
        assert len(record) == 1
    asked = [event.approval.id for event in record if isinstance(event, ApprovalPending)]
    settled = [event.approval.id for event in record if isinstance(event, ApprovalClosed)]
    assert sorted(asked) == sorted(set(settled)) == sorted(settled)


async def check_stream(execution: Execution, record: list[ExecutionEvent]) -> None:
    elements: list[Any] = []
    error: ExecutionFailed | None = None
    try:
        async with asyncio.timeout(DEADLINE):
            async for element in execution.stream():
                elements.append(element)  # noqa: PERF401 - what came before an error counts
    except ExecutionFailed as failure:
        error = failure
    decision, *rest = elements
    assert isinstance(decision, Decision)
    answers = [each for each in rest if isinstance(each, Message)]
    approvals = [each for each in rest if isinstance(each, Approval)]
    assert rest == [*approvals, *answers]
    assert bool(answers) is isinstance(record[-1], Answered)
    if decision is Decision.IGNORE:
        assert rest == []
        assert error is None
    else:
        assert (error is not None) is isinstance(record[-1], Failed)


async def perform(schedule: list[Doing], folder: Path | None, idle_timeout: float | None) -> None:
    store = DataStore(folder) if folder else None
    play = Play(store, idle_timeout)
    for doing in schedule:
        await play.do(doing)
    await play.end()
    assert play.chat.running == []

    records = [await events(execution) for execution in play.executions]
    for execution, record in zip(play.executions, records, strict=True):
        check_record(record)
        await check_stream(execution, record)
    without_text = [[e for e in record if not isinstance(e, TextDelta)] for record in records]
    for reader in play.readers:
        seen = [event for event in await reader if not isinstance(event, TextDelta)]
        assert seen in without_text
    assert all(count == 1 for count in play.reasoned.values())

    said = [each["content"] for each in json.loads(await play.chat.get_group_chat_messages())]
    assert [text for text in said if text in play.accepted] == play.accepted
    answered = [text for text in said if text not in play.accepted]
    answers = [
        (sender, record[-1].message.content)
        for sender, record in zip(play.senders, records, strict=True)
        if isinstance(record[-1], Answered)
    ]
    assert sorted(answered) == sorted(text for _, text in answers)
    if store is not None:
        saved = await GroupSession.load_messages(store)
        assert [message.content for message in saved or []] == said
        await store.aclose()


@settings(max_examples=40)
@given(schedules, st.booleans(), st.sampled_from([None, 0.001]))
def test_any_schedule_ends_consistently(
    schedule: list[Doing], on_disk: bool, idle_timeout: float | None
) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        for grace in ("GRACE", "CLOSE_GRACE", "CANCEL_GRACE"):
            patch.setattr(f"genie_core.runtime.resource_task.{grace}", 0.01)
        patch.setattr("genie_core.runtime.actor.CANCEL_GRACE", 0.01)
        asyncio.run(perform(schedule, Path(folder) if on_disk else None, idle_timeout))
