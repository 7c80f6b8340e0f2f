"""What reasoners were shown, from the log alone."""

from functools import partial
from pathlib import Path

from tests.genie_core.room.live_room import Ear, loader, opened

from eval_tests.recordings import Recording
from genie_core.message import SYSTEM, Message
from genie_core.reasoner import Decision, Response
from genie_core.room.protocol.events import (
    FileRef,
    MemberJoined,
    MemberLeft,
    MessagePosted,
    RunFailed,
)
from genie_eval.cases import RecordedDecisions


def told(past: RecordedDecisions, owner: str) -> list[tuple[str, str]]:
    return [(each.sender, each.content) for each in past.conversations[owner]]


def test_each_case_ends_where_its_message_does() -> None:
    room = Recording()
    first = room.ignored("good morning")
    second = room.answered("what is 6*7?", "42")
    third = room.ignored("thanks")
    past = room.recalled()
    assert [case.seq for case in past.cases] == [first, second, third]
    assert [case.position for case in past.cases] == [0, 1, 3]
    assert [case.before.decision for case in past.cases] == ["ignore", "delegate", "ignore"]
    assert told(past, "ann") == [
        ("ann", "good morning"),
        ("ann", "what is 6*7?"),
        (SYSTEM, "42"),
        ("ann", "thanks"),
    ]


def test_each_engine_has_own_conversation() -> None:
    room = Recording()
    room.answered("one", "1")
    room.add(MemberJoined("member", engine=True, device="bob-1"), "bob")
    room.ignored("two", "bob", "bob")
    room.add(MemberLeft("bob"))
    room.ignored("three", "cleo", "ann")
    past = room.recalled()
    assert [(case.handler, case.author) for case in past.cases] == [
        ("ann", "ann"),
        ("bob", "bob"),
        ("ann", "cleo"),
    ]
    assert told(past, "bob") == [("ann", "one"), (SYSTEM, "1"), ("bob", "two")]
    assert told(past, "ann")[-1] == ("cleo", "three")


def test_returning_member_gets_missed_text() -> None:
    room = Recording()
    room.add(MemberJoined("member", engine=True, device="bob-1"), "bob")
    room.ignored("one", "bob", "bob")
    room.add(MemberLeft("bob"))
    room.ignored("two")
    room.add(MemberJoined("member", engine=True, device="bob-2"), "bob")
    room.ignored("three", "bob", "bob")
    assert [text for _, text in told(room.recalled(), "bob")] == ["one", "two", "three"]


def test_undecided_message_is_context_only() -> None:
    room = Recording()
    lost = room.say("lost", handler="ann")
    room.add(RunFailed(lost, "reasoner", "the model is away"), "ann")
    room.say("to nobody", "bob")
    room.ignored("hm")
    past = room.recalled()
    assert [case.said.text for case in past.cases] == ["hm"]
    assert past.cases[0].position == 2


def test_part_starts_with_latest_context() -> None:
    room = Recording()
    for number in range(300):
        room.ignored(f"text {number}")
    first = room.events[-1].seq - 19
    past = room.recalled(first=first, last=first + 9)
    assert [case.said.text for case in past.cases] == [f"text {n}" for n in range(290, 295)]
    assert [text for _, text in told(past, "ann")][:200] == [f"text {n}" for n in range(91, 291)]


def test_files_count_as_here(tmp_path: Path) -> None:
    file = FileRef("a" * 64, "notes.txt", 3, "text/plain")
    room = Recording()
    room.add(MessagePosted("x", "look", "ann", files=(file,)), "ann")
    past = RecordedDecisions(lambda digest: tmp_path / digest)
    for event in room.events:
        past.take(event)
    (message,) = past.conversations["ann"]
    assert [each.name for each in message.attachments] == ["notes.txt"]


async def test_replay_matches_live_conversation(tmp_path: Path) -> None:
    """Two people in a real room: what their reasoners were given is what the log tells."""
    shown: list[tuple[list[str], str]] = []

    def decide(updates: list[Message]) -> Response:
        shown.append(([each.content for each in updates], updates[-1].sender))
        if updates[-1].content.endswith("?"):
            last = updates[-1]
            return Response(Decision.DELEGATE, query=last.content, receiver=last.sender)
        return Response(Decision.IGNORE, reason="no question")

    async with opened() as live:
        ann, heard = await live.joined("ann", loader(tmp_path / "ann", decide))
        bob, _ = await live.joined("bob", loader(tmp_path / "bob", decide))
        guest, _ = await live.joined("cleo", None)
        for joined, text in (
            (ann, "good morning"),
            (guest, "who is there?"),
            (bob, "nice weather"),
            (guest, "indeed"),
            (ann, "is it?"),
            (bob, "yes"),
        ):
            joined.messages.send(text)
            await heard.until(partial(ended, heard, text))
        past = RecordedDecisions()
        for event in heard.events:
            past.take(event)
    expected = []
    seen: dict[tuple[str, str], int] = {}
    for case in past.cases:
        key = case.handler, case.author
        messages = past.conversations[case.handler][seen.get(key, 0) : case.position + 1]
        seen[key] = case.position + 1
        expected.append(([each.content for each in messages], case.author))
    assert shown == expected
    assert len(shown) == 6


def ended(ear: Ear, text: str) -> bool:
    """Whether everything is over that a message led to."""
    said = [
        each.seq
        for each in ear.events
        if isinstance(each.body, MessagePosted) and each.body.text == text
    ]
    if not said:
        return False
    kinds = {
        type(each.body).__name__
        for each in ear.events
        if getattr(each.body, "message", None) == said[0]
    }
    return "AnswerPosted" in kinds if text.endswith("?") else "DecisionMade" in kinds
