"""Failures, and the calls that the documented API has beside its pages."""

import json

import group_sense  # type: ignore[import-untyped]  # it ships no type information
import pytest
from tests.reference.conftest import ToyReasoner, Toys

from genie_core.agent import AgentFactory, AgentInput, ApprovalCallback, Decision
from genie_core.errors import ExecutionFailed, SessionStopped
from genie_core.execution import Execution
from genie_core.message import Message
from genie_core.reasoner import GroupReasoner, GroupReasonerFactory, Response


async def fail(given: AgentInput, callback: ApprovalCallback) -> str:
    raise OSError("no luck")


async def elements(execution: Execution) -> list[object]:
    return [element async for element in execution.stream(errors="message")]


async def test_failure_is_message_from_system(toys: Toys) -> None:
    toys.run = fail
    execution = toys.session().handle(Message("well?", "ann", request_id="r1"))
    decision, message = await elements(execution)
    assert decision is Decision.DELEGATE
    assert isinstance(message, Message)
    assert (message.sender, message.request_id) == ("system", "r1")


async def test_a_failure_is_an_error_by_default(toys: Toys) -> None:
    toys.run = fail
    execution = toys.session().handle(Message("well?", "ann"))
    with pytest.raises(ExecutionFailed, match="no luck"):
        await execution.result()


async def test_a_failed_reasoner_ignores(toys: Toys) -> None:
    class Broken(ToyReasoner):
        async def run(self, updates: list[Message]) -> Response:
            raise OSError("no luck")

    factory = GroupReasonerFactory(lambda secrets, owner: Broken(owner))
    session = toys.session(group_reasoner_factory=factory)
    assert await elements(session.handle(Message("well?", "ann"))) == [Decision.IGNORE]


async def test_a_factory_that_fails_ends_one_execution(toys: Toys) -> None:
    def create(secrets: dict[str, str]) -> None:
        raise LookupError("no key")

    session = toys.session(agent_factory=AgentFactory(create))  # type: ignore[arg-type]  # it makes none
    with pytest.raises(ExecutionFailed, match="no key"):
        await session.handle(Message("well?", "ann")).result()
    assert await session.handle(Message("oh", "ann")).result() is None


async def test_message_to_agent_skips_reasoner(toys: Toys) -> None:
    session = toys.session()
    result = await session.handle(Message("do it", "ann", receiver="system")).result()
    assert result is not None
    assert result.content == "answer to do it"
    assert toys.agents[0].queries == ["do it"]
    assert not any(reasoner.runs for reasoner in toys.reasoners.values())


async def test_decisions_are_those_of_group_sense(toys: Toys) -> None:
    class Sensible(ToyReasoner):
        async def run(self, updates: list[Message]) -> Response:
            answer: Response = group_sense.Response(
                decision=group_sense.Decision.DELEGATE, query="q", receiver="ben"
            )
            return answer

    def create(secrets: dict[str, str], owner: str) -> GroupReasoner:
        return Sensible(owner)

    session = toys.session(group_reasoner_factory=GroupReasonerFactory(create))
    decision, message = await elements(session.handle(Message("well?", "ann")))
    assert isinstance(decision, group_sense.Decision)
    assert decision is group_sense.Decision.DELEGATE
    assert isinstance(message, Message)
    assert message.receiver == "ben"
    assert Decision is group_sense.Decision


async def test_a_session_says_that_it_was_stopped(toys: Toys) -> None:
    session = toys.session()
    before = session.stopped
    session.stop()
    assert (before, session.stopped) == (False, True)
    await session.join()
    with pytest.raises(SessionStopped):
        session.handle(Message("late", "ann"))


async def test_state_that_is_no_json_costs_no_answer(toys: Toys, store: object) -> None:
    session = toys.session(data_store=store)
    await session.handle(Message("one?", "ann")).result()
    toys.agents[0].get_serialized = lambda: object()  # type: ignore[method-assign]
    result = await session.handle(Message("two?", "ann")).result()
    assert result is not None
    assert result.content == "answer to query: two?"
    assert len(json.loads(await session.get_group_chat_messages())) == 4
