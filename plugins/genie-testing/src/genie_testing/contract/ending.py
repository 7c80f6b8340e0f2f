"""Runs that end before there is an answer."""
# ruff: noqa: FBT001, S101 - these are tests: their names say it all, flags are fixtures

import asyncio
from typing import Any

import pytest

from genie_core.agent.approval import Approval, ApprovalContext
from genie_core.agent.base import AsyncTool
from genie_core.runtime.tasks import start_task
from genie_testing.contract.rig import ContractCase, Rig, ask, new_lines, through_json
from genie_testing.turns import Call, Calls, Cut, Refuse, Say, Stall

BEGINNING = "Once upon a time"
WORK = Call("work", {"hours": 8})


class Ending(ContractCase):
    """A run that was cancelled or failed leaves an agent that works.

    Run the contract against a model that refuses conversations in which a tool call has no
    result, as real ones do and `FakeOpenAI` does; otherwise the next run proves little.
    """

    async def test_cancelling_while_the_model_thinks(self, streaming: bool) -> None:
        async with self.opened(Stall()) as rig:
            run = start_task(ask(rig.agent, "think", streaming=streaming))
            await _until(rig.model.reached(1), run)
            await self._cancel(run)
            await _works(rig)

    async def test_cancelling_while_text_is_streamed(self) -> None:
        self.needs("streaming")
        spoken = asyncio.Event()
        async with self.opened(Stall("Once upon a time")) as rig:
            run = start_task(
                ask(rig.agent, "tell", streaming=True, emit=lambda _piece: spoken.set())
            )
            await _until(spoken.wait(), run)
            await self._cancel(run)
            await _works(rig)

    async def test_what_was_said_before_a_cancel_was_streamed_and_is_known(self) -> None:
        self.needs("streaming", "memory")
        pieces: list[str] = []
        complete = asyncio.Event()

        def emit(piece: str) -> None:
            pieces.append(piece)
            if "".join(pieces) == BEGINNING:
                complete.set()

        async with self.opened(Stall(BEGINNING)) as rig:
            run = start_task(ask(rig.agent, "tell", streaming=True, emit=emit))
            await _until(complete.wait(), run)
            await self._cancel(run)
            await _works(rig)
            assert "".join(pieces) == BEGINNING
            assert BEGINNING in "\n".join(rig.last.texts)

    async def test_what_was_said_before_a_stream_breaks_off_was_streamed_and_is_known(self) -> None:
        """If the request is repeated, the first attempt's text need not be known."""
        self.needs("streaming", "memory")
        pieces: list[str] = []
        async with self.opened(Cut(BEGINNING), Say("The whole story.")) as rig:
            try:
                await ask(rig.agent, "tell", streaming=True, emit=pieces.append)
            except Exception:  # noqa: BLE001 - the run has failed
                assert "".join(pieces) == BEGINNING
                await ask(rig.agent, "tell")
                assert BEGINNING in "\n".join(rig.last.texts)
            else:
                assert BEGINNING in "".join(pieces)

    async def test_cancelling_while_an_approval_is_pending(self, streaming: bool) -> None:
        self.needs("tools")
        asked: asyncio.Queue[Approval] = asyncio.Queue()
        callback = ApprovalContext(asked).approval_callback("system")
        async with self.opened(WORK, tools=[_worker()]) as rig:
            run = start_task(ask(rig.agent, "work", callback, streaming=streaming))
            await _until(asked.get(), run)
            await self._cancel(run)
            await _works(rig)

    async def test_cancelling_while_a_tool_runs_ends_the_tool(self, streaming: bool) -> None:
        self.needs("tools")
        begun, ended = asyncio.Event(), asyncio.Event()
        async with self.opened(WORK, tools=[_worker(begun, ended)]) as rig:
            run = start_task(ask(rig.agent, "work", streaming=streaming))
            await _until(begun.wait(), run)
            await self._cancel(run)
            await ended.wait()
            await _works(rig)

    async def test_cancelling_when_one_of_two_calls_is_done(self, streaming: bool) -> None:
        self.needs("tools")
        rested, begun = asyncio.Event(), asyncio.Event()

        async def rest() -> str:
            """Rest for a moment."""
            rested.set()
            return "rested"

        calls = Calls(Call("rest", {}), WORK)
        async with self.opened(calls, tools=[rest, _worker(begun)]) as rig:
            run = start_task(ask(rig.agent, "work", streaming=streaming))
            await _until(rested.wait(), run)
            await _until(begun.wait(), run)
            await self._cancel(run)
            await _works(rig)

    async def test_what_a_cancelled_run_leaves_can_be_saved_and_restored(self) -> None:
        self.needs("tools")
        begun = asyncio.Event()
        async with self.opened(WORK, tools=[_worker(begun)]) as rig:
            run = start_task(ask(rig.agent, "work"))
            await _until(begun.wait(), run)
            await self._cancel(run)
            other = rig.again()
            other.set_serialized(through_json(rig.agent.get_serialized()))
            async with other.mcp():
                assert await ask(other, "go on") == "echo: go on"

    async def test_what_a_cancelled_run_leaves_can_be_journalled(self) -> None:
        self.needs("tools")
        begun = asyncio.Event()
        async with self.opened(WORK, tools=[_worker(begun)]) as rig:
            run = start_task(ask(rig.agent, "work"))
            await _until(begun.wait(), run)
            await self._cancel(run)
            lines = new_lines(rig.agent)
            await _works(rig)
            lines += new_lines(rig.agent)
            other = rig.again()
            other.set_serialized(lines)
            restored = through_json(other.get_serialized())
            assert restored == through_json(rig.agent.get_serialized())
            async with other.mcp():
                assert await ask(other, "go on") == "echo: go on"

    async def test_cancelling_twice_is_like_once(self) -> None:
        async with self.opened(Stall()) as rig:
            run = start_task(ask(rig.agent, "think"))
            await _until(rig.model.reached(1), run)
            run.cancel()
            await self._cancel(run)
            await _works(rig)

    async def test_a_refused_request_fails_the_run_and_says_why(self, streaming: bool) -> None:
        async with self.opened(Refuse(400, "this is far too long")) as rig:
            with pytest.raises(Exception, match="this is far too long"):
                await ask(rig.agent, "talk", streaming=streaming)
            await _works(rig)

    async def test_a_wrong_key_fails_the_run_at_once(self, streaming: bool) -> None:
        async with self.opened(Refuse(401, "This is not the right key.")) as rig:
            with pytest.raises(Exception, match="not the right key"):
                await ask(rig.agent, "talk", streaming=streaming)
            await _works(rig)

    async def test_a_request_refused_after_a_tool_ran(self, streaming: bool) -> None:
        self.needs("tools")
        turns = (Call("rest", {}), Refuse(400, "no more"))
        async with self.opened(*turns, tools=[rest]) as rig:
            with pytest.raises(Exception, match="no more"):
                await ask(rig.agent, "work", streaming=streaming)
            await _works(rig)

    async def test_half_an_answer_is_no_answer(self, streaming: bool) -> None:
        """The agent may let the run fail or repeat the request."""
        async with self.opened(Cut("Once upon"), Say("The whole story.")) as rig:
            try:
                answer = await ask(rig.agent, "tell", streaming=streaming)
            except Exception:  # noqa: BLE001 - it is not an answer
                assert await ask(rig.agent, "tell", streaming=streaming) == "The whole story."
            else:
                assert answer == "The whole story."
            await _works(rig)

    async def test_a_busy_provider_is_asked_again(self, streaming: bool) -> None:
        self.needs("retries")
        busy = Refuse(429, retry_after=0.01)
        async with self.opened(busy, busy, Say("At last.")) as rig:
            assert await ask(rig.agent, streaming=streaming) == "At last."

    async def test_a_provider_that_stays_busy_fails_the_run(self) -> None:
        self.needs("retries")
        busy = [Refuse(429, "come back tomorrow", retry_after=0.01)] * 12
        async with self.opened(*busy) as rig:
            with pytest.raises(Exception, match="come back tomorrow"):
                await ask(rig.agent)

    async def _cancel(self, run: "asyncio.Task[str]") -> None:
        run.cancel()
        await asyncio.wait({run}, timeout=self.promptness)
        assert run.done(), "cancelling did not end the run"
        assert run.cancelled(), f"a cancelled run must end as cancelled: {run!r}"


async def _until(event: Any, run: "asyncio.Task[str]") -> None:
    """Wait for an event that the run leads to; fail with the reason if the run ends first."""
    waiting = start_task(event)
    try:
        await asyncio.wait({waiting, run}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            pytest.fail(f"the run ended too early: {run!r}")
    finally:
        waiting.cancel()


async def _works(rig: Rig) -> None:
    assert await ask(rig.agent, "are you there") == "echo: are you there"


async def rest() -> str:
    """Rest for a moment."""
    return "rested"


def _worker(begun: asyncio.Event | None = None, ended: asyncio.Event | None = None) -> AsyncTool:
    async def work(hours: int) -> str:
        """Work for some hours."""
        try:
            if begun is not None:
                begun.set()
            await asyncio.Event().wait()
        finally:
            if ended is not None:
                ended.set()
        return f"worked for {hours} hours"

    return work
