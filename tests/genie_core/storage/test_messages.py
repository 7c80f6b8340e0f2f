import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.limits import scaled

from genie_core.datastore import DataStore
from genie_core.errors import StateError
from genie_core.message import Message
from genie_core.storage.legacy import is_plain
from genie_core.storage.messages import MessageLog, load_messages


async def opened(path: Path) -> MessageLog:
    conversation = MessageLog(DataStore(path))
    async with asyncio.timeout(scaled(60)):
        await conversation.opened()
    return conversation


async def test_messages_follow_restored_ones(tmp_path: Path) -> None:
    first = await opened(tmp_path)
    for number in range(3):
        await first.add(Message(str(number), "alice", request_id=f"r{number}"))
    second = await opened(tmp_path)
    assert second.restored == 3
    assert second.request_ids == {"r0", "r1", "r2"}
    await second.add(Message("3", "bob"))
    assert [each["content"] for each in json.loads(await second.to_json())] == ["0", "1", "2", "3"]


async def test_what_waits_for_opening_keeps_its_order(tmp_path: Path) -> None:
    await (await opened(tmp_path)).add(Message("0", "alice"))
    conversation = MessageLog(DataStore(tmp_path))
    for number in (1, 2):
        conversation.when_open(
            lambda number=number: conversation.add(Message(str(number), "alice"))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        )
    assert conversation.messages == []
    await conversation.opened()
    assert [message.content for message in conversation.messages] == ["0", "1", "2"]


