"""What becomes of tool calls: rules, grants, auto mode, answers after a pause, and stopping."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.genie_core.room.engine.doubles import FakeRoom
from tests.genie_core.room.live_room import Ear, LiveRoom, loader, opened
from tests.limits import scaled

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.agent.approval import ask_about
from genie_core.room.client.model import Answer, EngineState
from genie_core.room.engine.approval_policy import (
    ANSWER_SERVER,
    EXCEED_BUDGET,
    SAMPLE_MODEL,
    ApprovalPolicy,
    PolicyResult,
    ToolCall,
)
from genie_core.room.engine.approvals import NO_POLICY_RESULT, Approvals
from genie_core.room.engine.config import EngineSite
from genie_core.room.engine.grants import CHANGED, Grant
from genie_core.room.engine.restart_backlog import IN_FLIGHT, MIN_BACKLOG, TAKEN_BACK, BacklogChoice
from genie_core.room.engine.runs import RunManager
from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RecoveredEvent,
    RoomCreated,
    RunBody,
    RunCancelled,
    RunFailed,
    Spending,
    mark_of_source,
)
from genie_core.room.state.thread import Phase
from genie_core.room.view.approvals import allowed, is_summary
from genie_core.runtime.agent_options import owner_command
from genie_core.runtime.grace import Grace
from genie_core.runtime.progress import Usage, acted, doing, spent, summarised
from genie_core.session import GroupSession
from genie_testing import Emit, RunFn, agent_factory, delegate_all, reasoner_factory
from genie_testing.scripted import DecideFn


class Rules:
    """A policy with an effect for some tools and paths; it asks about all others."""

    def __init__(self, **effects: str) -> None:
        self.effects: dict[str, str] = effects
        self.calls: list[ToolCall] = []

    def is_covered(self, call: ToolCall, effects: ToolEffects, pattern: str) -> bool:
        return fnmatchcase(str(call.arguments.get("path", "")), pattern)

    def evaluate(self, call: ToolCall) -> PolicyResult:
        self.calls.append(call)
        for each in (call.tool, str(call.arguments.get("path", ""))):
            match self.effects.get(each):
                case "allow":
                    return PolicyResult("allow", f"{each} is harmless", "read")
                case "deny":
                    return PolicyResult("deny", f"{each} is forbidden", "write")
                case "raise":
                    raise ValueError("a rule that breaks")
        return PolicyResult("ask", "no rule allows it", "write")


class Runner:
    """Calls tools as messages say, each "tool path …", and keeps what it was allowed to do."""

    def __init__(self, schema: dict[str, Any] | None = None) -> None:
        self.done: list[tuple[str, str]] = []
        self.refused: list[str | None] = []
        self.schema = schema

    async def __call__(
        self,
        input: AgentInput,  # noqa: A002 - as in Agent.run
        callback: ApprovalCallback,
        _emit: Emit,
    ) -> str:
        for line in input.query.split(";"):
            tool, path = line.split()
            verdict = await ask_about(callback, tool, {"path": path}, self.schema)
            if verdict:
                self.done.append((tool, (verdict.arguments or {"path": path})["path"]))
            else:
                self.refused.append(verdict.reason)
        return "done"


class Desk:
    """One person's seat with an engine, and what a test wants to know of it."""

    def __init__(self, person: JoinedRoom, ear: Ear, runner: Runner) -> None:
        self.person = person
        self.ear = ear
        self.runner = runner
        self.until = ear.until

    @property
    def settled(self) -> list[ApprovalResolved]:
        return [e.body for e in self.ear.events if isinstance(e.body, ApprovalResolved)]

    @property
    def asked(self) -> list[ApprovalRequested]:
        return [e.body for e in self.ear.events if isinstance(e.body, ApprovalRequested)]

    @property
    def ended(self) -> list[RunBody]:
        ends = (AnswerPosted, RunFailed, RunCancelled)
        return [e.body for e in self.ear.events if isinstance(e.body, ends)]

    async def waiting(self) -> str:
        """The id of the one call that waits, once there is one."""
        await self.until(lambda: self.person.state.pending_for(self.person.name))
        (request,) = self.person.state.pending_for(self.person.name)
        return request.id

    async def run(self, text: str, *answers: Answer) -> None:
        """Say something, answer what is asked in turn, and see it through."""
        before = len(self.ended)
        self.person.messages.send(text)
        for answer in answers:
            assert self.person.approvals.answer(await self.waiting(), answer)
            await self.until(lambda: not self.person.state.pending_for(self.person.name))
        await self.until(lambda: len(self.ended) > before)


