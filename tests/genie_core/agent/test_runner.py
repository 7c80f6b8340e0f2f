import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import agents
import pydantic_ai
import pytest
from tests.limits import scaled

from genie_core.agent import (
    Agent,
    AgentFactory,
    AgentInfo,
    AgentInput,
    AgentRunner,
    Approval,
    ApprovalCallback,
    ApprovalContext,
    AsyncTool,
)
from genie_core.agent import runner as agent_runner
from genie_core.agent.runner import Query
from genie_core.datastore import DataStore
from genie_core.errors import GenieError, StageFailed, StateError, UnknownAgent
from genie_core.runtime.progress import doing
from genie_core.session import GroupSession
from genie_testing import Emit, RunFn, ScriptedAgent, agent_factory, reasoner_factory

pytestmark = pytest.mark.timeout(100)


def query(text: str, queue: "asyncio.Queue[Approval] | None" = None) -> Query:
    if queue is None:
        return Query(text, ApprovalContext(asyncio.Queue(), auto_approve=True))
    return Query(text, ApprovalContext(queue))


def hierarchy(idle_timeout: float | None = None) -> AgentFactory:
    """A system agent and two kinds of subagents, each of which runs what its query says.

    A query is a path of `name:instance` steps and a last word; the last agent asks for approval
    and answers with the queries that it remembers.
    """

    def create(
        _secrets: dict[str, str], tools: dict[str, AsyncTool], _infos: list[AgentInfo]
    ) -> Agent:
        agent = ScriptedAgent()

        async def run(input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
            step, _, rest = input.query.partition(" ")
            if not rest:
                await callback("recall", {})
                return ",".join([*agent.queries, step])
            name, _, instance = step.partition(":")
            return str(await tools["run_subagent"](rest, name, instance or None))

        agent.script = run
        return agent

    factory = AgentFactory(create)
    factory.add_agent_factory_fn(create, AgentInfo("search", "finds", idle_timeout=idle_timeout))
    factory.add_agent_factory_fn(create, AgentInfo("math", "reckons", idle_timeout=idle_timeout))
    return factory


def system(factory: AgentFactory, store: DataStore | None = None) -> AgentRunner:
    return AgentRunner("system", "system", "alice", factory, store)


def saying(*pieces: str) -> RunFn:
    """Say an answer in pieces."""

    async def run(_input: AgentInput, _callback: ApprovalCallback, emit: Emit) -> str:
        for piece in pieces:
            emit(piece)
        return "".join(pieces)

    return run


def innermost(answer: str) -> Any:
    value: Any = answer
    while isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)["subagent_response"]
    return value


async def test_answer_names_subagent_instance() -> None:
    reply = await system(hierarchy()).submit(query("search hello"))
    answer = json.loads(reply.text)
    assert answer["subagent_name"] == "search"
    assert answer["subagent_response"] == "hello"
    assert len(answer["subagent_instance"]) == 8
    assert int(answer["subagent_instance"], 16) >= 0


async def test_only_same_instance_remembers() -> None:
    runner = system(hierarchy())
    first = json.loads((await runner.submit(query("search one"))).text)
    instance = first["subagent_instance"]
    again = await runner.submit(query(f"search:{instance} two"))
    other = await runner.submit(query("search three"))
    assert innermost(again.text) == "one,two"
    assert innermost(other.text) == "three"


async def test_approvals_show_agent_path() -> None:
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    runner = system(hierarchy())
    senders = []
    for text in ("x", "search:1a x", "search:1a math:2b x"):
        reply = runner.submit(query(text, queue))
        approval = await queue.get()
        senders.append(approval.sender)
        approval.approve()
        await reply
    assert senders == ["system", "search:1a", "search:1a/math:2b"]


async def test_parents_share_no_subagents(tmp_path: Path) -> None:
    for life in range(2):
        store = DataStore(tmp_path)
        runner = system(hierarchy(), store)
        for parent in ("search:1", "search:2", "math:1", "math:1/math", "a"):
            path = f"search:{parent} math:same {life}"
            reply = await runner.submit(query(path))
            assert innermost(reply.text) == ",".join(str(each) for each in range(life + 1))
        runner.stop()
        await runner.join()
        await store.aclose()


