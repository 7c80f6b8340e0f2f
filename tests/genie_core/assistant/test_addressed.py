from typing import Any

import pytest

from genie_core.assistant.addressed import AddressedReasoner
from genie_core.assistant.query import MAX_CONTEXT_MESSAGES, question_in
from genie_core.message import Message
from genie_core.reasoner import Decision, GroupReasoner, Response


class Recorder(GroupReasoner):
    """Remembers what it was shown and ignores it, unless it is told to fail."""

    def __init__(self, *, fails: bool = False) -> None:
        self.shown: list[list[str]] = []
        self.fails = fails
        self._processed = 0

    @property
    def processed(self) -> int:
        return self._processed

    def get_serialized(self) -> Any:
        return {"mine": self._processed}

    def set_serialized(self, serialized: Any) -> None:
        self._processed = serialized["mine"]

    async def run(self, updates: list[Message]) -> Response:
        if self.fails:
            raise AssertionError("the inner reasoner was asked")
        self.shown.append([message.content for message in updates])
        self._processed += len(updates)
        return Response(decision=Decision.IGNORE, reason="recorded")


class Journalling(Recorder):
    def get_new_messages(self) -> list[Any]:
        return ["line"]


async def feed(reasoner: GroupReasoner, *chat: Message) -> list[Response]:
    """Hand over each message the way the engine does: all since the processed ones."""
    return [await reasoner.run(list(chat[reasoner.processed : n])) for n in range(1, len(chat) + 1)]


@pytest.mark.parametrize("name", ["genie", "Genie", "system"])
async def test_a_mention_is_delegated_without_the_inner_reasoner(name: str) -> None:
    reasoner = AddressedReasoner(Recorder(fails=True))
    response = await reasoner.run([Message(f"@{name} what is 12*7?", "alice")])
    assert response.decision is Decision.DELEGATE
    assert response.receiver == "alice"
    assert response.reason == f"addressed with @{name.lower()}"
    assert response.query is not None
    assert question_in(response.query) == "what is 12*7?"
    assert response.query.startswith("alice asks:")


async def test_a_message_sent_to_the_assistant_is_delegated() -> None:
    reasoner = AddressedReasoner(Recorder(fails=True))
    response = await reasoner.run([Message("hello", "alice", receiver="system")])
    assert response.decision is Decision.DELEGATE


async def test_everything_else_is_up_to_the_inner_reasoner() -> None:
    inner = Recorder()
    [response] = await feed(AddressedReasoner(inner), Message("hi all", "alice"))
    assert response.reason == "recorded"
    assert inner.shown == [["hi all"]]


async def test_a_bypassed_message_is_still_shown_to_the_inner_reasoner() -> None:
    inner = Recorder()
    reasoner = AddressedReasoner(inner)
    await feed(
        reasoner,
        Message("one", "alice"),
        Message("@genie two", "alice"),
        Message("three", "alice"),
    )
    assert inner.shown == [["one"], ["@genie two", "three"]]
    assert reasoner.processed == 3


@pytest.mark.parametrize("inner", [None, Recorder()])
async def test_what_was_ignored_goes_along_once(inner: GroupReasoner | None) -> None:
    reasoner = AddressedReasoner(inner)
    *_, first, second = await feed(
        reasoner,
        Message("lunch at noon", "bob"),
        Message("@genie when is lunch?", "alice"),
        Message("@genie and dinner?", "alice"),
    )
    assert first.query is not None
    assert second.query is not None
    assert "lunch at noon" in first.query
    assert "lunch at noon" not in second.query
    assert "when is lunch" not in second.query


async def test_context_is_bounded() -> None:
    chat = [Message(f"message {n}.", "bob") for n in range(200)]
    *_, response = await feed(AddressedReasoner(None), *chat, Message("@genie well?", "alice"))
    assert response.query is not None
    assert response.query.count("message ") == MAX_CONTEXT_MESSAGES - 1


async def test_an_empty_mention_asks_what_it_can_do() -> None:
    response = await AddressedReasoner(None).run([Message("@genie", "alice")])
    assert response.query is not None
    assert question_in(response.query) == "What can you do?"


async def test_alone_it_ignores_without_any_model_and_says_why() -> None:
    reasoner = AddressedReasoner(None)
    responses = await feed(reasoner, Message("what is 2+2?", "bob"), Message("hm", "bob"))
    assert [response.decision for response in responses] == [Decision.IGNORE] * 2
    assert responses[0].reason == "only answers when addressed with @genie"
    assert reasoner.processed == 2


async def test_a_failing_inner_reasoner_leaves_the_count_as_it_was() -> None:
    reasoner = AddressedReasoner(Recorder(fails=True))
    with pytest.raises(AssertionError):
        await reasoner.run([Message("hi", "alice")])
    assert reasoner.processed == 0


async def test_nothing_to_decide_about_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        await AddressedReasoner(None).run([])


async def test_alone_its_count_is_restored() -> None:
    before = AddressedReasoner(None)
    await feed(before, Message("one", "bob"), Message("two", "bob"))
    after = AddressedReasoner(None)
    after.set_serialized(before.get_serialized())
    assert after.processed == 2


async def test_state_is_the_inner_reasoners() -> None:
    reasoner = AddressedReasoner(Recorder())
    reasoner.set_serialized({"mine": 7})
    assert reasoner.processed == 7
    assert reasoner.get_serialized() == {"mine": 7}


def test_it_journals_exactly_if_the_inner_reasoner_does() -> None:
    assert AddressedReasoner(Journalling()).get_new_messages() == ["line"]
    assert not hasattr(AddressedReasoner(Recorder()), "get_new_messages")
    assert not hasattr(AddressedReasoner(None), "get_new_messages")
