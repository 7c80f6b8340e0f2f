from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from genie_core.datastore import DataStore
from genie_core.errors import StageFailed
from genie_core.message import Attachment, Message
from genie_core.reasoner import Decision, GroupReasonerFactory, Response
from genie_core.reasoner.runner import ReasonerRunner
from genie_testing import ScriptedReasoner, delegate_all, ignore_all, reasoner_factory

pytestmark = pytest.mark.timeout(100)


def chat(count: int) -> list[Message]:
    return [Message(f"m{number}", "alice") for number in range(count)]


async def test_each_message_is_seen_once() -> None:
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([message.content for message in updates])
        return Response(Decision.IGNORE)

    runner = ReasonerRunner("alice", chat(6), reasoner_factory(decide))
    for position in (1, 4):
        await runner.submit(position)
    assert seen == [["m0", "m1"], ["m2", "m3", "m4"]]


async def test_failed_messages_join_next_run() -> None:
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([message.content for message in updates])
        if len(seen) == 1:
            raise ConnectionError("model away")
        return Response(Decision.IGNORE)

    runner = ReasonerRunner("alice", chat(2), reasoner_factory(decide))
    with pytest.raises(StageFailed, match="model away"):
        await runner.submit(0)
    await runner.submit(1)
    assert seen == [["m0"], ["m0", "m1"]]


@pytest.mark.parametrize("saved", [0, 1, 3, 10])
async def test_saved_count_never_skips_new(tmp_path: Path, saved: int) -> None:
    store = DataStore(tmp_path)
    await store.save("reasoner", {"seen": ["?"] * saved})
    seen: list[str] = []

    def decide(updates: list[Message]) -> Response:
        seen.extend(message.content for message in updates)
        return Response(Decision.IGNORE)

    runner = ReasonerRunner("alice", chat(6), reasoner_factory(decide), store, restored=3)
    await runner.submit(4)
    await runner.submit(5)
    assert seen == [f"m{number}" for number in range(min(saved, 3), 6)]


async def test_idle_memory_survives_unsaved() -> None:
    created: list[ScriptedReasoner] = []

    def create(_secrets: dict[str, str], _owner: str) -> ScriptedReasoner:
        created.append(ScriptedReasoner(ignore_all))
        return created[-1]

    runner = ReasonerRunner("alice", chat(2), GroupReasonerFactory(create, 0.01))
    await runner.submit(0)
    await runner.join()
    await runner.submit(1)
    assert len(created) == 2
    assert created[1].seen == ["m0", "m1"]


async def test_attachments_since_delegation_only() -> None:
    messages = chat(5)
    for number in (0, 1, 3):
        messages[number].attachments.append(Attachment(f"/{number}", str(number), "text/plain"))

    def decide(updates: list[Message]) -> Response:
        return delegate_all(updates) if updates[-1].content in {"m1", "m4"} else ignore_all(updates)

    runner = ReasonerRunner("alice", messages, reasoner_factory(decide))
    names = [[each.name for each in (await runner.submit(n)).attachments] for n in range(5)]
    assert names == [[], ["0", "1"], [], [], ["3"]]


class Lagging(ScriptedReasoner):
    """Counts a message as processed only with the next one."""

    @property
    def processed(self) -> int:
        return max(0, len(set(self.seen)) - 1)


async def test_attachments_ignore_reasoner_count() -> None:
    messages = chat(3)
    for number, message in enumerate(messages):
        message.attachments.append(Attachment(f"/{number}", str(number), "text/plain"))
    runner = ReasonerRunner(
        "alice", messages, GroupReasonerFactory(lambda _secrets, _owner: Lagging())
    )
    names = [[each.name for each in (await runner.submit(n)).attachments] for n in range(3)]
    assert names == [["0"], ["1"], ["2"]]


