import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.genie_core.room.house import loader, opened
from tests.ports import free_port

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.room.exchange import Exchange, Phase
from genie_core.room.participant import Participant
from genie_core.room.person import Presence
from genie_core.room.seat import Link
from genie_core.room.websocket import ws_connector
from genie_core.testing import Emit

DEADLINE = 60.0


async def held(released: asyncio.Event) -> None:
    """Wait, and ignore every cancellation."""
    while not released.is_set():
        with suppress(asyncio.CancelledError):
            await released.wait()


def working(person: Participant) -> list[Exchange]:
    return [e for e in person.state.exchanges.values() if e.phase is Phase.WORKING]


async def test_leaving_does_not_wait_for_an_agent_that_will_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.room.handler.END_TIMEOUT", 0.2)
    released = asyncio.Event()

    async def stubborn(_input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    async with opened() as house:
        ann, ear = await house.seat("ann", loader(tmp_path, run=stubborn))
        ann.say("go")
        await ear.until(lambda: any(e.phase is Phase.WORKING for e in ann.state.exchanges.values()))
        assert ann.state.presence("ann") is Presence.THINKING
        async with asyncio.timeout(60):
            await ann.leave(grace=0.05)
        released.set()
        kinds = [type(event.body).__name__ for event in house.sink.events]
        assert "Cancelled" in kinds
        assert kinds[-1] == "Suspended"


async def test_the_receipt_tells_finished_cancelled_parked_and_left_behind(tmp_path: Path) -> None:
    released, going = asyncio.Event(), asyncio.Event()

    async def run(input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        match input.query:
            case "quick":
                await going.wait()
            case "slow":
                await released.wait()
            case "ask":
                await callback("delete", {"path": "x"})
            case "stubborn":
                await held(released)
        return "done"

    async with opened() as house:
        ann, ear = await house.seat("ann", loader(tmp_path, run=run))
        for guest in ("bob", "cleo", "dan"):
            person, _ = await house.seat(guest, None)
            person.say({"bob": "quick", "cleo": "slow", "dan": "stubborn"}[guest])
        ann.say("ask")
        await ear.until(lambda: ann.state.pending_for("ann") and len(working(ann)) == 3)
        before = ann.ending
        assert before is None
        leaving = asyncio.create_task(ann.leave(grace=DEADLINE))
        await ear.until(lambda: len(ann.state.running) == 3)  # the call is parked at once
        ending = ann.ending
        assert ending is not None
        assert ending.doing == "ending your agents"
        assert 0 < ending.left <= DEADLINE
        assert [run.said.text for run in ending.runs] == ["quick", "slow", "stubborn"]
        going.set()
        await ear.until(lambda: len(ann.state.running) == 2)
        assert not leaving.done()
        ann.hurry()
        receipt = await leaving
        released.set()
    assert [each.text for each in receipt.finished] == ["quick"]
    assert [each.text for each in receipt.cancelled] == ["slow"]
    assert [(each.text, each.author) for each in receipt.left_behind] == [("stubborn", "dan")]
    assert [(each.text, each.detail) for each in receipt.parked] == [("ask", "delete")]
    assert not receipt.problems
    assert await ann.leave() == receipt


async def test_leaving_leaves_a_thread_behind_that_an_agent_waits_for(tmp_path: Path) -> None:
    release = threading.Event()

    async def blocked(_input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:
        await asyncio.to_thread(release.wait)
        return "at last"

    async with opened() as house:
        ann, ear = await house.seat("ann", loader(tmp_path, run=blocked))
        ann.say("wait for it")
        await ear.until(lambda: working(ann))
        receipt = await ann.leave(grace=0)
        release.set()
    assert [each.text for each in receipt.cancelled] == ["wait for it"]


async def test_what_is_said_while_the_host_suspends_is_answered_when_the_room_is_back(
    tmp_path: Path,
) -> None:
    released = asyncio.Event()

    async def run(input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        if input.query == "long":
            await released.wait()
        return f"echo: {input.query}"

    port = free_port()
    async with opened() as house:
        connector = ws_connector(str(await house.server.listen(port=port)))
        ann, ear = await house.seat(
            "ann", loader(tmp_path, run=run), begin_closing=house.server.begin_suspending
        )
        ben, other = await house.seat("ben", None, connector=connector)
        ann.say("long")
        await ear.until(lambda: working(ann))
        leaving = asyncio.create_task(ann.leave(grace=DEADLINE))
        await other.until(lambda: ben.link.closing_in is not None)
        assert 0 < (ben.link.closing_in or 0) <= DEADLINE
        ben.say("one more")
        assert [each.text for each in ben.unsent] == ["one more"]
        released.set()
        receipt = await leaving
        assert [each.text for each in receipt.finished] == ["long"]
        assert [e.said.text for e in ann.state.exchanges.values()] == ["long"]
        await other.until(lambda: ben.link.link is Link.RETRYING)
        assert "suspended" in ben.link.detail
        await house.server.close()
        async with opened(house.sink.events) as again:
            await again.server.listen(port=port)
            await again.seat("ann", loader(tmp_path, run=run))
            await other.until(
                lambda: (
                    [e.answer.text for e in ben.state.exchanges.values() if e.answer]
                    == ["echo: long", "echo: one more"]
                )
            )
            assert not ben.unsent