def grants_of(desk: Desk) -> list[Grant]:
    return list(desk.person.approvals.grants.active)


def is_auto(desk: Desk) -> bool:
    return desk.person.engine.status.auto


@asynccontextmanager
async def desk(
    folder: Path,
    policy: ApprovalPolicy | None = None,
    *,
    events: Sequence[Event] = (),
    schema: dict[str, Any] | None = None,
    runner: Runner | None = None,
) -> AsyncIterator[tuple[Desk, LiveRoom]]:
    async with opened(events) as live:
        runner = runner or Runner(schema)
        person, ear = await live.joined("ann", loader(folder, run=runner, policy=policy))
        await ear.until(lambda: person.engine.status.state is EngineState.READY)
        yield Desk(person, ear, runner), live


# -- rules


class Wilful(Runner):
    """Says that it has made calls without asking."""

    async def __call__(
        self,
        input: AgentInput,  # noqa: A002 - as in Agent.run
        callback: ApprovalCallback,
        _emit: Emit,
    ) -> str:
        acted("look", {"path": "a"})
        acted("edit", {"path": "b" * 100_000})
        return "done"


async def test_unasked_call_is_marked(tmp_path: Path) -> None:
    async with desk(tmp_path, Rules(look="deny"), runner=Wilful()) as (ann, live):
        await ann.run("go")
        assert [(each.outcome, each.how) for each in ann.settled] == [("approved", "own")] * 2
        look, edit = ann.asked
        assert look.unasked
        assert "without asking" in look.because
        assert look.arguments == {"path": "a"}
        assert len(edit.arguments["path"]) < 3_000
        lines = [allowed(each, "look", "ann") for each in ann.settled]
        assert lines == ["look ran without asking"] * 2
        assert not ann.person.state.pending_for("ann")
        late, ear = await live.joined("bob", None)
        await ear.until(lambda: late.state.people["ann"].agent.endswith(", acts on its own"))
        assert ann.person.engine.status.label.count("acts on its own") == 1
        await ann.run("again")
        assert ann.person.engine.status.label.count("acts on its own") == 1


class Forgetful(Runner):
    """Says that it has summarised its conversation."""

    async def __call__(
        self,
        input: AgentInput,  # noqa: A002 - as in Agent.run
        callback: ApprovalCallback,
        _emit: Emit,
    ) -> str:
        summarised("They agreed on Friday.")
        return "done"


async def test_a_summary_is_an_event_that_all_can_read(tmp_path: Path) -> None:
    async with desk(tmp_path, runner=Forgetful()) as (ann, live):
        _, ear = await live.joined("bob", None)
        await ann.run("go")
        (settled,), (asked,) = ann.settled, ann.asked
        assert is_summary(settled, asked.tool)
        assert allowed(settled, asked.tool, "ann") == "ann's agent summarised its conversation"
        assert (asked.risk, asked.source, asked.reads) == ("read", "", "")
        await ear.until(lambda: any(each.arguments for each in seen(ear)))
        assert [each.arguments for each in seen(ear)] == [{"summary": "They agreed on Friday."}]
        assert "acts on its own" not in ann.person.engine.status.label


def seen(ear: Ear) -> list[ApprovalRequested]:
    return [each.body for each in ear.events if isinstance(each.body, ApprovalRequested)]


async def test_rules_answer_before_a_person_is_asked(tmp_path: Path) -> None:
    rules = Rules(look="allow", wipe="deny")
    async with desk(tmp_path, rules) as (ann, _):
        await ann.run("look a;wipe b;edit c", Answer(allow=True))
        assert ann.runner.done == [("look", "a"), ("edit", "c")]
        assert ann.runner.refused == ["wipe is forbidden"]
        assert [(s.outcome, s.how, s.reason) for s in ann.settled] == [
            ("approved", "rule", "look is harmless"),
            ("denied", "rule", "wipe is forbidden"),
            ("approved", "", None),
        ]
        assert [(a.because, a.risk, a.unasked) for a in ann.asked] == [
            ("look is harmless", "read", True),
            ("wipe is forbidden", "write", True),
            ("no rule allows it", "write", False),
        ]
        assert all(a.binding for a in ann.asked)
        call = rules.calls[0]
        assert (call.person, call.agent, call.arguments) == ("ann", "system", {"path": "a"})
        assert ann.ear.events
        assert ann.person.state.calls[ann.asked[2].approval].risk == "write"


