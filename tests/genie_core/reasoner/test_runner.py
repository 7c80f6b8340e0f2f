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
from genie_core.testing import ScriptedReasoner, delegate_all, ignore_all, reasoner_factory

pytestmark = pytest.mark.timeout(10)


def chat(count: int) -> list[Message]:
    return [Message(f"m{number}", "alice") for number in range(count)]


async def test_a_reasoner_sees_each_message_once_and_none_beyond_its_own() -> None:
    seen: list[list[str]] = []

    def decide(updates: list[Message]) -> Response:
        seen.append([message.content for message in updates])
        return Response(Decision.IGNORE)

    runner = ReasonerRunner("alice", chat(6), reasoner_factory(decide))
    for position in (1, 4):
        await runner.submit(position)
    assert seen == [["m0", "m1"], ["m2", "m3", "m4"]]


async def test_what_a_failed_run_was_given_is_part_of_the_next_one() -> None:
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
async def test_a_saved_reasoner_behind_or_ahead_of_the_messages_sees_all_new_ones(
    tmp_path: Path, saved: int
) -> None:
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


async def test_memory_survives_being_put_away_also_without_a_store() -> None:
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


async def test_attachments_are_those_seen_since_the_last_delegation() -> None:
    messages = chat(5)
    for number in (0, 1, 3):
        messages[number].attachments.append(Attachment(f"/{number}", str(number), "text/plain"))

    def decide(updates: list[Message]) -> Response:
        return delegate_all(updates) if updates[-1].content in {"m1", "m4"} else ignore_all(updates)

    runner = ReasonerRunner("alice", messages, reasoner_factory(decide))
    names = [[each.name for each in (await runner.submit(n)).attachments] for n in range(5)]
    assert names == [[], ["0", "1"], [], [], ["3"]]


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
        (Response(Decision.DELEGATE), Response(Decision.DELEGATE, "m0")),
    ],
)
async def test_responses_of_other_libraries_are_understood(raw: Any, understood: Response) -> None:
    runner = ReasonerRunner("alice", chat(1), reasoner_factory(lambda _updates: raw))
    assert (await runner.submit(0)).response == understood


@pytest.mark.parametrize("raw", [None, "delegate", SimpleNamespace(decision="perhaps", query="")])
async def test_anything_else_is_a_failure_of_the_reasoner(raw: Any) -> None:
    runner = ReasonerRunner("alice", chat(1), reasoner_factory(lambda _updates: raw))
    with pytest.raises(StageFailed) as caught:
        await runner.submit(0)
    assert caught.value.stage == "reasoner"
