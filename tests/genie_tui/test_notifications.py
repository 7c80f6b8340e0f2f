import pytest
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalResolved,
    DecisionMade,
    MemberJoined,
    MemberLeft,
    MessagePosted,
)
from genie_core.room.state.room_state import RoomState
from genie_core.settings.model import Notify
from genie_tui.app import GenieApp
from genie_tui.notifications import Bell, mentions, rings

QUESTION = 5
"""The number of the first message in the room."""


BOX = (b"sealed",)


def joined() -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom()
    made.open_room()
    return made


def said(text: str) -> MessagePosted:
    return MessagePosted("x", text)


@pytest.mark.parametrize(
    ("body", "by", "wanted"),
    [
        (said("hello all"), "bob", {"all"}),
        (said("hello @Ann!"), "bob", {"all", "mine"}),
        (said("hello @ann"), "ann", set()),
        (MessagePosted("x", "hello @ann", quiet=True), "bob", set()),
        (said("mail to x@ann.example"), "bob", {"all"}),
        (MessagePosted("x", "psst", to="ann", sealed=BOX), "bob", {"all", "mine"}),
        (MessagePosted("x", "", to="cleo", sealed=BOX), "bob", set()),
        (AnswerPosted(QUESTION, "", receiver="bob", sealed=BOX), "bob", set()),
        (AnswerPosted(QUESTION, "done", receiver="ann"), "bob", {"all", "mine"}),
        (AnswerPosted(QUESTION, "done, @ann", receiver="bob"), "bob", {"all", "mine"}),
        (AnswerPosted(QUESTION, "done", receiver="bob"), "bob", {"all"}),
        (AnswerPosted(QUESTION, "done", receiver="ann"), "ann", {"all"}),
        (DecisionMade(QUESTION, "ignore", reason="@ann said so"), "bob", set()),
        (MemberLeft("bob"), "", set()),
    ],
)
def test_who_is_told_of_what(body: AnyBody, by: str, wanted: set[Notify]) -> None:
    here = joined()
    assert here.say_here("and?", by or "bob") == QUESTION
    if isinstance(body, AnswerPosted):
        here.feed(DecisionMade(QUESTION, "delegate", query="?", receiver=body.receiver), by=by)
    (event,) = here.feed(body, by=by)
    modes: tuple[Notify, ...] = ("mine", "all", "none")
    assert {mode for mode in modes if rings(mode, event, here.state, "ann")} == wanted


def test_waiting_call_rings_for_approver() -> None:
    here = joined()
    approval = here.ask()
    asked = here.events[-1]
    assert rings("mine", asked, here.state, "ann")
    assert rings("all", asked, here.state, "ann")
    assert not rings("none", asked, here.state, "ann")
    assert not rings("all", asked, here.state, "bob")
    here.feed(ApprovalResolved(asked.seq - 2, approval, "approved"))
    assert not rings("mine", asked, here.state, "ann")


def test_history_is_silent_burst_rings_once() -> None:
    here, clock = joined(), HandClock()
    (old,) = here.feed(said("@ann"), by="bob")
    bell = Bell("mine", clock)
    bell.enter(here.state, "ann")
    assert not bell.ring_for([old], here.state, "ann")
    first, second = here.feed(said("@ann"), said("@ann again"), by="bob")
    assert bell.ring_for([first], here.state, "ann")
    assert not bell.ring_for([second], here.state, "ann")
    clock.rest(1.0)
    (third,) = here.feed(said("@ann, are you there?"), by="bob")
    assert bell.ring_for([third], here.state, "ann")
    clock.rest(1.0)
    bell.notify = "none"
    assert not bell.ring_for([third], here.state, "ann")


def test_messages_before_joining_are_silent() -> None:
    bell = Bell("all", HandClock())
    bell.enter(RoomState(), "cleo")
    room = joined()
    before = room.feed(said("@cleo will come"), by="bob")
    arrival = room.feed(MemberJoined("member"), by="cleo")
    after = room.feed(said("welcome"), by="bob")
    assert not bell.ring_for([*before, *arrival], room.state, "cleo")
    assert bell.ring_for(after, room.state, "cleo")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@ann", True),
        ("hey (@Ann), look", True),
        ("@ann's turn", True),
        ("@anna", False),
        ("@ann/@bob", True),
        ("@ann/notes.py", False),
        ("see @ann/", False),
        ("@src/ann.py", False),
        ('@"ann plan.md"', False),
        ("@an", False),
        ("ann", False),
        ("x@ann", False),
        ("@" + "." * 200_000, False),
        ("@ann " * 20_000, True),
    ],
)
def test_a_name_counts_as_a_word_of_its_own(text: str, expected: bool) -> None:
    assert mentions(text, "ann") is expected


async def test_a_room_rings_for_others_not_for_oneself(monkeypatch: pytest.MonkeyPatch) -> None:
    here, clock = joined(), HandClock()
    here.feed(said("@ann, before you came"), by="bob")
    rung: list[float] = []
    monkeypatch.setattr(
        GenieApp, "_write", lambda _, sent: rung.append(clock()) if sent == "\x07" else None
    )
    async with in_room(here, clock=clock) as (screen, pilot):
        here.feed(said("@ann is me"), by="ann")
        here.feed(said("@ann"), by="bob")
        await until(pilot, lambda: rung)
        clock.rest(2)
        here.ask()
        await until(pilot, lambda: len(rung) == 2)
    assert rung == [1_000.0, 1_002.0]
    assert screen.joined is here