async def test_owners_and_agents_have_own_state(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    for owner in ("a/b", "a_b", "..", "A", "a"):
        runner = AgentRunner("system", "system", owner, hierarchy(), store)
        assert (await runner.submit(query("x"))).text == "x"
        runner.stop()
        await runner.join()
    assert not (tmp_path.parent / "system.json").exists()


async def test_model_sees_unknown_subagent() -> None:
    caught: list[Exception] = []

    def create(_secrets: Any, tools: dict[str, AsyncTool], _infos: Any) -> Agent:
        async def run(*_: Any) -> str:
            try:
                await tools["run_subagent"]("q", "nobody")
            except ValueError as error:
                caught.append(error)
            return "survived"

        return ScriptedAgent(run)

    assert (await system(AgentFactory(create)).submit(query("x"))).text == "survived"
    assert isinstance(caught[0], UnknownAgent)


async def test_subagents_run_only_within_a_query() -> None:
    with pytest.raises(GenieError, match="only while"):
        await system(hierarchy()).run_subagent("q", "search")


async def test_text_is_streamed_in_pieces() -> None:
    async def run(_input: AgentInput, _callback: ApprovalCallback, emit: Emit) -> str:
        emit("a")
        emit("b")
        return "ab"

    pieces: list[str] = []
    runner = system(agent_factory(run))
    await runner.submit(Query("q", query("q").approvals, emit=pieces.append))
    assert pieces == ["a", "b"]


class Servers(ScriptedAgent):
    def mcp(self) -> Any:
        raise ConnectionError("no such server")


class Unsaveable(ScriptedAgent):
    def get_serialized(self) -> Any:
        return {**super().get_serialized(), "what": object()}


class Picky(ScriptedAgent):
    def set_serialized(self, state: Any) -> None:
        raise LookupError("old format")


class Silent(ScriptedAgent):
    async def run_streaming(self, *_: Any) -> Any:
        return None


class Broken(ScriptedAgent):
    async def run_streaming(self, *_: Any) -> str:
        raise RuntimeError("out of ideas")


@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        (Servers, "tools"),
        (Picky, "state"),
        (Silent, "agent"),
        (Broken, "agent"),
    ],
)
async def test_fault_names_stage_runner_survives(
    tmp_path: Path, kind: type[ScriptedAgent], stage: str
) -> None:
    store = DataStore(tmp_path)
    await store.narrowed("alice").save("system", {"queries": []})
    kinds: list[type[ScriptedAgent]] = [kind, kind, ScriptedAgent]
    info = AgentInfo("system", "", idle_timeout=0.01)
    runner = AgentRunner(
        "system", "system", "alice", AgentFactory(lambda _: kinds.pop(0)(), info), store
    )
    for _ in range(2):
        with pytest.raises(StageFailed) as caught:
            await runner.submit(query("x"))
        assert caught.value.stage == stage
        await runner.join()
    assert (await runner.submit(query("x"))).text == "echo: x"


async def test_unserialisable_state_keeps_answer(tmp_path: Path) -> None:
    runner = system(AgentFactory(lambda _: Unsaveable()), DataStore(tmp_path))
    reply = await runner.submit(query("x"))
    assert reply.text == "echo: x"
    with pytest.raises(StateError, match=r"system\.json"):
        await reply.saved
    runner.stop()
    await runner.join()


