import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from tests.limits import scaled

from genie_core.agent import AsyncTool
from genie_testing import Play, ScriptedAgent
from genie_testing.contract import AgentContract, Rig
from genie_testing.turns import Turn


class Plain(AgentContract):
    """An agent about whose model nothing is known."""

    @asynccontextmanager
    async def scripted(self, *turns: Turn, tools: Sequence[AsyncTool] = ()) -> AsyncIterator[Rig]:
        play = Play(*turns, tools=tools)
        yield Rig(lambda: ScriptedAgent(play))


class WithoutTools(Plain):
    lacks = {"tools": "it only talks"}  # noqa: RUF012 - what a user would write


class Hurried(Plain):
    patience = 0.05


async def test_lacking_feature_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match="no tools: it only talks"):
        await WithoutTools().test_a_plain_true_approves()
    await WithoutTools().test_a_fresh_agent_has_a_state_to_restore()


def test_unknown_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Misspelt.lacks names \['tool'\]; there are: .*tools"):
        type("Misspelt", (Plain,), {"lacks": {"tool": "it only talks"}})


async def test_what_nobody_can_see_is_skipped() -> None:
    await Plain().test_a_denied_call_does_not_run(streaming=False)
    with pytest.raises(pytest.skip.Exception, match="can't tell"):
        await Plain().test_the_model_is_shown_the_query(streaming=False)


async def test_a_test_that_hangs_fails() -> None:
    with pytest.raises(TimeoutError):
        async with Hurried().opened():
            await asyncio.Event().wait()


def test_the_hook_has_to_be_implemented() -> None:
    with pytest.raises(NotImplementedError, match="scripted"):
        AgentContract().scripted()


def test_no_vendor_library_comes_along() -> None:
    code = (
        "import sys, genie_testing.contract, genie_testing.openai\n"
        "vendors = {'pydantic_ai', 'group_sense', 'agents', 'openai'}\n"
        "sys.exit(', '.join(vendors & sys.modules.keys()) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
