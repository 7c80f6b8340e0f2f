import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from genie_core.conversation import Conversation, check_message, load_messages
from genie_core.datastore import DataStore
from genie_core.errors import InvalidMessage, StateError
from genie_core.message import Message


async def opened(path: Path) -> Conversation:
    conversation = Conversation(DataStore(path))
    async with asyncio.timeout(10):
        await conversation.opened()
    return conversation


async def test_messages_come_back_in_order_after_those_from_before(tmp_path: Path) -> None:
    first = await opened(tmp_path)
    for number in range(3):
        await first.add(Message(str(number), "alice", request_id=f"r{number}"))
    second = await opened(tmp_path)
    assert second.restored == 3
    assert second.request_ids == {"r0", "r1", "r2"}
    await second.add(Message("3", "bob"))
    assert [each["content"] for each in json.loads(second.to_json())] == ["0", "1", "2", "3"]


async def test_what_waits_for_opening_keeps_its_order(tmp_path: Path) -> None:
    await (await opened(tmp_path)).add(Message("0", "alice"))
    conversation = Conversation(DataStore(tmp_path))
    for number in (1, 2):
        conversation.when_open(
            lambda number=number: conversation.add(Message(str(number), "alice"))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        )
    assert conversation.messages == []
    await conversation.opened()
    assert [message.content for message in conversation.messages] == ["0", "1", "2"]


async def test_a_message_that_cannot_be_understood_is_left_out_and_reported(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    await store.append("session", [{"content": "a", "sender": "alice"}, {"sender": "bob"}, 3])
    conversation = Conversation(store)
    await conversation.opened()
    assert [message.content for message in conversation.messages] == ["a"]
    assert len(store.problems) == 2


async def test_an_unreadable_file_leaves_an_empty_conversation(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").mkdir()
    store = DataStore(tmp_path)
    conversation = Conversation(store)
    await conversation.opened()
    assert conversation.messages == []
    assert len(store.problems) == 1


async def test_a_closed_store_fails_the_promise_not_the_caller(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    conversation = Conversation(store)
    await conversation.opened()
    store.close()
    with pytest.raises(StateError, match="closed"):
        await conversation.add(Message("hi", "alice"))
    assert len(conversation.messages) == 1


async def test_a_store_without_messages_has_none(tmp_path: Path) -> None:
    assert await load_messages(DataStore(tmp_path)) is None


@pytest.mark.parametrize(
    "message",
    [
        Message("", "alice"),
        Message(" \n", "alice"),
        Message("hi", ""),
        Message("hi", "  "),
        "hi",
        Message(None, "alice"),  # type: ignore[arg-type]  # the mistake is the test
        Message("hi", 3),  # type: ignore[arg-type]  # the mistake is the test
    ],
)
def test_what_cannot_be_shown_stored_or_answered_is_refused(message: Any) -> None:
    with pytest.raises(InvalidMessage):
        check_message(message)