async def test_attachments_survive_restart_once(tmp_path: Path) -> None:
    messages = chat(6)
    for number in (0, 2, 4):
        messages[number].attachments.append(Attachment(f"/{number}", str(number), "text/plain"))

    def decide(updates: list[Message]) -> Response:
        return delegate_all(updates) if updates[-1].content in {"m1", "m5"} else ignore_all(updates)

    names: list[list[str]] = []
    for life in (range(3), range(3, 6)):
        store = DataStore(tmp_path)
        runner = ReasonerRunner(
            "alice", messages, reasoner_factory(decide), store, restored=life.start
        )
        for number in life:
            ruling = await runner.submit(number)
            names.append([each.name for each in ruling.attachments])
        await store.aclose()
    assert names == [[], ["0"], [], [], [], ["2", "4"]]


@pytest.mark.parametrize("saved", [40, -1, "x", None])
async def test_bad_saved_state_keeps_attachments(tmp_path: Path, saved: Any) -> None:
    store = DataStore(tmp_path)
    await store.save("attachments", saved)
    messages = [Message("m", "alice", attachments=[Attachment("/0", "0", "text/plain")])]
    runner = ReasonerRunner("alice", messages, reasoner_factory(), store)
    assert len((await runner.submit(0)).attachments) == 1


async def test_bad_response_still_saves_input(
    tmp_path: Path,
) -> None:
    class Journalling(ScriptedReasoner):
        def get_new_messages(self) -> list[Any]:
            return self.seen[-1:]  # only the last run's, as group-sense does

    answers = iter([None, Response(Decision.IGNORE)])
    store = DataStore(tmp_path)
    runner = ReasonerRunner(
        "alice",
        chat(2),
        GroupReasonerFactory(lambda _secrets, _owner: Journalling(lambda _updates: next(answers))),  # type: ignore[arg-type, return-value]  # one of the answers is the mistake
        store,
    )
    with pytest.raises(StageFailed):
        await runner.submit(0)
    await runner.submit(1)
    assert await store.load_lines("reasoner") == ["m0", "m1"]


class ForeignDecision(Enum):
    DELEGATE = "delegate"


@pytest.mark.parametrize(
    ("raw", "understood"),
    [
        (
            SimpleNamespace(decision=ForeignDecision.DELEGATE, query="q", receiver=""),
            Response(Decision.DELEGATE, "q"),
        ),
        (
            SimpleNamespace(decision="ignore", query=None, receiver=None, reason="why"),
            Response(Decision.IGNORE, reason="why"),
        ),
        (
            Response(Decision.IGNORE, reason="<think>plan</think>why"),
            Response(Decision.IGNORE, reason="why"),
        ),
    ],
)
async def test_foreign_responses_are_read(raw: Any, understood: Response) -> None:
    runner = ReasonerRunner("alice", chat(1), reasoner_factory(lambda _updates: raw))
    assert (await runner.submit(0)).response == understood


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (None, "returned NoneType, not a Response"),
        ("delegate", "returned str, not a Response"),
        (SimpleNamespace(decision="perhaps", query=""), "'perhaps'"),
        (Response(Decision.DELEGATE), "without saying what to ask"),
        (Response(Decision.DELEGATE, query=" \n"), "without saying what to ask"),
        (SimpleNamespace(decision="delegate", query=3, receiver=None), "without saying"),
    ],
)
async def test_other_response_fails_reasoner(raw: Any, told: str) -> None:
    runner = ReasonerRunner("alice", chat(1), reasoner_factory(lambda _updates: raw))
    with pytest.raises(StageFailed) as caught:
        await runner.submit(0)
    assert caught.value.stage == "reasoner"
    assert told in str(caught.value)


@pytest.mark.parametrize("field", ["query", "receiver", "reason"])
async def test_a_response_is_made_of_text(field: str) -> None:
    said = {"decision": Decision.DELEGATE, "query": "q", "receiver": None, "reason": None}
    decision = "ignore" if field == "query" else "delegate"
    raw: Any = SimpleNamespace(**{**said, "decision": decision, field: object()})
    runner = ReasonerRunner("alice", chat(1), reasoner_factory(lambda _: raw))
    with pytest.raises(StageFailed, match=f"gave object as {field}, not text"):
        await runner.submit(0)
