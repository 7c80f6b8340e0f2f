"""A reasoner and its runner without a session."""

import asyncio

import pytest
from tests.reference.conftest import ToyReasoner

from genie_core.datastore import DataStore
from genie_core.message import Message
from genie_core.reasoner import Decision, GroupReasonerFactory, GroupReasonerRunner, Response

HELLO, WHY, OH = Message("hello", "ben"), Message("why?", "ann"), Message("oh", "ann")


class Made:
    """Makes reasoners and keeps them."""

    def __init__(self) -> None:
        self.reasoners: list[ToyReasoner] = []
        self.factory = GroupReasonerFactory(group_reasoner_factory_fn=self._create)

    def _create(self, secrets: dict[str, str], owner: str) -> ToyReasoner:
        self.reasoners.append(ToyReasoner(owner))
        return self.reasoners[-1]

    def runner(self, store: DataStore | None = None) -> GroupReasonerRunner:
        return GroupReasonerRunner(
            key="reasoner:ann",
            owner="ann",
            group_reasoner_factory=self.factory,
            data_store=store,
        )


@pytest.fixture
def made() -> Made:
    return Made()


async def test_a_runner_passes_on_what_is_new(made: Made) -> None:
    runner = made.runner()
    response = await runner.invoke([HELLO, WHY])
    assert response == Response(Decision.DELEGATE, query="query: why?")
    assert (await runner.invoke([HELLO, WHY, OH])).decision is Decision.IGNORE
    assert made.reasoners[0].runs == [[HELLO, WHY], [OH]]
    runner.stop()
    await runner.join()


async def test_invocations_are_served_in_order(made: Made) -> None:
    runner = made.runner()
    responses = await asyncio.gather(runner.invoke([WHY]), runner.invoke([WHY, OH]))
    assert [each.decision for each in responses] == [Decision.DELEGATE, Decision.IGNORE]
    runner.stop()
    await runner.join()


async def test_message_to_agent_needs_no_decision(made: Made) -> None:
    runner = made.runner()
    response = await runner.invoke([HELLO, Message("do it", "ann", receiver="system")])
    assert response == Response(Decision.DELEGATE, query="do it", receiver="ann")
    assert made.reasoners[0].runs == []
    await runner.invoke([HELLO, Message("do it", "ann", receiver="system"), OH])
    assert len(made.reasoners[0].runs[0]) == 3
    runner.stop()
    await runner.join()


async def test_its_state_comes_back(made: Made, store: DataStore) -> None:
    for messages in ([HELLO, WHY], [HELLO, WHY, OH]):
        runner = made.runner(store)
        await runner.invoke(messages)
        runner.stop()
        await runner.join()
    assert made.reasoners[1].runs == [[OH]]
    assert made.reasoners[1].processed == 3


async def test_failed_future_leaves_runner_usable(made: Made) -> None:
    class Broken(ToyReasoner):
        async def run(self, updates: list[Message]) -> Response:
            if updates[-1] == WHY:
                raise OSError("no luck")
            return await super().run(updates)

    factory = GroupReasonerFactory(lambda secrets, owner: Broken(owner))
    runner = GroupReasonerRunner("k", "ann", factory)
    with pytest.raises(Exception, match="no luck"):
        await runner.invoke([WHY])
    assert (await runner.invoke([WHY, OH])).decision is Decision.IGNORE
    runner.stop()
    await runner.join()
    with pytest.raises(Exception, match="stopped"):
        _ = runner.invoke([OH])
