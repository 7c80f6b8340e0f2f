"""Files of older programs, as these wrote them, and what cannot be read at all."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart
from pydantic_ai.models.test import TestModel
from tests.genie_core.agent.provider.pydantic_ai.clients import chat_model, responses_model

from genie_core.agent import AgentInput
from genie_core.agent.provider.pydantic_ai import DefaultAgent, DefaultGroupReasoner
from genie_core.agent.provider.pydantic_ai.history import PydanticHistory
from genie_core.agent.provider.pydantic_ai.saved import from_json, to_json
from genie_core.message import Message
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Say

pytestmark = [pytest.mark.timeout(100), pytest.mark.usefixtures("loopback")]


async def allow(_name: str, _arguments: dict[str, Any]) -> bool:
    return True


def lines(name: str) -> list[Any]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("make", [chat_model, responses_model])
async def test_agent_reads_old_conversation(make: Any) -> None:
    async with FakeOpenAI(Say("Still 3.")) as server:
        agent = DefaultAgent("new prompt", make(server))
        agent.set_serialized(lines("old_agent.jsonl"))
        assert await agent.run(AgentInput("Sure?"), allow) == "Still 3."
        (request,) = server.requests
    shown = "\n".join(request.texts)
    assert shown.index("1 + 2?") < shown.index("It is 3.") < shown.index("Sure?")
    assert [exchange.name for exchange in request.exchanges] == ["add", "add"]
    assert list(request.files) == ["image/png"]
    assert "new prompt" in request.instructions
    assert "You are a helper" not in shown + request.instructions


async def test_old_journal_takes_new_lines() -> None:
    old = lines("old_agent.jsonl")
    async with FakeOpenAI(Say("Still 3.")) as server:
        agent = DefaultAgent("", chat_model(server))
        agent.set_serialized(old)
        await agent.run(AgentInput("Sure?"), allow)
        both = DefaultAgent("", chat_model(server))
        both.set_serialized([*old, *agent.get_new_messages()])
        assert both.get_serialized() == agent.get_serialized()
        assert len(agent.get_serialized()["messages"]) == len(old) + 2


def test_old_files_keep_their_bytes() -> None:
    history = PydanticHistory()
    history.restore(lines("old_agent.jsonl"))
    first = history.messages[0]
    assert isinstance(first, ModelRequest)
    (prompt,) = first.parts
    assert isinstance(prompt, UserPromptPart)
    (file,) = [each for each in prompt.content if isinstance(each, BinaryContent)]
    assert file.data == bytes([0xFB, 0xFF, 0xFE, 0x3E, 0x3F])


@pytest.mark.parametrize("whole", [True, False])
async def test_reasoner_reads_old_state(whole: bool) -> None:
    journal = lines("old_reasoner.jsonl")
    state = {"agent": [m for line in journal for m in line["messages"]], "processed": 2}
    async with FakeOpenAI(Say('{"decision": "ignore"}')) as server:
        model = chat_model(server)
        reasoner = DefaultGroupReasoner("new prompt", model)
        reasoner.set_serialized(state if whole else journal)
        assert reasoner.processed == 2
        await reasoner.run([Message("m2.", "bob")])
        assert reasoner.processed == 3
        both = DefaultGroupReasoner("", model)
        both.set_serialized([*([state] if whole else journal), *reasoner.get_new_messages()])
        assert both.get_serialized() == reasoner.get_serialized()
        (request,) = server.requests
    shown = "\n".join(request.texts)
    assert shown.index("m0.") < shown.index("m1.") < shown.index("m2.")
    assert "You help alice" not in shown + request.instructions


REQUEST: dict[str, Any] = {
    "kind": "request",
    "parts": [{"part_kind": "user-prompt", "content": "hello"}],
}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({**REQUEST, "parts": [{"part_kind": "telepathy", "content": "?"}]}, "'telepathy'"),
        ({"kind": "response", "parts": [{"part_kind": "smell"}]}, "'smell'"),
        ({**REQUEST, "kind": "rumour"}, "'rumour'"),
        ({**REQUEST, "parts": [7]}, "kind 7"),
        ({"kind": "request"}, "no message"),
        ("hello", "no message"),
    ],
)
def test_unknown_message_is_named(message: Any, words: str) -> None:
    with pytest.raises(ValueError, match="message 2 of 2") as refusal:
        from_json([REQUEST, message])
    assert words in str(refusal.value)


def test_unreadable_state_changes_nothing() -> None:
    history = PydanticHistory()
    history.restore([REQUEST])
    before = history.to_state()
    for state in ([{"kind": "rumour"}], [3], {"messages": 3}, 3):
        with pytest.raises(ValueError, match=r"history|message"):
            history.restore(state)
    assert history.to_state() == before


@pytest.mark.parametrize(
    "state",
    [
        {"processed": 1},
        {"agent": [], "processed": None},
        {"agent": [{"kind": "rumour"}], "processed": 1},
        [3],
        3,
    ],
)
def test_a_reasoner_refuses_a_state_that_is_none(state: Any) -> None:
    reasoner = DefaultGroupReasoner("", TestModel())
    with pytest.raises(ValueError, match=r"state|message"):
        reasoner.set_serialized(state)
    assert reasoner.processed == 0


def test_messages_come_back_as_they_were_saved() -> None:
    messages = from_json(lines("old_agent.jsonl"))
    assert from_json(json.loads(json.dumps(to_json(messages)))) == messages