async def test_senseless_message_is_left_out(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    await store.append("session", [{"content": "a", "sender": "alice"}, {"sender": "bob"}, 3])
    conversation = MessageLog(store)
    await conversation.opened()
    assert [message.content for message in conversation.messages] == ["a"]
    (problem,) = store.problems
    assert problem.startswith("2 saved messages were left out, first number 2")


async def test_unreadable_file_opens_empty(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").mkdir()
    store = DataStore(tmp_path)
    conversation = MessageLog(store)
    await conversation.opened()
    assert conversation.messages == []
    assert len(store.problems) == 1


@pytest.mark.parametrize(
    "state",
    [
        {"messages": 5},
        {"messages": None},
        {},
        3,
        None,
        {"messages": [{"content": 1, "sender": "alice"}, {"content": "a", "sender": None}]},
        {"messages": [{"content": "a", "sender": "alice", "threads": ["x"]}]},
        [{"content": "a", "sender": "alice", "attachments": 7}],
    ],
)
async def test_any_state_file_opens(tmp_path: Path, state: Any) -> None:
    store = DataStore(tmp_path)
    await store.save("session", state)
    conversation = MessageLog(store)
    done: list[str] = []
    conversation.when_open(lambda: done.append("began"))
    async with asyncio.timeout(scaled(60)):
        await conversation.opened()
    assert done == ["began"]
    assert conversation.messages == []
    assert len(store.problems) == 1


async def test_any_load_failure_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_key: str) -> None:
        raise MemoryError("too much")

    store = DataStore(tmp_path)
    monkeypatch.setattr(store, "load_lines", broken)
    conversation = MessageLog(store)
    done: list[str] = []
    conversation.when_open(lambda: done.append("began"))
    await conversation.opened()
    assert done == ["began"]
    assert store.problems == ["the saved messages can't be read: MemoryError: too much"]


async def test_loading_that_is_killed_begins_anew(tmp_path: Path) -> None:
    await (await opened(tmp_path)).add(Message("old", "alice"))
    conversation = MessageLog(DataStore(tmp_path))
    done: list[str] = []
    before = asyncio.all_tasks()
    conversation.when_open(lambda: done.append("first"))
    (loading,) = asyncio.all_tasks() - before
    loading.cancel()
    await asyncio.wait({loading})
    conversation.when_open(lambda: done.append("second"))
    async with asyncio.timeout(scaled(60)):
        await conversation.opened()
    assert done == ["first", "second"]
    assert [message.content for message in conversation.messages] == ["old"]


async def test_raising_action_blocks_no_later_one(tmp_path: Path) -> None:
    def broken() -> None:
        raise RuntimeError("not my day")

    conversation = MessageLog(DataStore(tmp_path))
    done: list[int] = []
    for action in (lambda: done.append(1), broken, lambda: done.append(2)):
        conversation.when_open(action)
    await conversation.opened()
    assert done == [1, 2]


async def test_remembered_excludes_new_messages(tmp_path: Path) -> None:
    await (await opened(tmp_path)).add(Message("old", "alice"))
    conversation = MessageLog(DataStore(tmp_path))
    conversation.when_open(lambda: conversation.add(Message("new", "alice")))
    assert [message.content for message in await conversation.remembered()] == ["old"]


async def test_loop_turns_during_long_load(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    many = [Message(f"message number {n}", "alice", request_id=str(n)) for n in range(30_000)]
    await store.append("session", [each.serialize() for each in many])
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    conversation = MessageLog(store)
    turning = asyncio.create_task(turn())
    await conversation.opened()
    after_opening = turns
    assert json.loads(await conversation.to_json()) == [each.serialize() for each in many]
    turning.cancel()
    assert after_opening > 10
    assert turns - after_opening > 10


async def test_closed_store_fails_only_future(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    conversation = MessageLog(store)
    await conversation.opened()
    store.close()
    with pytest.raises(StateError, match="closed"):
        await conversation.add(Message("hi", "alice"))
    assert len(conversation.messages) == 1


async def test_a_store_without_messages_has_none(tmp_path: Path) -> None:
    assert await load_messages(DataStore(tmp_path)) is None


async def test_only_session_is_found_from_above(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    await store.narrowed("one").append("session", [Message("a", "alice").serialize()])
    await store.narrowed("one", "alice").save("system", {})
    for place in (store, store.narrowed("one")):
        assert await load_messages(place) == [Message("a", "alice")]


async def test_several_sessions_need_name(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    for name in ("one", "two"):
        await store.narrowed(name).append("session", [Message(name, "alice").serialize()])
    assert await load_messages(store) is None
    assert "2 sessions" in store.problems[0]
    assert await load_messages(store.narrowed("two")) == [Message("two", "alice")]


@pytest.mark.parametrize(
    "strange",
    [
        {"request_id": ["r"]},
        {"receiver": 7},
        {"attachments": [{"path": 1, "name": "a", "media_type": "text/plain"}]},
        {"threads": [{"id": "t", "messages": [{"content": "hi", "sender": None}]}]},
    ],
    ids=str,
)
async def test_wrong_field_costs_one_message(tmp_path: Path, strange: dict[str, Any]) -> None:
    hello = {"content": "hello", "sender": "alice"}
    store = DataStore(tmp_path)
    await store.append("session", [hello, {**hello, **strange}, {**hello, "request_id": "r"}])
    conversation = await opened(tmp_path)
    assert [message.request_id for message in conversation.messages] == [None, "r"]
    assert json.loads(await conversation.to_json())


async def test_overlong_names_are_no_problem(tmp_path: Path) -> None:
    name = "x" * 300
    session = DataStore(tmp_path).narrowed(name)
    await MessageLog(session).opened()
    session.root_path.mkdir()
    lines = [{"content": "hi", "sender": sender} for sender in ("alice", name)]
    saved = session.root_path / "session.jsonl"
    saved.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (session.root_path / "alice").mkdir()
    (session.root_path / "alice" / "reasoner.json").write_text("{}")
    await MessageLog(session).opened()
    assert session.problems == []
    assert is_plain(saved.with_name("session.jsonl.group-genie"))
    assert not is_plain(saved)


def test_refused_action_is_not_done_later(tmp_path: Path) -> None:
    conversation = MessageLog(DataStore(tmp_path))
    with pytest.raises(RuntimeError):
        conversation.when_open(lambda: conversation.add(Message("hi", "alice")))
    asyncio.run(conversation.opened())
    assert conversation.messages == []