async def test_cancelled_run_saves_progress(tmp_path: Path) -> None:
    started = asyncio.Event()

    class Slow(ScriptedAgent):
        async def run_streaming(self, input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
            self.queries.append(f"{input.query}?")
            started.set()
            await asyncio.Event().wait()
            return "never"

    store = DataStore(tmp_path)
    runner = system(AgentFactory(lambda _: Slow()), store)
    reply = runner.submit(query("x"))
    await started.wait()
    reply.cancel()
    runner.stop()
    await runner.join()
    assert await store.narrowed("alice").load("system") == {"queries": ["x?"]}


async def test_idle_agent_closes_and_remembers(tmp_path: Path) -> None:
    agents: list[ScriptedAgent] = []

    def create(_secrets: dict[str, str]) -> Agent:
        agents.append(ScriptedAgent())
        return agents[-1]

    info = AgentInfo("system", "", idle_timeout=0.01)
    runner = AgentRunner(
        "system", "system", "alice", AgentFactory(create, info), DataStore(tmp_path)
    )
    await runner.submit(query("one"))
    assert [agent.open for agent in agents] == [True]
    await runner.join()
    assert [agent.open for agent in agents] == [False]
    await runner.submit(query("two"))
    assert agents[1].queries == ["one", "two"]


async def test_abandoned_run_keeps_newer_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.runtime.actor.CANCEL_GRACE", 0.02)
    started, may_end = asyncio.Event(), asyncio.Event()

    async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        started.set()
        while input.query == "stubborn" and not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        return "ok"

    store = DataStore(tmp_path)
    runner = system(agent_factory(run), store)
    reply = runner.submit(query("stubborn"))
    await started.wait()
    reply.cancel()
    await (await runner.submit(query("next"))).saved
    (left,) = [task for task in asyncio.all_tasks() if task.get_name().endswith("request")]
    may_end.set()
    await asyncio.wait({left})
    runner.stop()
    await runner.join()
    assert await store.narrowed("alice").load("system") == {"queries": ["next"]}


async def test_saved_idle_subagents_are_released(tmp_path: Path) -> None:
    factory = hierarchy(idle_timeout=0.01)
    store = DataStore(tmp_path)
    runner = system(factory, store)
    first = json.loads((await runner.submit(query("search math:1 one"))).text)["subagent_instance"]
    for number in range(20):
        await runner.submit(query(f"search x{number}"))
        async with asyncio.timeout(scaled(60)):
            while runner.active_subagents:
                await asyncio.sleep(0.01)
        await store.flush()
    assert len(runner.subagents) == 1
    again = await runner.submit(query(f"search:{first} math:1 two"))
    assert innermost(again.text) == "one,two"
    runner.stop()
    await runner.join()


async def test_unsaved_subagents_are_kept() -> None:
    runner = system(hierarchy(idle_timeout=0.01))
    first = json.loads((await runner.submit(query("search one"))).text)["subagent_instance"]
    async with asyncio.timeout(scaled(60)):
        while runner.active_subagents:
            await asyncio.sleep(0.01)
    await runner.submit(query("search two"))
    assert innermost((await runner.submit(query(f"search:{first} three"))).text) == "one,three"


async def test_run_yields_approvals_then_answer() -> None:
    async def run(input: AgentInput, ask: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        first = await ask("first", {"a": 1})
        second = await ask("second", {})
        return f"{input.query} {input.preferences} {bool(first)} {bool(second)}"

    runner = AgentRunner("mine", "system", "alice", agent_factory(run))
    seen: list[Any] = []
    async for element in runner.run(AgentInput("q", preferences="short")):
        seen.append(element)
        if isinstance(element, Approval):
            element.approve() if element.tool_name == "first" else element.deny()
    assert [(each.sender, each.tool_name) for each in seen[:-1]] == [
        ("mine", "first"),
        ("mine", "second"),
    ]
    assert seen[-1] == "q short True False"
    runner.stop()
    await runner.join()


async def test_invoke_uses_callers_context() -> None:
    async def run(input: AgentInput, ask: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        return f"{input.query}: {await ask('tool', {'a': 1})}"

    runner = AgentRunner("mine", "system", "alice", agent_factory(run))
    asked: asyncio.Queue[Approval] = asyncio.Queue()
    answer = runner.invoke(AgentInput("one"), ApprovalContext(asked))
    approval = await asked.get()
    assert approval.sender == "mine"
    approval.deny()
    assert await answer == "one: False"
    allowing = ApprovalContext(asked, auto_approve=True)
    assert await runner.invoke(AgentInput("two"), allowing) == "two: True"
    before = runner.stopped
    runner.stop()
    assert (before, runner.stopped) == (False, True)
    with pytest.raises(RuntimeError, match="has stopped"):
        await runner.invoke(AgentInput("three"), allowing)
    await runner.join()


async def test_cancelled_future_ends_invoked_run() -> None:
    ended = asyncio.Event()

    async def run(input: AgentInput, ask: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        if input.query == "fail":
            raise ValueError("out of ideas")
        try:
            await ask("tool", {})
        finally:
            ended.set()
        return "never"

    runner = AgentRunner("mine", "system", "alice", agent_factory(run))
    asked: asyncio.Queue[Approval] = asyncio.Queue()
    answer = runner.invoke(AgentInput("wait"), ApprovalContext(asked))
    await asked.get()
    answer.cancel()
    async with asyncio.timeout(scaled(60)):
        await ended.wait()
    with pytest.raises(StageFailed, match="out of ideas"):
        await runner.invoke(AgentInput("fail"), ApprovalContext(asked))
    runner.stop()
    await runner.join()


async def test_run_raises_agent_error() -> None:
    runner = system(AgentFactory(lambda _: Broken()))
    with pytest.raises(StageFailed, match="out of ideas"):
        await anext(runner.run(AgentInput("q")))


async def test_closing_the_iterator_cancels_the_run() -> None:
    cancelled = asyncio.Event()

    async def run(_input: AgentInput, ask: ApprovalCallback, _emit: Emit) -> str:
        try:
            await ask("f", {})
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    running = system(agent_factory(run)).run(AgentInput("q"))
    assert isinstance(await anext(running), Approval)
    await running.aclose()
    await cancelled.wait()


def schema_of_pydantic_ai(tool: AsyncTool) -> tuple[str, str | None, dict[str, Any]]:
    made = pydantic_ai.Tool(tool)
    return made.name, made.description, made.function_schema.json_schema


def schema_of_openai_agents(tool: AsyncTool) -> tuple[str, str | None, dict[str, Any]]:
    made = agents.function_tool(tool)
    return made.name, made.description, made.params_json_schema


@pytest.mark.parametrize("schema_of", [schema_of_pydantic_ai, schema_of_openai_agents])
def test_run_subagent_has_tool_schema(schema_of: Any) -> None:
    name, description, schema = schema_of(system(hierarchy()).run_subagent)
    assert name == "run_subagent"
    assert description.startswith("Put a query to another agent")
    assert "Args:" not in description
    properties = schema["properties"]
    assert list(properties) == ["query", "subagent_name", "subagent_instance", "attachments"]
    assert all(each["description"] for each in properties.values())
    assert {"type": "null"} in properties["subagent_instance"]["anyOf"]
    assert properties["attachments"]["items"] == {"$ref": "#/$defs/Attachment"}
    assert list(schema["$defs"]["Attachment"]["properties"]) == ["path", "name", "media_type"]
    assert schema["required"][:2] == ["query", "subagent_name"]


@pytest.mark.parametrize("schema_of", [schema_of_pydantic_ai, schema_of_openai_agents])
def test_group_chat_has_tool_schema(schema_of: Any) -> None:
    session = GroupSession("s", reasoner_factory(), agent_factory())
    name, description, schema = schema_of(session.get_group_chat_messages)
    assert name == "get_group_chat_messages"
    assert "oldest first" in description
    assert schema["properties"] == {}


@pytest.mark.parametrize("stored", [True, False])
async def test_broken_tool_servers_keep_answer(
    tmp_path: Path,
    stored: bool,
) -> None:
    broken = asyncio.Event()

    class Fragile(ScriptedAgent):
        @asynccontextmanager
        async def mcp(self) -> AsyncIterator[ScriptedAgent]:
            async with asyncio.TaskGroup() as group:
                server = group.create_task(self.serve_tools())
                yield self
                server.cancel()

        async def serve_tools(self) -> None:
            await broken.wait()
            broken.clear()
            raise OSError("the server died")

    async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        if input.query == "break":
            name = "agent 'system' of alice: resources"
            (held,) = (each for each in asyncio.all_tasks() if each.get_name() == name)
            broken.set()
            await asyncio.wait({held}, timeout=scaled(60))
        return input.query

    made: list[ScriptedAgent] = []

    def create(_secrets: dict[str, str]) -> Agent:
        made.append(Fragile(run))
        return made[-1]

    runner = system(AgentFactory(create), DataStore(tmp_path) if stored else None)
    assert (await runner.submit(query("break"))).text == "break"
    assert (await runner.submit(query("go on"))).text == "go on"
    assert made[-1].queries == ["break", "go on"]
    assert len(made) == 2
    runner.stop()
    await runner.join()


class Sociable(ScriptedAgent):
    """Answers several queries at a time."""

    runs_side_by_side = True


class Desk:
    """A runner, and what is asked of its agent: to wait for an answer, a tool or itself."""

    def __init__(self, side_by_side: int, kind: type[ScriptedAgent] = Sociable) -> None:
        self.approvals: asyncio.Queue[Approval] = asyncio.Queue()
        self.may_end = asyncio.Event()
        factory = AgentFactory(lambda _secrets: kind(self._run))
        self.runner = AgentRunner("system", "system", "ann", factory, side_by_side=side_by_side)

    def ask(self, text: str) -> "asyncio.Future[Any]":
        return self.runner.submit(query(text, self.approvals))

    async def _run(self, input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        if input.query == "approval":
            await callback("write_file", {})
        elif input.query == "tool":
            doing("calling", "run_command")
            await self.may_end.wait()
        elif input.query == "long":
            await self.may_end.wait()
        return input.query


async def test_waiting_run_blocks_by_default() -> None:
    desk = Desk(1)
    first, second = desk.ask("approval"), desk.ask("quick")
    approval = await desk.approvals.get()
    await asyncio.wait({second}, timeout=0.05)
    assert not second.done()
    approval.approve()
    assert [(await first).text, (await second).text] == ["approval", "quick"]


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["<th", "ink>plan</think>\n\nTea", "."], "Tea."),
        (["Use `<think>`", "."], "Use `<think>`."),
        (["plan</think>", "Tea."], "Tea."),
    ],
)
async def test_answer_comes_without_thoughts(pieces: list[str], shown: str) -> None:
    said: list[str] = []
    runner = system(agent_factory(saying(*pieces)))
    reply = await runner.submit(Query("q", query("q").approvals, emit=said.append))
    assert (reply.text, "".join(said)[-len(shown) :]) == (shown, shown)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("<think>plan</think>", "gave thoughts but no answer"),
        ('Hm.\n<tool_call>{"name": "add"}</tool_call>', "wrote a call of add as text"),
    ],
)
async def test_answer_without_words_is_a_failure(answer: str, told: str) -> None:
    runner = system(agent_factory(saying(answer)))
    with pytest.raises(StageFailed, match=told):
        await runner.submit(query("q"))


