"""Sessions whose parts go wrong where a test says so, and what is looked at afterwards."""

import asyncio
from typing import Any

import pytest
from tests.limits import scaled

from genie_core.agent import AgentFactory, AgentInfo, AgentInput, Approval, ApprovalCallback
from genie_core.agent.approval import ask_about
from genie_core.datastore import DataStore
from genie_core.execution import ExecutionEvent
from genie_core.session import Execution, GroupSession
from genie_testing import (
    DecideFn,
    Emit,
    RunFn,
    ScriptedAgent,
    delegate_all,
    echo,
    reasoner_factory,
)

DEADLINE = scaled(60)
"""Seconds after which something that should end is taken to hang."""

VICTIM = "mallory"
"""For whom things go wrong; everybody else must not notice."""


def session(
    run: RunFn = echo,
    decide: DecideFn = delegate_all,
    store: DataStore | None = None,
    idle_timeout: float | None = None,
    **options: Any,
) -> GroupSession:
    info = AgentInfo("system", "", idle_timeout=idle_timeout) if idle_timeout else None
    agents = AgentFactory(lambda _secrets: ScriptedAgent(run), info)
    return GroupSession("s", reasoner_factory(decide, idle_timeout), agents, store, **options)


async def events(execution: Execution) -> list[ExecutionEvent]:
    async with asyncio.timeout(DEADLINE):
        return [event async for event in execution.events()]


async def last_event(execution: Execution) -> ExecutionEvent:
    return (await events(execution))[-1]


async def first_approval(execution: Execution) -> Approval:
    async with asyncio.timeout(DEADLINE):
        async for element in execution.stream():
            if isinstance(element, Approval):
                return element
    raise AssertionError("no approval was asked for")


async def joined(chat: GroupSession) -> None:
    async with asyncio.timeout(DEADLINE):
        await chat.join()


async def asks(input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
    """Ask whether to go on, and tell the answer."""
    verdict = await ask_about(callback, "tool", {"q": input.query})
    return "done" if verdict else f"refused: {verdict.reason}"


class Stubborn:
    """Something that goes on, though it is cancelled, until it is let go."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self._may_end = asyncio.Event()

    async def __call__(self, *_: Any) -> str:
        self.began.set()
        while not self._may_end.is_set():
            try:
                await self._may_end.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    def let_go(self) -> None:
        self._may_end.set()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything that is bounded end soon."""
    monkeypatch.setattr("genie_core.runtime.resource_task.GRACE", 0.05)
    monkeypatch.setattr("genie_core.runtime.resource_task.CLOSE_GRACE", 0.05)
    monkeypatch.setattr("genie_core.runtime.resource_task.CANCEL_GRACE", 0.05)
    monkeypatch.setattr("genie_core.runtime.actor.CANCEL_GRACE", 0.05)
