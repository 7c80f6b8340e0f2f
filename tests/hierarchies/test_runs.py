"""What parents and subagents do to each other while they run."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.hierarchies.tree import (
    Tools,
    answers,
    ask_first,
    call,
    forward,
    next_of,
    put_away,
    recall,
    root,
    tree,
)
from tests.limits import scaled

from genie_core.agent import (
    AgentInfo,
    AgentRunner,
    Approval,
    ApprovalCallback,
    ApprovalContext,
    AsyncTool,
)
from genie_core.agent.runner import MOST_ALIKE, Query
from genie_core.datastore import DataStore
from genie_core.errors import AttachmentError, GenieError, UnknownAgent
from genie_core.message import Attachment
from genie_testing import ScriptedAgent

pytestmark = pytest.mark.timeout(100)

FILE = Attachment("/tmp/a.txt", "a.txt", "text/plain")


async def fail(*_: Any) -> str:
    raise ConnectionError("the model is down")


async def say_nothing(*_: Any) -> str:
    return " \n"


@pytest.mark.parametrize(
    ("act", "told"), [(fail, "ConnectionError"), (say_nothing, "empty answer")]
)
async def test_failed_subagent_returns_error(act: Any, told: str) -> None:
    runner = root(tree(search=act, math=recall))
    broken, fine = await answers(runner, call("x", "search", "1"), call("x", "math"))
    assert broken["subagent_response"].startswith("Error: agent 'search:1' of alice")
    assert told in broken["subagent_response"]
    assert "the model is down" not in broken["subagent_response"]  # a model may repeat it to all
    assert broken["subagent_instance"] == "1"
    assert fine["subagent_response"] == "x"
    await put_away(runner)


async def test_unknown_name_creates_nothing() -> None:
    async def try_it(_agent: Any, tools: Tools, _query: str, _ask: Any) -> str:
        with pytest.raises(UnknownAgent, match="search"):
            await tools["run_subagent"]("x", "serach")
        return "survived"

    runner = root(tree(try_it, search=recall))
    reply = await runner.submit(Query("x", ApprovalContext(asyncio.Queue())))
    assert reply.text == "survived"
    assert runner.subagents == []
    with pytest.raises(ValueError, match="nobody"):
        await runner.run_subagent("x", "nobody")
    await put_away(runner)


@pytest.mark.parametrize(
    ("given", "handed"),
    [
        (None, []),
        ([], []),
        ([FILE], [FILE]),
        ([FILE.serialize()], [FILE]),
        ([FILE, {**FILE.serialize(), "size": 3}], [FILE, FILE]),
    ],
)
async def test_attachments_are_objects_or_json(given: Any, handed: Any) -> None:
    seen = await files_handed_on(given)
    assert seen == handed


@pytest.mark.parametrize("given", [[{"path": "/tmp/a.txt"}], ["/tmp/a.txt"], [None]])
async def test_half_described_attachments_are_refused(given: Any) -> None:
    with pytest.raises(AttachmentError, match="media_type"):
        await files_handed_on(given)


async def files_handed_on(given: Any) -> list[Attachment]:
    seen: list[list[Attachment]] = []
    problems: list[Exception] = []

    class Reader(ScriptedAgent):
        async def run_streaming(self, input: Any, *_: Any) -> str:  # noqa: A002 - as in Agent.run
            seen.append(input.attachments)
            return "read"

    async def hand_on(_agent: Any, tools: Tools, _query: str, _ask: Any) -> str:
        try:
            return str(await tools["run_subagent"]("x", "reader", None, given))
        except ValueError as error:
            problems.append(error)
            return "refused"

    factory = tree(hand_on)
    factory.add_agent_factory_fn(lambda _: Reader(), AgentInfo("reader", "reads"))
    runner = root(factory)
    await runner.submit(Query("x", ApprovalContext(asyncio.Queue())))
    await put_away(runner)
    for problem in problems:
        raise problem
    return seen[0]


async def test_one_instance_queues_others_run() -> None:
    running: list[str] = []
    both, may_end = asyncio.Event(), asyncio.Event()

    async def work(agent: ScriptedAgent, tools: Tools, query: str, ask: ApprovalCallback) -> str:
        running.append(query)
        if {"a1", "b1"} <= set(running):
            both.set()
        await may_end.wait()
        return await recall(agent, tools, query, ask)

    runner = root(tree(search=work))
    asked = asyncio.create_task(
        answers(
            runner, call("a1", "search", "a"), call("a2", "search", "a"), call("b1", "search", "b")
        )
    )
    async with asyncio.timeout(scaled(60)):
        await both.wait()
    assert sorted(running) == ["a1", "b1"]
    may_end.set()
    said = [each["subagent_response"] for each in await asked]
    assert said == ["a1", "a1,a2", "b1"]
    await put_away(runner)


async def test_cancel_reaches_pending_depths(
    tmp_path: Path,
) -> None:
    async def note_first(agent: ScriptedAgent, tools: Tools, query: str, ask: Any) -> str:
        agent.queries.append(f"began {query}")
        return await (forward if query.startswith("[") else ask_first)(agent, tools, query, ask)

    store = DataStore(tmp_path)
    runner = root(tree(note_first, search=note_first, math=note_first), store)
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    inner = json.dumps([call("x", "math", "m")])
    outer = json.dumps([call(inner, "search", "s")])
    reply = runner.submit(Query(outer, ApprovalContext(queue)))
    approval = await next_of(queue)
    assert approval.sender == "search:s/math:m"
    reply.cancel()
    async with asyncio.timeout(scaled(60)):
        assert not await approval.approved()
    await put_away(runner)
    below = store.narrowed("alice")
    for keys, key, query in [
        ([], "system", outer),
        (["system"], "search:s", inner),
        (["system", "search:s"], "math:m", "x"),
    ]:
        saved = await below.narrowed(*keys).load(key)
        assert saved == {"queries": [f"began {query}"]}


async def test_parent_survives_abandoned_subagent() -> None:
    async def impatient(_agent: Any, tools: Tools, _query: str, _ask: Any) -> str:
        asked = asyncio.ensure_future(tools["run_subagent"]("x", "search", "s"))
        await given_up.wait()
        asked.cancel()
        return "without it"

    given_up = asyncio.Event()
    runner = root(tree(impatient, search=ask_first))
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    reply = runner.submit(Query("x", ApprovalContext(queue)))
    approval = await next_of(queue)
    given_up.set()
    async with asyncio.timeout(scaled(60)):
        assert (await reply).text == "without it"
        assert not await approval.approved()
    await put_away(runner)


async def test_endless_recursion_is_stopped() -> None:
    depths: list[str] = []

    async def pass_on(_agent: Any, tools: Tools, query: str, ask: Any) -> str:
        depths.append(query)
        other = "math" if len(query) % 2 else "search"
        try:
            answer = json.loads(await tools["run_subagent"](query + ".", other))
        except GenieError as error:
            return str(error)
        return str(answer["subagent_response"])

    runner = root(tree(pass_on, search=pass_on, math=pass_on))
    async with asyncio.timeout(scaled(60)):
        reply = await runner.submit(Query(".", ApprovalContext(asyncio.Queue())))
    assert len(depths) == 1 + 2 * MOST_ALIKE
    assert f"can run no 'math': {MOST_ALIKE} of them wait for an answer already" in reply.text
    await put_away(runner)


async def test_depth_may_equal_number_of_agents(tmp_path: Path) -> None:
    names = [f"level_{number}" for number in range(40)]
    below = dict(zip(["system", *names], names, strict=False))

    def passing_on(name: str) -> Any:
        async def pass_on(agent: Any, tools: Tools, query: str, ask: Any) -> str:
            if name not in below:
                return await recall(agent, tools, query, ask)
            answer = json.loads(await tools["run_subagent"](query, below[name]))
            return str(answer["subagent_response"])

        return pass_on

    factory = tree(passing_on("system"), **{name: passing_on(name) for name in names})
    async with DataStore(tmp_path) as store:
        runner = root(factory, store)
        async with asyncio.timeout(scaled(60)):
            reply = await runner.submit(Query("who?", ApprovalContext(asyncio.Queue())))
            await reply.saved
        assert reply.text == "who?"
        await put_away(runner)
    assert store.problems == []
    assert len(list(tmp_path.rglob("*.json*"))) == 41


async def test_extra_tools_reach_every_depth() -> None:
    async def look(_agent: Any, tools: Tools, query: str, _ask: Any) -> str:
        if query == "look":
            return str(await tools["get_group_chat_messages"]())
        return str(await forward(_agent, tools, query, _ask))

    async def get_group_chat_messages() -> str:
        return "[]"

    extra: dict[str, AsyncTool] = {"get_group_chat_messages": get_group_chat_messages}
    runner = root(tree(look, search=look, math=look), extra_tools=extra)
    (outer,) = await answers(runner, call(json.dumps([call("look", "math")]), "search"))
    assert json.loads(json.loads(outer["subagent_response"])[0])["subagent_response"] == "[]"
    assert set(extra) == {"get_group_chat_messages"}
    await put_away(runner)


async def test_stopped_runner_lets_run_ask_new() -> None:
    known, stopped = asyncio.Event(), asyncio.Event()

    async def ask_late(_agent: Any, tools: Tools, query: str, _ask: Any) -> str:
        await tools["run_subagent"]("early", "search", "known")
        known.set()
        await stopped.wait()
        said = [await tools["run_subagent"](query, "search", which) for which in ("known", "new")]
        return json.dumps([json.loads(each)["subagent_response"] for each in said])

    runner = root(tree(ask_late, search=recall))
    reply = runner.submit(Query("late", ApprovalContext(asyncio.Queue())))
    async with asyncio.timeout(scaled(60)):
        await known.wait()
    runner.stop()
    stopped.set()
    await put_away(runner)
    assert json.loads((await reply).text) == ["early,late", "late"]
    assert runner.active_subagents == []


async def test_ended_run_starts_no_subagents() -> None:
    refused = asyncio.Event()

    async def linger(_agent: Any, tools: Tools, query: str, ask: ApprovalCallback) -> str:
        async def later() -> None:
            await ask("wait for the next query", {})
            with pytest.raises(GenieError, match="only while"):
                await tools["run_subagent"]("x", "search")
            refused.set()

        if query == "first":
            leftovers.append(asyncio.create_task(later()))
        else:
            await refused.wait()
        return "done"

    leftovers: list[asyncio.Task[None]] = []
    runner = root(tree(linger, search=recall))
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    await runner.submit(Query("first", ApprovalContext(queue)))
    second = runner.submit(Query("second", ApprovalContext(asyncio.Queue())))
    (await next_of(queue)).approve()
    async with asyncio.timeout(scaled(60)):
        await asyncio.gather(*leftovers)
        await second
    await put_away(runner)


async def test_root_sender_is_runner_key() -> None:
    runner = AgentRunner("mine", "system", "alice", tree(ask_first))
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    reply = runner.submit(Query("x", ApprovalContext(queue)))
    approval = await next_of(queue)
    assert approval.sender == "mine"
    approval.approve()
    await reply
    await put_away(runner)
