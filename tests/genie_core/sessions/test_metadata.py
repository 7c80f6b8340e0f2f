import pytest

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    DecisionMade,
    Event,
    FileRef,
    HostStarted,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RoomCreated,
)
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.errors import InvalidTag
from genie_core.sessions.metadata import (
    PREVIEW_CHARS,
    TAG_CHARS,
    SessionMetadata,
    check_tag,
    one_line,
    preview_of,
    unread_in,
)

START: list[tuple[str, AnyBody]] = [("", RoomCreated("r1", "Standup")), ("", HostStarted("ann"))]


def room(*entries: tuple[str, AnyBody]) -> RoomState:
    """A room in which this happened, from event 3 on."""
    state = RoomState()
    for seq, (by, body) in enumerate([*START, *entries], 1):
        state.apply(Event(seq, 100.0, by, body))
    return state


ASKED = ("bob", MessagePosted("1", "genie, what is 17*23?", handler="ann"))
DECIDED = ("ann", DecisionMade(3, "delegate", query="17*23"))
ANSWER = ("ann", AnswerPosted(3, "It is\n391."))


@pytest.mark.parametrize(
    ("entries", "preview"),
    [
        ([], ""),
        ([ASKED], "bob: genie, what is 17*23?"),
        ([ASKED, DECIDED, ANSWER], "genie: It is 391."),
        ([ASKED, DECIDED, ("cleo", MessagePosted("2", "quick!")), ANSWER], "genie: It is 391."),
        (
            [ASKED, DECIDED, ANSWER, ("cleo", MessagePosted("2", "\x1b[2Jthanks"))],
            "cleo: [2Jthanks",
        ),
        (
            [ASKED, ("cleo", MessagePosted("2", "psst", to="bob", sealed=(b"x",)))],
            f"bob: {ASKED[1].text}",
        ),
        ([("dan", MessagePosted("1", "waves", emote=True))], "* dan waves"),
        (
            [
                ("dan", MessagePosted("1", "teh plan")),
                ("dan", MessagePosted("2", "the secret")),
                ("dan", MessageEdited(3, "the plan")),
                ("dan", MessageDeleted(4)),
            ],
            "dan: the plan",
        ),
        ([("dan", MessagePosted("1", "", files=(FileRef("0" * 64, "a.png", 1),)))], "dan: (files)"),
    ],
)
def test_a_preview_is_the_last_that_was_said(
    entries: list[tuple[str, AnyBody]], preview: str
) -> None:
    assert preview_of(room(*entries)) == preview


def test_a_preview_is_short() -> None:
    assert len(preview_of(room(("bob", MessagePosted("1", "x" * 1_000_000))))) == PREVIEW_CHARS


def test_others_later_entries_are_unread() -> None:
    state = room(
        ASKED,
        DECIDED,
        ("ann", MessagePosted("2", "my own")),
        ("bob", MessagePosted("3", "so?")),
        ANSWER,
    )
    assert [unread_in(state, seen, "ann") for seen in range(8)] == [0, 3, 3, 2, 2, 2, 1, 0]


def test_private_is_unread_for_reader_only() -> None:
    state = room(("bob", MessagePosted("1", "", to="cleo", sealed=(b"x", b"y"))))
    assert [unread_in(state, 2, name) for name in ("ann", "bob", "cleo")] == [0, 0, 1]


@pytest.mark.parametrize(
    ("text", "tag"),
    [("work", "work"), ("  #work ", "work"), ("to do\nsoon", "to do soon"), ("Übung", "Übung")],
)
def test_a_tag_is_one_line(text: str, tag: str) -> None:
    assert check_tag(text) == tag


@pytest.mark.parametrize("text", ["", "  ", "#", "\n", "x" * (TAG_CHARS + 1)])
def test_some_texts_can_be_no_tag(text: str) -> None:
    with pytest.raises(InvalidTag, match="can't be a tag"):
        check_tag(text)


def test_a_line_stays_one_that_can_be_written() -> None:
    assert one_line("a\r\n\x9bb\ud800", 4) == "a b?"


def test_a_title_of_ones_own_is_shown() -> None:
    record = SessionMetadata(id="r", title="Standup", kind="joined", created=0.0)
    assert record.shown_title == "Standup"
    assert (
        SessionMetadata(id="r", title="S", kind="joined", created=0.0, alias="Us").shown_title
        == "Us"
    )
