import asyncio

import pytest
from tests.limits import scaled

from genie_core.agent import AgentInput, Approval
from genie_core.message import Message
from genie_core.reasoner import Decision
from genie_core.session import GroupSession
from genie_testing import Play, agent_factory, reasoner_factory
from genie_testing.contract.rig import Approver
from genie_testing.play import Refused
from genie_testing.turns import Call, Refuse, Say

DEADLINE = scaled(60)


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_played_agent_works_in_a_session() -> None:
    play = Play(Call("add", {"a": 1, "b": 2}), Say("It is 3."), tools=[add])
    async with asyncio.timeout(DEADLINE):
        session = GroupSession(
            id="room",
            group_reasoner_factory=reasoner_factory(),
            agent_factory=agent_factory(play),
        )
        seen: list[object] = []
        async for each in session.handle(Message("what is 1 + 2?", "alice")).stream():
            if isinstance(each, Approval):
                each.approve()
            seen.append(each.content if isinstance(each, Message) else type(each))
        session.stop()
        await session.join()
    assert seen == [Decision, Approval, "It is 3."]


async def test_what_there_was_to_see_is_kept() -> None:
    play = Play(Call("add", {"a": 1, "b": 2}), Say("3"), tools=[add])
    await play(AgentInput("go", preferences="be brief"), Approver(), lambda _text: None)
    assert [moment.texts for moment in play.requests] == [
        ["be brief", "go"],
        ["be brief", "go", "3"],
    ]
    await asyncio.wait_for(play.reached(2), DEADLINE)


async def test_query_is_echoed_after_last_turn() -> None:
    heard: list[str] = []
    answer = await Play()(AgentInput("hello there"), Approver(), heard.append)
    assert answer == "".join(heard) == "echo: hello there"


async def test_a_refusal_is_an_error() -> None:
    with pytest.raises(Refused, match="status 429"):
        await Play(Refuse(429))(AgentInput("go"), Approver(), lambda _text: None)