async def test_instant_answer_never_waits(tmp_path: Path) -> None:
    waited: list[int] = []
    async with desk(tmp_path, Rules(look="allow")) as (ann, _):

        def look(_event: Event) -> None:
            waited.append(len(ann.person.state.pending_for("ann")))
            phases = {each.phase for each in ann.person.state.threads.values()}
            waited.append(Phase.WAITING in phases)

        ann.ear.looks.append(look)
        await ann.run("look a")
        assert waited
        assert not any(waited)


async def test_rule_denial_overrides_all_consent(tmp_path: Path) -> None:
    rules = Rules()
    async with desk(tmp_path, rules) as (ann, _):
        await ann.run("edit a", Answer(allow=True, scope="session", covers="*"))
        assert ann.person.engine.set_auto(on=True)
        await ann.run("edit b;other c")
        rules.effects = {"edit": "deny", "c": "deny"}
        await ann.run("edit a;other c")
        assert ann.runner.refused == ["edit is forbidden", "c is forbidden"]
        assert ann.person.engine.set_auto(on=False)
        ann.person.messages.send("other x")
        approval = await ann.waiting()
        assert not ann.person.approvals.answer(
            approval, Answer(allow=True, arguments={"path": "c"})
        )
        assert "c is forbidden" in ann.ear.notices[-1]
        assert ann.person.approvals.answer(approval, Answer(allow=True, arguments={"path": "d"}))
        await ann.until(lambda: ("other", "d") in ann.runner.done)
        assert ("other", "c") in ann.runner.done[:3]  # before it was forbidden
        assert ann.runner.done.count(("other", "c")) == 1


async def test_broken_policy_asks_person(
    tmp_path: Path,
) -> None:
    rules = Rules()
    async with desk(tmp_path, rules) as (ann, _):
        await ann.run("edit a", Answer(allow=True, scope="session", covers="*"))
        rules.effects = {"edit": "raise"}
        ann.person.engine.set_auto(on=True)
        await ann.run("edit a", Answer(allow=False))
        assert ann.asked[-1].because.startswith(NO_POLICY_RESULT)
        assert len(ann.runner.done) == 1


async def test_only_grant_exceeds_budget(tmp_path: Path) -> None:
    async with desk(tmp_path, Rules(**{EXCEED_BUDGET: "allow"})) as (ann, _):
        ann.person.engine.set_auto(on=True)
        await ann.run(f"{EXCEED_BUDGET} a", Answer(allow=True, scope="session", covers="*"))
        await ann.run(f"{EXCEED_BUDGET} b")
        assert [s.how for s in ann.settled] == ["", "grant"]


@pytest.mark.parametrize("tool", [ANSWER_SERVER, SAMPLE_MODEL])
async def test_person_answers_server_unlogged(tmp_path: Path, tool: str) -> None:
    async with desk(tmp_path, Rules(**{tool: "allow"})) as (ann, live):
        ann.person.engine.set_auto(on=True)
        answer = Answer(allow=True, scope="session", covers="*", arguments={"path": "my answer"})
        await ann.run(f"{tool} question", answer)
        await ann.run(f"{tool} question", Answer(allow=False))
        assert [s.how for s in ann.settled] == ["edit", ""]
        assert ann.runner.done == [(tool, "my answer")]
        said = [each.body for each in live.sink.events if not isinstance(each.body, MessagePosted)]
        assert "my answer" not in repr(said)
        requests = [each for each in said if isinstance(each, ApprovalRequested)]
        assert [(each.arguments, each.withheld, each.source) for each in requests] == [
            ({}, True, "")
        ] * 2


async def test_server_request_expires_unparked(tmp_path: Path) -> None:
    events = await parked(tmp_path, f"{ANSWER_SERVER} question")
    assert [each.body.outcome for each in events if isinstance(each.body, ApprovalResolved)] == [
        "expired"
    ]


# -- grants


