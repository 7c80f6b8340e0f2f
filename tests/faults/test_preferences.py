"""Whose preferences go along with a query, how often they are asked for, and in which order."""

import asyncio
from typing import Any

import pytest
from tests.faults.scene import DEADLINE, joined, last_event, session

from genie_core.agent import AgentInput, Decision
from genie_core.execution import Answered, Failed
from genie_core.message import Message
from genie_core.preferences import PreferencesSource
from genie_core.reasoner import Response

pytestmark = pytest.mark.timeout(100)


class Wishes(PreferencesSource):
    """Tells at once, or only when a test lets it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.held: dict[str, asyncio.Event] = {}
        self.answer: Any = None

    async def get_preferences(self, username: str) -> str | None:
        self.asked.append(username)
        if username in self.held:
            await self.held[username].wait()
        return self.answer or f"as {username} likes it"


class Agents:
    """Remembers, in order, what was put to any agent."""

    def __init__(self) -> None:
        self.inputs: list[AgentInput] = []

    async def __call__(self, input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        self.inputs.append(input)
        return "ok"


def for_whom(updates: list[Message]) -> Response:
    """Delegate for the receiver that the message names, or for nobody."""
    last = updates[-1]
    return Response(Decision.DELEGATE, last.content, last.receiver)


async def test_receiver_preferences_load_once() -> None:
    source, agents = Wishes(), Agents()
    chat = session(agents, for_whom, preferences_source=source)
    execution = chat.handle(Message("hi", "alice", receiver="bob"))
    for _ in range(2):
        assert isinstance(await last_event(execution), Answered)
    assert source.asked == ["bob"]
    assert [each.preferences for each in agents.inputs] == ["as bob likes it"]
    ready = chat.delegate("go on", sender="alice", receiver="carol")
    assert isinstance(await last_event(ready), Answered)
    assert source.asked == ["bob", "carol"]
    await joined(chat)


async def test_without_a_receiver_nobody_is_asked() -> None:
    source, agents = Wishes(), Agents()
    chat = session(agents, for_whom, preferences_source=source)
    assert isinstance(await last_event(chat.handle(Message("hi", "alice"))), Answered)
    assert source.asked == []
    assert agents.inputs[0].preferences is None
    await joined(chat)


async def test_slow_lookup_keeps_query_order() -> None:
    source, agents = Wishes(), Agents()
    source.held["slow"] = asyncio.Event()
    chat = session(agents, for_whom, preferences_source=source)
    executions = [
        chat.handle(Message(receiver, "alice", receiver=receiver))
        for receiver in ("slow", "quick", "quick")
    ]
    assert isinstance(await last_event(chat.handle(Message("b", "bob", "quick"))), Answered)
    source.held["slow"].set()
    for execution in executions:
        assert isinstance(await last_event(execution), Answered)
    assert [each.query for each in agents.inputs] == ["b", "slow", "quick", "quick"]
    await joined(chat)


async def test_cancelled_lookup_frees_next_query() -> None:
    source = Wishes()
    source.held["slow"] = asyncio.Event()
    chat = session(Agents(), for_whom, preferences_source=source)
    stuck = chat.handle(Message("1", "alice", receiver="slow"))
    behind = chat.handle(Message("2", "alice", receiver="quick"))
    async with asyncio.timeout(DEADLINE):
        while source.asked != ["slow", "quick"]:
            await asyncio.sleep(0)
    assert stuck.cancel()
    assert isinstance(await last_event(behind), Answered)
    await joined(chat)


async def test_non_text_fails_with_reason() -> None:
    source = Wishes()
    source.answer = ["short", "friendly"]
    chat = session(Agents(), for_whom, preferences_source=source)
    last = await last_event(chat.handle(Message("hi", "alice", receiver="bob")))
    assert isinstance(last, Failed)
    assert last.stage == "preferences"
    assert last.error == "preferences of bob: are list, not text"
    await joined(chat)
