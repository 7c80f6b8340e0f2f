"""Tools and agents that would end the program end only their run."""

import sys
from typing import Any

import pytest
from tests.faults.scene import events, joined
from tests.genie_core.agent.provider.both import RUNTIMES, bench

from genie_core.agent import AgentFactory
from genie_core.errors import ToolExited
from genie_core.execution import Answered, ApprovalPending, Execution, Failed
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing import agent_factory, reasoner_factory
from genie_testing.turns import Call, Calls, Say

pytestmark = pytest.mark.timeout(100)

ENDINGS = [SystemExit(3), SystemExit(), KeyboardInterrupt()]


async def ended(execution: Execution) -> Any:
    async for event in execution.events():
        if isinstance(event, ApprovalPending):
            event.approval.approve()
    return event


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_a_tool_that_exits_ends_its_run_only(runtime: str) -> None:
    async def leave(code: int) -> str:
        """Leave."""
        sys.exit(code)

    async def interrupt(code: int) -> str:
        """Interrupt."""
        raise KeyboardInterrupt

    calls = (Call("leave", {"code": 3}), Call("interrupt", {"code": 3}))
    turns = (*calls, Calls(*calls, Call("leave", {"code": 0})), Say("Still here."))
    async with bench(runtime, *turns, tools=[leave, interrupt]) as one:
        chat = GroupSession("s", reasoner_factory(), AgentFactory(lambda _: one.agent()))
        for name in ("leave", "interrupt", ""):
            failed = await ended(chat.handle(Message("go", "alice")))
            assert isinstance(failed, Failed)
            assert isinstance(failed.exception, ToolExited)
            assert f"tool '{name}" in failed.error
            assert "tried to end the program" in failed.public
        last = await ended(chat.handle(Message("go", "alice")))
        assert isinstance(last, Answered)
        assert last.message.content == "Still here."
        await joined(chat)


@pytest.mark.parametrize("ending", ENDINGS, ids=repr)
async def test_exit_ends_only_own_execution(
    ending: BaseException,
) -> None:
    def leave(*_: Any) -> Any:
        raise ending

    chat = GroupSession("s", reasoner_factory(), agent_factory(leave))
    other = GroupSession("t", reasoner_factory(leave), agent_factory())
    for session, stage in ((chat, "agent"), (other, "reasoner"), (chat, "agent")):
        (*_, last) = await events(session.handle(Message("go", "alice")))
        assert isinstance(last, Failed)
        assert (last.stage, last.exception) == (stage, ending)
    await joined(chat)
    await joined(other)
