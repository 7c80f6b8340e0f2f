from pathlib import Path

import pytest

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    DecisionMade,
    Event,
    FileRef,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RecoveredEvent,
    RunCancelled,
)
from genie_core.sessions.changes import LatestTexts
from genie_core.sessions.excerpts import LOOKED_AT, last_spoken, spoken
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.reader import PART, LogReader


def test_spoken_entries_read_as_talk() -> None:
    file = FileRef("0" * 64, "plan.pdf", 3)
    bodies: list[AnyBody] = [
        MessagePosted("1", "hi"),
        DecisionMade(1, "ignore", reason="no question"),
        MessagePosted("2", "waves", emote=True),
        MessagePosted("3", "", files=(file, file)),
        AnswerPosted(1, "Yes."),
        RunCancelled(1, "stopped", text="Perhaps"),
        RunCancelled(1, "stopped"),
        RecoveredEvent(Event(9, 0.5, "bob", MessagePosted("4", "late"))),
    ]
    events = [Event(seq, float(seq), "ann", body) for seq, body in enumerate(bodies, 1)]
    assert [(each.seq, each.by, each.text) for each in spoken(events)] == [
        (1, "ann", "hi"),
        (3, "* ann", "waves"),
        (4, "ann", "plan.pdf, plan.pdf"),
        (5, "genie", "Yes."),
        (6, "genie", "Perhaps"),
        (8, "bob", "late"),
    ]


CHANGED: list[tuple[str, AnyBody]] = [
    ("ann", MessagePosted("1", "teh plan")),
    ("ann", MessagePosted("2", "the secret")),
    ("bob", RecoveredEvent(Event(1, 0.5, "cleo", MessagePosted("3", "before")))),
    ("ann", MessageEdited(1, "a plan")),
    ("eve", MessageEdited(1, "no plan")),
    ("ann", MessageEdited(1, "the plan")),
    ("ann", MessageDeleted(2)),
    ("ann", MessageEdited(2, "again")),
    ("bob", RecoveredEvent(Event(7, 0.6, "cleo", MessageEdited(1, "after")))),
]


@pytest.mark.parametrize("size", [1, 2, 9])
def test_messages_have_latest_text(size: int) -> None:
    events = [Event(seq, float(seq), by, body) for seq, (by, body) in enumerate(CHANGED, 1)]
    latest, found = LatestTexts({1: 3}), list[Event]()
    for end in range(len(events), 0, -size):
        found[:0] = latest.of(events[max(0, end - size) : end])
    assert [(each.seq, each.by, each.text) for each in spoken(found)] == [
        (1, "ann", "the plan"),
        (3, "cleo", "after"),
    ]


def test_unproven_change_is_ignored() -> None:
    events = [Event(seq, float(seq), by, body) for seq, (by, body) in enumerate(CHANGED[:4], 1)]
    (first, *_) = LatestTexts(is_proven=lambda seq: seq != 4).of(events)
    assert first == events[0]


@pytest.mark.parametrize(("quiet", "found"), [(0, 3), (3 * PART, 3), (LOOKED_AT + PART, 0)])
def test_last_lines_are_sought_far_back(tmp_path: Path, quiet: int, found: int) -> None:
    talk: list[AnyBody] = [MessagePosted(str(n), str(n)) for n in range(4)]
    bodies = [*talk, *[MemberModerated("mute", "bob")] * quiet]
    log = tmp_path / "events.jsonl"
    events = [Event(seq, float(seq), "ann", body) for seq, body in enumerate(bodies, 1)]
    log.write_bytes(b"".join(map(encode_line, events)))
    with LogReader.open(log) as reader:
        assert [line.text for line in last_spoken(reader, 3)] == ["1", "2", "3"][:found]
        assert last_spoken(reader, 0) == []
        assert [event for part in reversed(list(reader.backwards())) for event in part] == events
