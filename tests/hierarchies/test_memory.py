"""Which subagent remembers what, across parents, lives and odd ids."""

import asyncio
import json
from pathlib import Path

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

from genie_core.agent import Approval, ApprovalContext
from genie_core.agent.runner import Query
from genie_core.datastore import DataStore
from genie_core.execution import Answered, Unsaved
from genie_core.message import Message
from genie_core.runtime.actor import POOL_SIZE
from genie_core.session import GroupSession
from genie_testing import ScriptedAgent, reasoner_factory

pytestmark = pytest.mark.timeout(100)

ODD = [
    "..",
    ".",
    "a/b",
    "a_b",
    "a:b",
    "A",
    "a",
    "../../etc",
    "x" * 10_000,
    "x" * 10_001,
    "\n\x1b",
    "é",
]


async def test_instances_return_at_any_depth(tmp_path: Path) -> None:
    for life in ("one", "two"):
        store = DataStore(tmp_path)
        runner = root(tree(search=forward, math=recall), store)
        nested = json.dumps([call(life, "math", "m")])
        (outer,) = await answers(runner, call(nested, "search", "s"))
        (inner,) = json.loads(outer["subagent_response"])
        assert outer["subagent_instance"] == "s"
        assert json.loads(inner)["subagent_response"] == ("one" if life == "one" else "one,two")
        await put_away(runner)
        await store.aclose()


async def test_odd_ids_stay_distinct_in_store(tmp_path: Path) -> None:
    for life in range(2):
        store = DataStore(tmp_path / "store")
        runner = root(tree(search=recall), store)
        said = await answers(runner, *(call(f"{odd}!", "search", odd) for odd in ODD))
        assert [each["subagent_instance"] for each in said] == ODD
        expected = [",".join([f"{odd}!"] * (life + 1)) for odd in ODD]
        assert [each["subagent_response"] for each in said] == expected
        await put_away(runner)
        await store.aclose()
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("blank", [None, "", "  "])
async def test_no_id_is_a_new_subagent(blank: str | None) -> None:
    runner = root(tree(search=recall))
    first, second = await answers(runner, call("x", "search", blank), call("y", "search", blank))
    assert (first["subagent_response"], second["subagent_response"]) == ("x", "y")
    assert first["subagent_instance"] != second["subagent_instance"]
    await put_away(runner)


async def test_odd_ids_give_distinct_senders() -> None:
    runner = root(tree(search=ask_first))
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    reply = runner.submit(
        Query(json.dumps([call("x", "search", odd) for odd in ODD]), ApprovalContext(queue))
    )
    senders = []
    for _ in ODD:
        approval = await next_of(queue)
        senders.append(approval.sender)
        approval.approve()
    await reply
    assert len(set(senders)) == len(ODD)
    assert all(each.isprintable() and "/" not in each and len(each) < 90 for each in senders)
    await put_away(runner)


async def test_excess_idle_subagents_remember(
    tmp_path: Path,
) -> None:
    for store in (None, DataStore(tmp_path)):
        runner = root(tree(search=recall), store)
        for number in range(POOL_SIZE + 8):
            await answers(runner, call("one", "search", str(number)))
            assert len(runner.active_subagents) <= POOL_SIZE + 1
        (again,) = await answers(runner, call("two", "search", "0"))
        assert again["subagent_response"] == "one,two"
        await put_away(runner)


async def test_pool_size_spans_hierarchy(tmp_path: Path) -> None:
    made: list[ScriptedAgent] = []
    runner = root(tree(search=forward, math=recall, made=made), DataStore(tmp_path))
    below = json.dumps([call("x", "math", str(number)) for number in range(POOL_SIZE)])
    for parent in ("a", "b"):
        await answers(runner, call(below, "search", parent))
    await answers(runner, call("[]", "search", "c"))
    async with asyncio.timeout(scaled(60)):
        while sum(agent.open for agent in made) > POOL_SIZE + 1:  # and the system agent
            await asyncio.sleep(0)
    assert len(made) == 2 * POOL_SIZE + 4
    await put_away(runner)


async def test_one_that_works_is_never_put_away(tmp_path: Path) -> None:
    runner = root(tree(search=ask_first), DataStore(tmp_path))
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    calls = [call("x", "search", str(number)) for number in range(2 * POOL_SIZE)]
    reply = runner.submit(Query(json.dumps(calls), ApprovalContext(queue)))
    pending = [await next_of(queue) for _ in calls]
    assert len(runner.active_subagents) == len(calls)
    for approval in pending:
        approval.approve()
    async with asyncio.timeout(scaled(60)):
        said = json.loads((await reply).text)
    assert [json.loads(each)["subagent_response"] for each in said] == ["x"] * len(calls)
    await put_away(runner)


async def test_unsaved_memory_keeps_answer(
    tmp_path: Path,
) -> None:
    async def forget(agent: ScriptedAgent, _tools: Tools, _query: str, _ask: object) -> str:
        agent.queries = [object()]  # type: ignore[list-item]  # no JSON
        return "found"

    store = DataStore(tmp_path)
    chat = GroupSession("s", reasoner_factory(), tree(search=forget), store)
    asked = chat.handle(Message(json.dumps([call("x", "search")]), "alice"))
    recorded = [each async for each in asked.events()]
    last, unsaved = recorded[-1], [each for each in recorded if isinstance(each, Unsaved)]
    assert isinstance(last, Answered)
    assert "found" in last.message.content
    assert len(unsaved) == 1
    assert "search" in unsaved[0].error
    await chat.join()