async def test_grants_are_counted_listed_and_revoked(tmp_path: Path) -> None:
    async with desk(tmp_path, Rules()) as (ann, _):
        assert grants_of(ann) == []
        await ann.run("edit a", Answer(allow=True, scope="times", count=3, covers="*"))
        (grant,) = grants_of(ann)
        assert (grant.person, grant.agent, grant.tool, grant.left) == ("ann", "system", "edit", 2)
        assert grant.last_used is None
        await ann.run("edit b;edit c;edit d", Answer(allow=True))
        assert [(s.how, s.scope, s.count) for s in ann.settled] == [
            ("", "times", 3),
            ("grant", "once", 0),
            ("grant", "once", 0),
            ("", "once", 0),
        ]
        assert grants_of(ann) == []
        await ann.run("edit e", Answer(allow=True, scope="minutes", count=10, covers="*"))
        await ann.run("edit f")
        (grant,) = grants_of(ann)
        assert grant.until is not None
        assert grant.last_used is not None
        assert ann.person.approvals.grants.revoke(grant.id)
        assert not ann.person.approvals.grants.revoke(grant.id)
        await ann.run("edit g", Answer(allow=False))
        assert ann.settled[-1].outcome == "denied"


# -- auto mode


async def test_auto_mode_covers_own_messages(tmp_path: Path) -> None:
    async with desk(tmp_path, Rules()) as (ann, live):
        cleo, _ = await live.joined("cleo", None)
        assert ann.person.engine.set_auto(on=True)
        assert is_auto(ann)
        await ann.run("edit a")
        assert (ann.settled[-1].how, ann.settled[-1].reason) == ("auto", "auto mode")
        cleo.messages.send("edit b")
        approval = await ann.waiting()
        assert ann.person.approvals.answer(approval, Answer(allow=False))
        await ann.until(lambda: len(ann.ended) == 2)
        await ann.person.leave()
        assert not is_auto(ann)
        assert not ann.ear.engines[-1].auto
        assert ("edit", "b") not in ann.runner.done


async def test_auto_mode_without_an_engine_is_none(tmp_path: Path) -> None:
    async with desk(tmp_path) as (_, live):
        cleo, _ = await live.joined("cleo", None)
        assert not cleo.engine.set_auto(on=True)
        assert not cleo.engine.status.auto


# -- stopping


async def test_a_denial_can_stop_the_run(tmp_path: Path) -> None:
    async with desk(tmp_path, Rules()) as (ann, _):
        await ann.run("edit a;edit b", Answer(allow=False, reason="enough", stop=True))
        assert [(s.outcome, s.reason) for s in ann.settled] == [("denied", "enough")]
        (end,) = ann.ended
        assert isinstance(end, RunCancelled)
        assert end.reason == "stopped by ann"
        assert ann.runner.done == []
        await ann.run("edit c", Answer(allow=True, stop=True))  # what is allowed stops nothing
        assert ann.runner.done == [("edit", "c")]


async def test_a_run_is_stopped_from_another_terminal(tmp_path: Path) -> None:
    async with opened() as live:
        runner = Runner()
        connector = await _by_socket(live)
        _, _ = await live.joined(
            "ben", loader(tmp_path, run=runner), connector=connector, device="desk"
        )
        couch, ear = await live.joined("ben", None, connector=connector, device="couch")
        couch.messages.send("edit a;edit b")
        await ear.until(lambda: couch.state.pending_for("ben"))
        (first,) = couch.state.pending_for("ben")
        assert couch.approvals.schema(first.id) is None
        assert couch.approvals.answer(
            first.id, Answer(allow=True, scope="times", count=2, covers="*")
        )
        await ear.until(lambda: not couch.state.running)
        assert runner.done == [("edit", "a"), ("edit", "b")]
        couch.messages.send("edit c;edit d")
        await ear.until(lambda: couch.state.pending_for("ben"))
        (second,) = couch.state.pending_for("ben")
        assert couch.approvals.answer(second.id, Answer(allow=False, stop=True))
        await ear.until(lambda: not couch.state.running)
        assert any(isinstance(e.body, RunCancelled) for e in ear.events)
        settled = [e.body for e in ear.events if isinstance(e.body, ApprovalResolved)]
        assert [(s.scope, s.count) for s in settled] == [("times", 2), ("once", 0), ("once", 0)]


async def _by_socket(live: LiveRoom) -> Any:
    from genie_core.room.transport.websocket import ws_connector

    return ws_connector(str(await live.server.listen(port=0)))


# -- edits and schemas


