from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    MessagePosted,
    Quote,
    QuotedLine,
    RecoveredEvent,
    RoomCreated,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.sessions.search.documents import MOST_CHARS, Document, documents


def texts(*bodies: AnyBody) -> list[tuple[int, str, str]]:
    events = [Event(seq, float(seq), "ann", body) for seq, body in enumerate(bodies, 1)]
    return [(entry.seq, entry.kind, entry.text) for entry in documents(events)]


def test_what_was_said_can_be_found_with_the_names_of_files_and_what_was_quoted() -> None:
    file = FileRef("0" * 64, "plan.pdf", 3)
    quote = Quote("r", "Other", (QuotedLine("bob", "before"),))
    said = MessagePosted("1", "look", files=(file,), quotes=(quote,))
    assert texts(said) == [(1, "message", "look\nplan.pdf\nbefore")]
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
    )
    assert found[1:] == [
        (2, "decision", "It asks."),
        (3, "approval", "read_file\nnotes.txt\ninside"),
        (4, "approval", "not that one"),
        (5, "answer", "Here it is."),
        (6, "failure", "the model is gone"),
    ]
    assert (
        texts(
            RoomCreated("r", "t"),
            RunCancelled(1),
            UnreadableEvent("why"),
            DecisionMade(1, "ignore"),
        )
        == []
    )


def test_a_part_of_an_answer_can_be_found() -> None:
    found = texts(
        RunFailed(1, "agent", "cut off", text="Once"), RunCancelled(1, "stopped", text="Twice")
    )
    assert [text for *_, text in found] == ["cut off\nOnce", "Twice"]


def test_what_was_withheld_can_not() -> None:
    asked = ApprovalRequested(1, "a", "genie", "read_file", {"path": "private.txt"}, withheld=True)
    assert texts(asked) == [(1, "approval", "read_file")]


def test_an_answer_is_the_agents_and_belongs_to_its_message() -> None:
    (entry,) = documents([Event(7, 5.0, "ann", AnswerPosted(3, "So."))])
    assert entry == Document(7, 3, 5.0, "genie", "answer", "So.")


def test_what_was_recovered_is_its_authors_and_stands_where_it_was_recorded() -> None:
    inner = Event(2, 1.0, "cleo", MessagePosted("9", "early"))
    recovered = Event(8, 9.0, ROOM, RecoveredEvent(Event(8, 9.0, "bob", RecoveredEvent(inner))))
    (entry,) = documents([recovered])
    assert entry == Document(8, 8, 1.0, "cleo", "message", "early")


def test_of_a_long_text_the_beginning_counts() -> None:
    ((_, _, text),) = texts(MessagePosted("1", "x" * 2 * MOST_CHARS))
    assert len(text) == MOST_CHARS
