"""What people have read of an answer stays, marked, and a call that was not run says why."""

from pathlib import Path

import pytest
from tests.contract.assisted import KEY, Guest, config, room_of_two

from genie_core.assistant.config import Rule, Runtime
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.signing import reported
from genie_core.room.state.thread import Phase
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Cut, Say, Stall

pytestmark = pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])

BEGINNING = "Once upon a time there lived"  # no key begins as it ends


def streamed(guest: Guest) -> str:
    return "".join(text for _, text in guest.ear.deltas)


async def test_stopped_answer_is_kept_and_marked(runtime: Runtime, tmp_path: Path) -> None:
    async with FakeOpenAI(api_key=KEY) as server:
        settings = config(server, runtime=runtime)
        async with room_of_two(tmp_path / "room", settings) as two:
            server.script(Stall(BEGINNING))
            two.ann.joined.messages.send("@genie tell a story")
            await two.bob.ear.until(lambda: streamed(two.bob) == BEGINNING)
            (message,) = two.ann.joined.state.running
            assert two.ann.joined.engine.stop(message) == 1
            thread = await two.bob.ended("@genie tell a story")
            assert (thread.phase, thread.partial) == (Phase.CANCELLED, BEGINNING)
            (cancelled,) = two.bob.bodies(RunCancelled)
            assert (cancelled.reason, cancelled.text) == ("stopped by ann", BEGINNING)
            key = two.bob.joined.state.keys["ann"]
            room = two.bob.joined.state.room
            assert reported(key, room, thread.said, cancelled)
            await two.ann.caught_up(two.bob)
            assert two.ann.said("@genie tell a story") == thread

            server.script(Say("The end."))
            two.ann.joined.messages.send("@genie go on")
            thread = await two.bob.ended("@genie go on")
            assert thread.answer is not None, thread.error
            assert BEGINNING in "\n".join(server.requests[-1].texts)


async def test_broken_answer_is_kept_and_marked(runtime: Runtime, tmp_path: Path) -> None:
    async with FakeOpenAI(api_key=KEY) as server:
        settings = config(server, runtime=runtime)
        async with room_of_two(tmp_path / "room", settings) as two:
            server.script(*[Cut(BEGINNING)] * 5)
            two.ann.joined.messages.send("@genie tell a story")
            thread = await two.bob.ended("@genie tell a story")
            assert (thread.phase, thread.partial) == (Phase.FAILED, BEGINNING)
            (failed,) = two.bob.bodies(RunFailed)
            assert failed.text == BEGINNING
            assert "the connection to the model broke off" in failed.error
            assert failed.error.endswith("; ann sees the details")
            assert server.base_url not in failed.error
            await two.ann.caught_up(two.bob)
            own = two.ann.said("@genie tell a story")
            assert own is not None
            assert own.error is not None
            assert server.base_url in own.error.error


async def test_answer_cut_by_length_is_marked(runtime: Runtime, tmp_path: Path) -> None:
    async with FakeOpenAI(api_key=KEY) as server:
        settings = config(server, runtime=runtime)
        async with room_of_two(tmp_path / "room", settings) as two:
            for text, cut in ((BEGINNING, True), ("The end.", False)):
                server.script(Say(text, cut=cut))
                two.ann.joined.messages.send(f"@genie {text}")
                thread = await two.bob.ended(f"@genie {text}")
                assert thread.answer is not None, thread.error
                assert (thread.answer.text, thread.answer.cut) == (text, cut)
            assert [each.cut for each in two.bob.bodies(AnswerPosted)] == [True, False]


async def test_oversized_call_is_reported_to_all(runtime: Runtime, tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    async with FakeOpenAI(api_key=KEY) as server:
        settings = config(server, runtime=runtime, workspace=workspace, rules=(Rule("allow"),))
        limits = Limits(frame_bytes=16 * 1024)
        async with room_of_two(tmp_path / "room", settings, limits=limits) as two:
            large = Call("write_file", {"path": "large.txt", "content": "x" * 20_000})
            server.script(large, Say("I will write it in parts."))
            two.ann.joined.messages.send("@genie write it down")
            thread = await two.bob.ended("@genie write it down")
            assert thread.answer is not None, thread.error
            (told,) = server.requests[-1].tool_results
            why = "its arguments are 19 KB, more than the 14 KB that an approval can show"
            assert told.startswith(f"This tool call was not run: {why}")
            assert "did not allow" not in told
            assert any(f"write_file was not run: {why}" in each for each in two.ann.ear.notices)
            (asked,) = two.bob.bodies(ApprovalRequested)
            assert asked.unasked
            assert asked.arguments["path"] == "large.txt"
            (settled,) = two.bob.bodies(ApprovalResolved)
            assert settled.outcome == "expired"
            assert settled.reason is not None
            assert settled.reason.startswith(why)
            assert not list(workspace.iterdir())