async def test_edited_call_runs_and_is_recorded(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    async with desk(tmp_path, Rules(), schema=schema) as (ann, _):
        ann.person.messages.send("edit a")
        approval = await ann.waiting()
        assert ann.person.approvals.schema(approval) == schema
        assert ann.person.approvals.answer(approval, Answer(allow=True, arguments={"path": "z"}))
        await ann.until(lambda: ann.ended)
        assert ann.runner.done == [("edit", "z")]
        (settled,) = ann.settled
        assert (settled.how, settled.arguments) == ("edit", {"path": "z"})
        assert ann.person.state.calls[approval].edited == {"path": "z"}
        assert ann.person.approvals.schema(approval) is None


async def test_edit_of_guest_call_stays_local(tmp_path: Path) -> None:
    async with desk(tmp_path, Rules()) as (ann, live):
        cleo, _ = await live.joined("cleo", None)
        cleo.messages.send("edit a")
        answer = Answer(allow=True, arguments={"path": "z"})
        assert ann.person.approvals.answer(await ann.waiting(), answer)
        await ann.until(lambda: ann.ended)
        assert ann.runner.done == [("edit", "z")]
        (settled,) = [e.body for e in live.sink.events if isinstance(e.body, ApprovalResolved)]
        assert (settled.how, settled.arguments) == ("edit", None)


# -- after a pause


async def parked(folder: Path, text: str, schema: dict[str, Any] | None = None) -> list[Event]:
    """The log of a room that was suspended while a call waited."""
    async with desk(folder, Rules(), schema=schema) as (ann, live):
        ann.person.messages.send(text)
        await ann.waiting()
        await ann.person.leave()
        return live.sink.events


@pytest.mark.parametrize("edited", [None, {"path": "z"}])
async def test_call_allowed_later_runs_once(tmp_path: Path, edited: dict[str, Any] | None) -> None:
    events = await parked(tmp_path, "edit a")
    async with desk(tmp_path, Rules(), events=events) as (ann, _):
        (request,) = ann.person.state.parked_for("ann")
        assert ann.person.approvals.answer(request.id, Answer(allow=True, arguments=edited))
        await ann.until(lambda: any(isinstance(end, AnswerPosted) for end in ann.ended))
        assert ann.runner.done == [("edit", "z" if edited else "a")]
        asked = ann.asked[-1]
        assert asked.unasked
        last = ann.settled[-1]
        assert (last.how, last.arguments) == ("edit" if edited else "grant", edited)


async def test_changed_tool_refuses_parked_call(tmp_path: Path) -> None:
    events = await parked(tmp_path, "edit a", {"type": "object"})
    changed = {"type": "object", "properties": {"force": {"type": "boolean"}}}
    async with desk(tmp_path, Rules(), events=events, schema=changed) as (ann, _):
        (request,) = ann.person.state.parked_for("ann")
        assert ann.person.approvals.answer(request.id, Answer(allow=True))
        await ann.until(lambda: ann.runner.refused)
        assert ann.runner.refused == [CHANGED]
        assert ann.runner.done == []


async def test_a_rule_that_was_made_in_the_pause_holds(tmp_path: Path) -> None:
    events = await parked(tmp_path, "edit a")
    rules = Rules(edit="deny", z="deny")
    async with desk(tmp_path, rules, events=events) as (ann, _):
        (request,) = ann.person.state.parked_for("ann")
        changed = Answer(allow=True, arguments={"path": "z"})
        assert not ann.person.approvals.answer(request.id, changed)
        assert ann.person.approvals.answer(request.id, Answer(allow=True))
        await ann.until(lambda: ann.runner.refused)
        assert (ann.runner.done, ann.runner.refused) == ([], ["edit is forbidden"])


async def test_final_denial_ends_parked_calls(tmp_path: Path) -> None:
    events = await parked(tmp_path, "edit a")
    async with desk(tmp_path, Rules(), events=events) as (ann, _):
        (request,) = ann.person.state.parked_for("ann")
        assert ann.person.approvals.answer(request.id, Answer(allow=False, stop=True))
        await ann.until(lambda: not ann.person.state.parked)
        assert ann.runner.done == []


# -- after the program was gone


def asked(message: int, approval: str) -> ApprovalRequested:
    return ApprovalRequested(message, approval, "main", "edit", {"path": approval}, "")


@pytest.mark.parametrize(
    ("unrecorded", "told"),
    [
        ([], ["ApprovalResolved x parked", "RunFailed"]),
        ([ApprovalResolved(4, "x", "approved")], ["RunFailed"]),
        (
            [ApprovalResolved(4, "x", "approved"), asked(4, "y")],
            ["ApprovalResolved y parked", "RunFailed"],
        ),
        ([ApprovalResolved(4, "x", "approved"), AnswerPosted(4, "done", "ann", 1.0)], []),
        ([ApprovalResolved(4, "x", "parked"), RunCancelled(4, "ann left")], []),
    ],
)
async def test_only_unknown_ends_are_given_up(unrecorded: list[RunBody], told: list[str]) -> None:
    log = Log.hosted()
    seq = log.add("ann", MessagePosted("m", "edit x", "ann"))
    log.add("ann", DecisionMade(seq, "delegate", "asked for", "edit x", None, 0.5))
    log.add("ann", asked(seq, "x"))
    for body in unrecorded:
        assert body.message == seq
    log.owe(*unrecorded)
    before = len(log.bodies)
    async with working(log, Rules(), run=Runner()):
        assert [described(body) for body in log.bodies[before:]] == told


def described(body: Any) -> str:
    settled = f" {body.approval} {body.outcome}" if isinstance(body, ApprovalResolved) else ""
    return f"{type(body).__name__}{settled}"


# -- what is spent and done


def _usage(tokens: int, model: str = "m") -> Usage:
    return Usage(model, 1, tokens, 1)


async def test_what_each_step_took_is_recorded_with_it(tmp_path: Path) -> None:
    def decide(updates: list[Any]) -> Any:
        spent(_usage(5))
        return delegate_all(updates)

    async def run(input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        spent(_usage(10))
        spent(_usage(20))
        spent(_usage(7, "other"))
        doing("calling", "edit")
        if input.query == "fail":
            raise ValueError("broken")
        if input.query == "wait":
            await callback("edit", {})
        return "done"

    async with opened() as live:
        ann, ear = await live.joined("ann", loader(tmp_path, decide, run))
        for text in ("answer", "fail", "wait"):
            ann.messages.send(text)
        await ear.until(lambda: ann.state.pending_for("ann"))
        ann.engine.stop()
        await ear.until(lambda: not ann.state.running)
        bodies = [e.body for e in ear.events]
        decided = [body.spent for body in bodies if isinstance(body, DecisionMade)]
        assert decided == [(Spending("reasoner", "m", 1, 5, 1),)] * 3
        for kind in (AnswerPosted, RunFailed, RunCancelled):
            (end,) = [body for body in bodies if isinstance(body, kind)]
            assert [(s.agent, s.model, s.requests, s.input_tokens) for s in end.spent] == [
                ("system", "m", 2, 30),
                ("system", "other", 1, 7),
            ]
        assert ("system", "calling", "edit") in [each[1:] for each in ear.progress]
        assert ann.state.costs.of("ann").requests == 12


# -- no way around a denial


class Log(FakeRoom):
    """What is published is recorded at once, unless something is owed to the room."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: RunManager | None = None
        self.bodies: list[Any] = []
        self._changed = asyncio.Event()

    @classmethod
    def hosted(cls) -> "Log":
        """Return the log of a room that ann hosts and in which her engine has joined."""
        log = cls()
        log.add("", RoomCreated("r", "Garden"))
        log.add("", HostStarted("ann"))
        log.add("ann", MemberJoined("host", engine=True))
        return log

    def add(self, by: str, body: AnyBody) -> int:
        event = Event(self.state.head + 1, 1.0, by, body)
        self.state.apply(event)
        self.bodies.append(body)
        if self.runs is not None:
            self.runs.accept(event)
        self._changed.set()
        return event.seq

    def record(self, body: RunBody) -> None:
        msgspec.json.encode(body)
        if self.reports:  # nobody hears it yet
            self.bodies.append(body)
            return
        assert self.state.objection(body, "ann") is None
        self.add("ann", body)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(scaled(60)):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def working(
    log: Log, policy: ApprovalPolicy, run: RunFn, decide: DecideFn = delegate_all
) -> AsyncIterator[Approvals]:
    session = GroupSession("r", reasoner_factory(decide), agent_factory(run))
    runs = RunManager(
        session,
        log.state,
        "ann",
        log.reporter,
        log.approvals,
        log.private,
        policy,
        EngineSite(serves=True),
    )
    async with runs:
        runs.begin((), log.state.head)
        log.runs = runs
        yield log.approvals
        await runs.close(Grace(5.0), "over")
        log.runs = None


async def test_a_backlog_is_answered_as_it_was_left() -> None:
    heard: list[str] = []

    def decide(updates: list[Any]) -> Any:
        heard.extend(each.content for each in updates)
        return delegate_all(updates)

    log = Log.hosted()
    first = log.add("bob", MessagePosted("0", "edit 0", "ann"))
    for number in range(1, MIN_BACKLOG):
        log.add("bob", MessagePosted(str(number), f"edit {number}", "ann"))
    async with working(log, Rules(edit="allow"), run=Runner(), decide=decide):
        log.add("bob", MessageDeleted(first))
        log.add("bob", MessageEdited(first + 1, "edit x"))
        assert log.runs is not None
        assert log.runs.choose("all") == MIN_BACKLOG - 1
        await log.until(lambda: not log.state.running)
    assert "edit 1" not in heard
    assert "edit x" in heard
    assert log.state.threads[first].cancelled == RunCancelled(first, TAKEN_BACK)


async def test_an_edited_command_is_the_one_that_runs() -> None:
    commands: list[str] = []

    async def run(_input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:
        commands.append(owner_command.get())
        return "done"

    log = Log.hosted()
    message = log.add("ann", MessagePosted("0", "genie, /drop", "ann"))
    log.add("ann", MessageEdited(message, "genie, /review"))
    session = GroupSession("r", reasoner_factory(delegate_all), agent_factory(run))
    parts = log.reporter, log.approvals, log.private, Rules(), EngineSite(serves=True)
    async with RunManager(session, log.state, "ann", *parts) as runs:
        log.runs = runs
        runs.begin((), message - 1)  # it came while the engine was loading
        await log.until(lambda: commands)
        await runs.close(Grace(5.0), "over")
    assert commands == ["/review"]


async def test_engine_gets_recovered_change_once() -> None:
    heard: list[str] = []

    def decide(updates: list[Any]) -> Any:
        heard.extend(each.content for each in updates)
        return delegate_all(updates)

    log = Log.hosted()
    log.add("bob", RecoveredEvent(Event(40, 1.0, "cleo", MessagePosted("x", "at noon"))))
    async with working(log, Rules(), run=Runner(), decide=decide):
        change = Event(9_000, 2.0, "cleo", MessageEdited(40, "at one"))
        log.add("bob", RecoveredEvent(change))
        log.add("ann", MessagePosted("m", "edit x", "ann"))
        await log.until(lambda: len(heard) >= 3)
        assert heard == ["at noon", "(changed the message “at noon…” to)\nat one", "edit x"]


answers = st.one_of(
    st.builds(
        Answer,
        st.sampled_from([True, True, False]),
        st.none() | st.just("why"),
        st.sampled_from(["once", "session", "times", "minutes"]),
        st.sampled_from([None, {"path": "bad"}, {"path": "good"}, {"path": "other"}]),
        st.integers(-1, 5),
        st.sampled_from([False, False, True]),
    ),
    st.sampled_from(["auto", "manual", "suspend"]),
)


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            ["edit bad", "edit good", "wipe good", "edit good;edit bad", "edit other;wipe x"]
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(answers, max_size=8),
)
def test_denied_call_never_runs(messages: list[str], some: list[Answer | str]) -> None:
    asyncio.run(_play(messages, some))


async def _play(messages: list[str], some: list[Answer | str]) -> None:
    log, rules, runner = Log(), Rules(wipe="deny", bad="deny"), Runner()
    rest = list(some)
    left = list(messages)
    while left or rest:
        async with working(log, rules, runner) as approvals:
            for number, text in enumerate(left):
                log.add("ann", MessagePosted(f"{log.state.head}-{number}", text, handler="ann"))
            left = []
            suspended = False
            while rest and not suspended:
                await _settled_down(log)
                suspended = _do(log, approvals, rest.pop(0))
            await _settled_down(log)
    assert all("bad" not in path for _, path in runner.done)
    assert all(tool != "wipe" for tool, _ in runner.done)


async def _settled_down(log: Log) -> None:
    """Nothing runs, or a person is waited for: an agent does one thing at a time."""
    await log.until(lambda: not log.state.running or log.state.pending_for("ann"))


def _do(log: Log, approvals: Approvals, what: Answer | str) -> bool:
    if what == "suspend":
        return True
    if isinstance(what, str):
        approvals.auto = what == "auto"
        return False
    for approval in [*log.state.open, *log.state.parked][:1]:
        approvals.answer(approval, what)
    return False


# -- messages from before


def from_before(count: int) -> list[Event]:
    """A room whose host crashed before anything was decided about these messages of two guests."""
    said = [
        Event(
            seq,
            2.0,
            ("gus", "eve")[seq % 2],
            MessagePosted(str(seq), f"look {seq}", "ann", device="d0"),
        )
        for seq in range(5, 5 + count)
    ]
    return [
        Event(1, 1.0, "", RoomCreated("r", "Room")),
        Event(2, 1.0, "", HostStarted("ann")),
        Event(3, 1.0, "gus", MemberJoined("guest")),
        Event(4, 1.0, "eve", MemberJoined("guest")),
        *said,
    ]


async def echo(query: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:
    return query.query


@pytest.mark.parametrize(
    ("choice", "answered"),
    [("all", [*range(5, 25)]), ("latest", [23, 24]), ("none", [])],
)
async def test_large_backlog_waits_for_host(
    tmp_path: Path, choice: BacklogChoice, answered: list[int]
) -> None:
    async with opened(from_before(20)) as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=echo))
        await ear.until(
            lambda: any("20 messages from before the restart" in each for each in ear.notices)
        )
        ann.messages.send("look now")  # what is said now waits for nothing
        await ear.until(lambda: answers_in(ann) == ["look now"])
        assert len(ann.state.running) == 20
        assert ann.engine.status.backlog == 20
        assert ann.engine.choose(choice) == len(answered)
        assert ann.engine.choose(choice) is None
        assert ann.engine.status.backlog == 0
        await ear.until(lambda: not ann.state.running)
        old = [each for each in ann.state.threads.values() if each.author != "ann"]
        assert [each.seq for each in old if each.phase is Phase.ANSWERED] == answered
        left = [each for each in old if each.seq not in answered]
        assert all(each.phase is Phase.CANCELLED for each in left)
        told = [e.body.reason for e in ear.events if isinstance(e.body, RunCancelled)]
        assert len(told) == len(left)
        assert all("ann chose not to have it answered" in each for each in told)


def answers_in(person: JoinedRoom) -> list[str]:
    return [each.answer.text for each in person.state.threads.values() if each.answer]


async def test_small_backlog_fails_after_restart(tmp_path: Path) -> None:
    async with opened(from_before(MIN_BACKLOG - 1)) as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=echo))
        await ear.until(
            lambda: not ann.state.running and ann.engine.status.state is EngineState.READY
        )
        assert {type(each.error) for each in ann.state.threads.values()} == {RunFailed}
        assert ann.engine.choose("all") is None
        assert ear.notices == []


async def test_backlog_delays_no_new_message(tmp_path: Path) -> None:
    count = 11_000  # more than may wait to be reported
    async with opened(from_before(count)) as live:
        ann, ear = await live.joined("ann", loader(tmp_path, run=echo))
        await ear.until(lambda: len(ear.notices) == 1)
        assert ann.engine.choose("none") == 0
        assert len(ann.reports) <= IN_FLIGHT
        ann.messages.send("look now")
        await ear.until(lambda: answers_in(ann) == ["look now"])
        assert len(ann.state.running) > count / 2
        assert len(ear.notices) == 1


class Listener(Runner):
    """Keeps what the owner has given it as a command."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[str] = []

    async def __call__(
        self,
        input: AgentInput,  # noqa: A002 - as in Agent.run
        callback: ApprovalCallback,
        _emit: Emit,
    ) -> str:
        self.commands.append(owner_command.get())
        return "done"


async def test_only_owner_text_is_agent_command(tmp_path: Path) -> None:
    listener = Listener()
    async with desk(tmp_path, runner=listener) as (ann, live):
        said = ["@genie /review a\nb ", "Genie, /init", "hi @genie /no", "/no", "genie is /no"]
        for text in said:
            await ann.run(text)
        ann.person.messages.send(
            "@genie /mode yolo", quotes=[mark_of_source("the command file .agents/commands/x.md")]
        )
        await ann.until(lambda: len(ann.ended) == len(said) + 1)
        bob, _ = await live.joined("bob", None)
        bob.messages.send("@genie /logout")
        await ann.until(lambda: len(ann.ended) == len(said) + 2)
        assert listener.commands == ["/review a\nb", "/init", "", "", "", "", ""]
