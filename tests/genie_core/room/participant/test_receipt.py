import asyncio
from contextlib import suppress

import pytest
from tests.limits import scaled

from genie_core.room.participant.receipt import EXCERPT_CHARS, Item, Receipt, make_receipt
from genie_core.room.participant.shutdown import take_steps
from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.grace import Grace


async def test_all_steps_run_in_order() -> None:
    taken: list[str] = []

    async def good() -> None:
        taken.append("good")

    async def broken() -> None:
        taken.append("broken")
        raise OSError("the disk is gone")

    async def silent() -> None:
        raise KeyError

    async def endless() -> None:
        taken.append("endless")
        await asyncio.Event().wait()

    problems = await take_steps(
        [
            ("waiting", endless, 0.01),
            ("saving", broken, 9),
            ("looking", silent, 9),
            ("closing", good, 9),
        ]
    )
    assert taken == ["endless", "broken", "good"]
    assert problems == [
        "waiting took too long",
        "saving failed: the disk is gone",
        "looking failed: KeyError",
    ]


async def test_stubborn_step_is_left_behind() -> None:
    released, taken = asyncio.Event(), list[str]()

    async def stubborn() -> None:
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await released.wait()

    async def after() -> None:
        assert not released.is_set()

    async with asyncio.timeout(scaled(60)):
        problems = await take_steps(
            [("ending", stubborn, 0.0), ("closing", after, 60.0)], taken.append
        )
    released.set()
    assert problems == ["ending took too long"]
    assert taken == ["ending", "closing"]


async def test_grace_ends_with_work_or_cut() -> None:
    idle = asyncio.Event()
    assert not await Grace(0).wait_for(idle)
    long = Grace(1_000.0)
    assert 0 < long.left <= 1_000
    waiting = asyncio.create_task(long.wait_for(idle))
    long.end()
    async with asyncio.timeout(scaled(60)):
        assert not await waiting
    assert long.left == 0
    assert not await long.wait_for(idle)
    idle.set()
    async with asyncio.timeout(scaled(60)):
        assert await Grace(1_000.0).wait_for(idle)


def after(*bodies: tuple[str, AnyBody]) -> RoomState:
    """A state in which these things happened, by whom each."""
    state = RoomState()
    for seq, (by, body) in enumerate(bodies, start=1):
        state.apply(Event(seq, float(seq), by, body))
    return state


def test_receipt_follows_final_room_state() -> None:
    long = "word " * 40
    state = after(
        (ROOM, RoomCreated("r", "Room")),
        (ROOM, HostStarted("ann")),
        ("ann", MemberJoined("host", engine=True)),
        ("ann", MessagePosted("3", "before", handler="ann")),
        ("ann", MessagePosted("4", long, handler="ann")),
        ("ann", MessagePosted("5", "silent", handler="ann")),
        ("ann", MessagePosted("6", "broken", handler="ann")),
        ("bob", MessagePosted("7", "", handler="ann", files=(FileRef("a" * 64, "plan.pdf", 5),))),
        ("ann", MessagePosted("8", "asks", handler="ann")),
        ("ann", MessagePosted("9", "lost", handler="ann")),
        ("ann", DecisionMade(5, "delegate", query="q")),
        ("ann", AnswerPosted(5, "yes")),
        ("ann", DecisionMade(6, "ignore")),
        ("ann", RunFailed(7, "agent", "no network")),
        ("ann", RunCancelled(8, "suspended")),
        ("ann", DecisionMade(9, "delegate", query="q")),
        ("ann", ApprovalRequested(9, "a1", "system", "delete", {})),
        ("ann", ApprovalResolved(9, "a1", "parked")),
        ("ann", RunCancelled(9, "suspended")),
    )
    receipt = make_receipt(state, "ann", range(5, 11), unsent=2, problems=["the disk is full"])
    assert [each.message for each in receipt.finished] == [5, 6]
    assert receipt.finished[0].text.startswith("word word")
    assert len(receipt.finished[0].text) == EXCERPT_CHARS
    assert receipt.cancelled == (
        Item(7, "ann", "broken", "no network"),
        Item(8, "bob", "plan.pdf"),
    )
    assert receipt.unheard == (Item(10, "ann", "lost"),)
    assert receipt.parked == (Item(9, "ann", "asks", "delete"),)
    assert (receipt.unsent, receipt.problems) == (2, ("the disk is full",))
    stuck = make_receipt(state, "ann", [8], {8})
    assert [each.message for each in stuck.left_behind] == [8]
    assert not stuck.cancelled
    assert make_receipt(RoomState(), "ann", [1]) == Receipt()


@pytest.mark.parametrize(
    ("unrecorded", "detail"),
    [
        ([], ""),
        ([ApprovalResolved(4, "a1", "approved"), AnswerPosted(4, "yes")], "answered"),
        (
            [ApprovalResolved(4, "a1", "approved"), RunFailed(4, "agent", "no network")],
            "no network",
        ),
        (
            [ApprovalResolved(4, "a1", "parked"), RunCancelled(4, "left")],
            "delete waits for your answer",
        ),
        (
            [
                ApprovalRequested(4, "a2", "system", "fetch", {}),
                ApprovalResolved(4, "a2", "parked"),
            ],
            "fetch waits for your answer",
        ),
        ([ApprovalResolved(4, "a1", "denied"), RunCancelled(4, "left")], "cancelled"),
        ([AnswerPosted(5, "of another message")], ""),
    ],
)
def test_unrecorded_end_is_on_receipt(unrecorded: list[RunBody], detail: str) -> None:
    state = after(
        (ROOM, RoomCreated("r", "Room")),
        (ROOM, HostStarted("ann")),
        ("bob", MemberJoined("member", engine=True)),
        ("bob", MessagePosted("3", "tidy up", handler="bob")),
        ("bob", DecisionMade(4, "delegate", query="q")),
        ("bob", ApprovalRequested(4, "a1", "system", "delete", {})),
    )
    receipt = make_receipt(state, "bob", [4], unrecorded=unrecorded)
    assert receipt == Receipt(unheard=(Item(4, "bob", "tidy up", detail),))
