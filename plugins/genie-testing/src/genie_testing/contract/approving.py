"""Asking before acting."""
# ruff: noqa: FBT001, S101 - these are tests: their names say it all, flags are fixtures

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from genie_core.agent.approval import Approval, ApprovalCallback, ApprovalContext, Verdict
from genie_testing.contract.rig import Approver, ContractCase, Rig, ask
from genie_testing.turns import Call, Calls, Say

DELETE = Call("delete", {"path": "notes.txt"})


class Approving(ContractCase):
    """No tool runs unasked, and the answer decides."""

    async def test_a_call_is_asked_for_by_name_and_arguments_before_it_runs(
        self, streaming: bool
    ) -> None:
        seen: list[str] = []

        async def approve(tool_name: str, tool_args: dict[str, Any]) -> bool:
            assert (tool_name, tool_args) == ("delete", {"path": "notes.txt"})
            seen.append("asked")
            return True

        async with self._deleting(seen) as rig:
            assert await ask(rig.agent, "go", approve, streaming=streaming) == "Done."
        assert seen == ["asked", "deleted notes.txt"]

    async def test_a_denied_call_does_not_run(self, streaming: bool) -> None:
        deny = Approver(Verdict(approved=False))
        seen: list[str] = []
        async with self._deleting(seen) as rig:
            assert await ask(rig.agent, "go", deny, streaming=streaming) == "Done."
        assert seen == []
        assert len(deny.asked) == 1

    async def test_the_model_learns_why_a_call_was_denied(self, streaming: bool) -> None:
        deny = Approver(Verdict(approved=False, reason="these notes are still needed"))
        async with self._deleting([]) as rig:
            assert await ask(rig.agent, "go", deny, streaming=streaming) == "Done."
            assert "these notes are still needed" in rig.last.exchanges[0].result

    async def test_denials_do_not_wear_out_the_run(self) -> None:
        self.needs("tools")
        seen: list[str] = []
        async with self.opened(*[DELETE] * 8, Say("I stop."), tools=[_deleter(seen)]) as rig:
            deny = Approver(Verdict(approved=False, reason="no"))
            assert await ask(rig.agent, "go", deny) == "I stop."
        assert len(deny.asked) == 8
        assert seen == []

    async def test_a_plain_true_approves(self) -> None:
        seen: list[str] = []
        async with self._deleting(seen) as rig:
            assert await ask(rig.agent, "go", _always) == "Done."
        assert seen == ["deleted notes.txt"]

    async def test_a_plain_false_denies(self) -> None:
        seen: list[str] = []
        async with self._deleting(seen) as rig:
            assert await ask(rig.agent, "go", _never) == "Done."
        assert seen == []

    async def test_the_callback_of_the_engine_is_called_as_it_can_be(self, streaming: bool) -> None:
        queue: asyncio.Queue[Approval] = asyncio.Queue()
        context = ApprovalContext(queue, auto_approve=True)
        seen: list[str] = []
        async with self._deleting(seen) as rig:
            callback = context.approval_callback("system")
            assert await ask(rig.agent, "go", callback, streaming=streaming) == "Done."
        assert seen == ["deleted notes.txt"]
        assert queue.empty()

    async def test_edited_arguments_are_what_the_tool_gets(self, streaming: bool) -> None:
        edit = Approver(Verdict(approved=True, arguments={"path": "old.txt"}))
        seen: list[str] = []
        async with self._deleting(seen) as rig:
            assert await ask(rig.agent, "go", edit, streaming=streaming) == "Done."
            assert seen == ["deleted old.txt"]
            assert rig.last.exchanges[0].result == "deleted old.txt"

    async def test_edited_arguments_that_do_not_fit_are_an_error_the_model_sees(
        self, streaming: bool
    ) -> None:
        edit = Approver(Verdict(approved=True, arguments={}))
        seen: list[str] = []
        async with self._deleting(seen) as rig:
            assert await ask(rig.agent, "go", edit, streaming=streaming) == "Done."
            assert seen == []
            assert "path" in rig.last.exchanges[0].result

    async def test_parallel_calls_wait_together_and_are_answered_in_any_order(
        self, streaming: bool
    ) -> None:
        self.needs("tools")
        calls = Calls(*(Call("delete", {"path": f"{name}.txt"}) for name in "abc"))
        seen: list[str] = []
        async with self.opened(calls, Say("Done."), tools=[_deleter(seen)]) as rig:
            queue: asyncio.Queue[Approval] = asyncio.Queue()
            callback = ApprovalContext(queue).approval_callback("system")
            async with _running(rig, callback, streaming=streaming) as run:
                waiting = [await queue.get() for _call in "abc"]
                named = {each.tool_kwargs["path"]: each for each in waiting}
                assert seen == []
                named["c.txt"].approve()
                named["a.txt"].deny("keep this one")
                named["b.txt"].approve(arguments={"path": "z.txt"})
                assert await run == "Done."
            assert sorted(seen) == ["deleted c.txt", "deleted z.txt"]
            first, second, third = (each.result for each in rig.last.exchanges)
        assert "keep this one" in first
        assert (second, third) == ("deleted z.txt", "deleted c.txt")

    async def test_an_approved_call_runs_while_another_still_waits(self) -> None:
        self.needs("tools")
        ran = asyncio.Event()

        async def delete(path: str) -> str:
            """Delete a file."""
            ran.set()
            return f"deleted {path}"

        calls = Calls(Call("delete", {"path": "a.txt"}), Call("delete", {"path": "b.txt"}))
        async with self.opened(calls, Say("Done."), tools=[delete]) as rig:
            queue: asyncio.Queue[Approval] = asyncio.Queue()
            callback = ApprovalContext(queue).approval_callback("system")
            async with _running(rig, callback) as run:
                waiting = [await queue.get() for _call in "ab"]
                waiting[1].approve()
                await ran.wait()
                waiting[0].deny()
                assert await run == "Done."

    @asynccontextmanager
    async def _deleting(self, seen: list[str]) -> AsyncIterator[Rig]:
        self.needs("tools")
        async with self.opened(DELETE, Say("Done."), tools=[_deleter(seen)]) as rig:
            yield rig


@asynccontextmanager
async def _running(
    rig: Rig, callback: ApprovalCallback, *, streaming: bool = False
) -> AsyncIterator["asyncio.Task[str]"]:
    async with asyncio.TaskGroup() as group:
        run = group.create_task(ask(rig.agent, "go", callback, streaming=streaming))
        try:
            yield run
        finally:
            run.cancel()


async def _always(_tool_name: str, _tool_args: dict[str, Any]) -> bool:
    return True


async def _never(_tool_name: str, _tool_args: dict[str, Any]) -> bool:
    return False


def _deleter(seen: list[str]) -> Any:
    async def delete(path: str) -> str:
        """Delete a file."""
        seen.append(f"deleted {path}")
        return f"deleted {path}"

    return delete
