from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    Quote,
    QuotedLine,
    RecoveredEvent,
    RoomCreated,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.sessions.changes import Changes
from genie_core.sessions.search.documents import MOST_CHARS, Document, documents


def texts(*bodies: AnyBody) -> list[tuple[int, str, str]]:
    events = [Event(seq, float(seq), "ann", body) for seq, body in enumerate(bodies, 1)]
    return [(entry.seq, entry.kind, entry.text) for entry in documents(events)]


def test_message_files_and_quotes_are_found() -> None:
    file = FileRef("0" * 64, "plan.pdf", 3)
    quote = Quote("r", "Other", (QuotedLine("bob", "before"),))
    said = MessagePosted("1", "look", files=(file,), quotes=(quote,))
    assert texts(said) == [(1, "message", "look plan.pdf before")]
    assert texts(MessagePosted("1", "  ")) == []


def test_what_became_of_a_message_can_be_found() -> None:
    found = texts(
        MessagePosted("1", "hi"),
        DecisionMade(1, "delegate", reason="It asks.", query="Answer it."),
        ApprovalRequested(
            1, "a", "genie", "read_file", {"path": "notes.txt", "more": [{"deep": "inside"}, 3]}
        ),
        ApprovalResolved(1, "a", "denied", reason="not that one"),
        AnswerPosted(1, "Here it is."),
        RunFailed(1, "agent", "the model is gone"),
        DecisionMade(1, "ignore"),
    )
    assert found[1:] == [
        (2, "decision", "It asks."),
        (3, "denied", "read_file notes.txt inside not that one"),
        (5, "answer", "Here it is."),
        (6, "failed", "the model is gone"),
        (7, "silent", ""),
    ]
    assert texts(RoomCreated("r", "t"), RunCancelled(1), UnreadableEvent("why")) == []


def test_call_is_found_by_latest_outcome() -> None:
    asked = ApprovalRequested(1, "a", "genie", "read_file", {})
    parked, approved = (
        ApprovalResolved(1, "a", "parked"),
        ApprovalResolved(1, "a", "approved"),
    )
    assert texts(asked) == [(1, "approval", "read_file")]
    assert texts(asked, parked) == [(1, "parked", "read_file")]
    assert texts(asked, parked, approved) == [(1, "approved", "read_file")]


def test_later_change_replaces_earlier() -> None:
    changes = Changes()
    changes.note_earlier([Event(3, 3.0, "ann", MessageEdited(1, "last"))])
    changes.note_earlier([Event(2, 2.0, "ann", MessageEdited(1, "first"))])
    said = [Event(1, 1.0, "ann", MessagePosted("1", "typo"))]
    assert [each.text for each in documents(said, changes)] == ["last"]
    changes.note_earlier([Event(3, 3.0, "bob", MessageDeleted(1))])
    assert [each.text for each in documents(said, changes)] == ["typo"]
    changes.note_earlier([Event(3, 3.0, "ann", MessageEdited(1, "again"))])
    changes.note_earlier([Event(2, 2.0, "ann", MessageDeleted(1))])
    assert list(documents(said, changes)) == []


def test_sealed_entries_give_no_documents() -> None:
    sealed = (b"x",)
    assert (
        texts(
            MessagePosted("1", "", to="bob", sealed=sealed),
            DecisionMade(1, "ignore", sealed=sealed),
            ApprovalRequested(1, "a", "", "", {}, sealed=sealed),
            ApprovalResolved(1, "a", "denied", sealed=sealed),
            RunFailed(1, "agent", "", sealed=sealed),
        )
        == []
    )


def test_a_part_of_an_answer_can_be_found() -> None:
    found = texts(
        RunFailed(1, "agent", "cut off", text="Once"), RunCancelled(1, "stopped", text="Twice")
    )
    assert [text for *_, text in found] == ["cut off Once", "stopped Twice"]


def test_what_was_withheld_can_not() -> None:
    asked = ApprovalRequested(1, "a", "genie", "read_file", {"path": "private.txt"}, withheld=True)
    assert texts(asked) == [(1, "approval", "read_file")]


def test_answer_belongs_to_its_message() -> None:
    (entry,) = documents([Event(7, 5.0, "ann", AnswerPosted(3, "So."))])
    assert entry == Document(7, 3, 5.0, "genie", "answer", "So.")


def test_recovered_entry_keeps_author() -> None:
    inner = Event(2, 1.0, "cleo", MessagePosted("9", "early"))
    recovered = Event(8, 9.0, ROOM, RecoveredEvent(Event(8, 9.0, "bob", RecoveredEvent(inner))))
    (entry,) = documents([recovered])
    assert entry == Document(8, 8, 1.0, "cleo", "message", "early")


def test_of_a_long_text_the_beginning_counts() -> None:
    ((_, _, text),) = texts(MessagePosted("1", "x" * 2 * MOST_CHARS))
    assert len(text) == MOST_CHARS
