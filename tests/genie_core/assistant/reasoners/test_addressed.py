import json
from typing import Any

import pytest

from genie_core.agent import AgentInput
from genie_core.assistant.reasoners.addressed import AddressedReasoner
from genie_core.message import Attachment, Message
from genie_core.reasoner import Decision, GroupReasoner, GroupReasonerFactory, Response
from genie_core.session import GroupSession
from genie_core.text.query import (
    MAX_CONTEXT_CHARS,
    MAX_CONTEXT_MESSAGES,
    question_in,
)
from genie_testing import agent_factory


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
    """Saves line by line, as group-sense does: only what the last run brought."""

    def __init__(self) -> None:
        super().__init__()
        self.news: list[Any] = []

    def get_new_messages(self) -> list[Any]:
        news, self.news = self.news, []
        return news

    def set_serialized(self, serialized: Any) -> None:
        self._processed = serialized[-1]["processed"]
        self.shown = [line["shown"] for line in serialized]

    async def run(self, updates: list[Message]) -> Response:
        response = await super().run(updates)
        self.news = [{"shown": self.shown[-1], "processed": self._processed}]
        return response


async def feed(reasoner: GroupReasoner, *chat: Message) -> list[Response]:
    """Hand over each message the way the engine does: all since the processed ones."""
    return [await reasoner.run(list(chat[reasoner.processed : n])) for n in range(1, len(chat) + 1)]


@pytest.mark.parametrize("name", ["genie", "Genie", "system"])
async def test_mention_skips_inner_reasoner(name: str) -> None:
    reasoner = AddressedReasoner(Recorder(fails=True))
    response = await reasoner.run([Message(f"@{name} what is 12*7?", "alice")])
    assert response.decision is Decision.DELEGATE
    assert response.receiver == "alice"
    assert response.reason == f"addressed with @{name.lower()}"
    assert response.query is not None
    assert question_in(response.query) == "what is 12*7?"
    assert response.query.startswith("alice asks:")


async def test_message_to_assistant_is_delegated() -> None:
    reasoner = AddressedReasoner(Recorder(fails=True))
    response = await reasoner.run([Message("hello", "alice", receiver="system")])
    assert response.decision is Decision.DELEGATE


async def test_inner_reasoner_decides_rest() -> None:
    inner = Recorder()
    [response] = await feed(AddressedReasoner(inner), Message("hi all", "alice"))
    assert response.reason == "recorded"
    assert inner.shown == [["hi all"]]


async def test_inner_reasoner_sees_bypassed() -> None:
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
    assert response.query.count("message ") == MAX_CONTEXT_MESSAGES


async def test_an_empty_mention_asks_what_it_can_do() -> None:
    response = await AddressedReasoner(None).run([Message("@genie", "alice")])
    assert response.query is not None
    assert question_in(response.query) == "What can you do?"


async def test_alone_ignores_with_reason() -> None:
    reasoner = AddressedReasoner(None)
    responses = await feed(reasoner, Message("what is 2+2?", "bob"), Message("hm", "bob"))
    assert [response.decision for response in responses] == [Decision.IGNORE] * 2
    assert responses[0].reason == "only answers when addressed with @genie"
    assert reasoner.processed == 2


async def test_inner_failure_keeps_count() -> None:
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


async def test_bypassed_message_is_counted() -> None:
    reasoner = AddressedReasoner(Recorder())
    for number in range(1, 4):
        await reasoner.run([Message("@genie again", "alice")])
        assert reasoner.processed == number


@pytest.mark.parametrize("length", [1, 1_000, 100_000])
async def test_bypassed_context_is_bounded(length: int) -> None:
    inner = Recorder()
    reasoner = AddressedReasoner(inner)
    for number in range(100):
        await reasoner.run([Message(f"@genie {number} {'x' * length}", "alice")])
    await reasoner.run([Message("well", "alice")])
    (shown,) = inner.shown
    assert shown[-1] == "well"
    assert len(shown) <= MAX_CONTEXT_MESSAGES + 1
    assert sum(map(len, shown)) <= MAX_CONTEXT_CHARS
    assert (length > 1_000) == (len(shown) == 1)


@pytest.mark.parametrize("kind", [Recorder, Journalling])
@pytest.mark.parametrize("pause", range(7))
async def test_restart_neither_loses_nor_repeats(kind: type[Recorder], pause: int) -> None:
    chat = [
        Message(text, "alice", attachments=[Attachment("/a", "a", "text/plain")])
        for text in ("one", "@genie two", "@genie three", "four", "@genie five", "six")
    ]
    inner = kind()
    reasoner = AddressedReasoner(inner)
    lines: list[Any] = []
    shown: list[list[str]] = []
    for number, message in enumerate(chat):
        if number == pause:
            shown += inner.shown if kind is Recorder else []
            inner, before = kind(), reasoner
            reasoner = AddressedReasoner(inner)
            reasoner.set_serialized(lines if kind is Journalling else before.get_serialized())
            assert reasoner.processed == number
        await reasoner.run([message])
        if kind is Journalling:
            lines += json.loads(json.dumps(reasoner.get_new_messages()))
    assert shown + inner.shown == [
        ["one"],
        ["@genie two", "@genie three", "four"],
        ["@genie five", "six"],
    ]


async def test_inner_state_is_adopted() -> None:
    whole = AddressedReasoner(Recorder())
    whole.set_serialized({"mine": 7})
    assert whole.processed == 7
    journal = AddressedReasoner(Journalling())
    journal.set_serialized([{"shown": ["a"], "processed": 1}, {"shown": ["b"], "processed": 2}])
    assert journal.processed == 2
    await journal.run([Message("@genie c", "alice")])
    after = AddressedReasoner(inner := Journalling())
    after.set_serialized([{"shown": ["a", "b"], "processed": 2}, *journal.get_new_messages()])
    assert after.processed == 3
    await after.run([Message("d", "alice")])
    assert inner.shown[-1] == ["@genie c", "d"]


@pytest.mark.parametrize("kind", [Recorder, Journalling])
async def test_alone_it_takes_the_count_from_any_state(kind: type[Recorder]) -> None:
    before = AddressedReasoner(kind())
    await feed(before, Message("one", "bob"), Message("@genie two", "bob"))
    news = getattr(before, "get_new_messages", before.get_serialized)
    alone = AddressedReasoner(None)
    alone.set_serialized(news())
    assert alone.processed == 2


def test_journal_follows_inner_reasoner() -> None:
    assert AddressedReasoner(Journalling()).get_new_messages() == []
    assert not hasattr(AddressedReasoner(Recorder()), "get_new_messages")
    assert not hasattr(AddressedReasoner(None), "get_new_messages")


async def test_attachments_are_handed_over_once() -> None:
    handed: list[list[str]] = []

    async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        handed.append([each.name for each in input.attachments])
        return "ok"

    factory = GroupReasonerFactory(lambda _secrets, _owner: AddressedReasoner(Recorder()))
    chat = GroupSession("s", factory, agent_factory(run))
    for number in range(3):
        file = Attachment("/x", f"f{number}", "text/plain")
        await chat.handle(Message("@genie look", "alice", attachments=[file])).result()
    await chat.join()
    assert handed == [["f0"], ["f1"], ["f2"]]