async def test_failed_answer_keeps_its_text() -> None:
    async def run(_input: AgentInput, _callback: ApprovalCallback, emit: Emit) -> str:
        emit("Half `an")
        raise ConnectionResetError

    said: list[str] = []
    with pytest.raises(StageFailed):
        await system(agent_factory(run)).submit(Query("q", query("q").approvals, emit=said.append))
    assert "".join(said) == "Half `an"


@pytest.mark.parametrize("waits_for", ["approval", "tool"])
async def test_next_run_passes_waiting_one(waits_for: str) -> None:
    desk = Desk(3)
    first, second = desk.ask(waits_for), desk.ask("quick")
    assert (await second).text == "quick"
    assert not first.done()
    desk.may_end.set()
    if waits_for == "approval":
        (await desk.approvals.get()).deny("no")
    assert (await first).text == waits_for


async def test_next_run_passes_long_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk(2)
    first, second = desk.ask("long"), desk.ask("quick")
    await asyncio.wait({second}, timeout=0.05)
    assert not second.done(), "the first one is not held up by anything"
    desk.may_end.set()
    assert [(await first).text, (await second).text] == ["long", "quick"]
    monkeypatch.setattr(agent_runner, "BESIDE_AFTER", 0.01)
    desk.may_end.clear()
    first, second = desk.ask("long"), desk.ask("quick")
    assert (await second).text == "quick"
    assert not first.done()
    desk.may_end.set()
    await first


async def test_parallel_runs_are_limited() -> None:
    desk, single = Desk(2), Desk(2, ScriptedAgent)
    held = [desk.ask("approval"), desk.ask("approval"), desk.ask("quick")]
    alone = [single.ask("approval"), single.ask("quick")]
    asked = [await desk.approvals.get(), await desk.approvals.get(), await single.approvals.get()]
    await asyncio.wait({held[2], alone[1]}, timeout=0.05)
    assert not held[2].done()
    assert not alone[1].done()
    for approval in asked:
        approval.approve()
    await asyncio.gather(*held, *alone)
