from pathlib import Path

import pytest

from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    AnyBody,
    Event,
    MemberJoined,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    QuotedLine,
    RecoveredEvent,
    RoomCreated,
)
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.errors import AmbiguousSession, UnknownSession
from genie_core.sessions.excerpts import MOST_CHARS, MOST_MESSAGES
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession


def room(base: Path, title: str, *said: tuple[str, AnyBody]) -> SavedSession:
    saved = Catalog(base).create(title, 1_790_000_000.0)
    events = [Event(1, 0.0, ROOM, RoomCreated(saved.id, title))]
    events += [Event(seq, float(seq), by, body) for seq, (by, body) in enumerate(said, 2)]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    return saved


def texts(saved: SavedSession, last: int = MOST_MESSAGES) -> list[tuple[str, str]]:
    return [(line.sender, line.text) for line in saved.quote(last).lines]


def test_messages_and_answers_are_quoted(tmp_path: Path) -> None:
    saved = room(
        tmp_path,
        "Garden",
        ("ann", MessagePosted("1", "what now?")),
        ("ann", AnswerPosted(2, "dig")),
        ("bob", MessagePosted("2", "waves", emote=True)),
        ("bob", MessagePosted("3", "")),
    )
    quote = saved.quote(50)
    assert (quote.room, quote.title) == (saved.id, "Garden")
    assert quote.lines[0] == QuotedLine("ann", "what now?", 2.0)
    assert texts(saved) == [("ann", "what now?"), ("genie", "dig"), ("bob", "* bob waves")]
    assert texts(saved, 1) == [("bob", "* bob waves")]


def test_recovered_message_is_in_its_place(tmp_path: Path) -> None:
    early = Event(9, 1.0, "carol", MessagePosted("9", "first"))
    saved = room(
        tmp_path, "Garden", ("ann", MessagePosted("1", "then")), ("bob", RecoveredEvent(early))
    )
    assert texts(saved) == [("carol", "first"), ("ann", "then")]


def test_messages_are_quoted_as_they_were_left(tmp_path: Path) -> None:
    saved = room(
        tmp_path,
        "Garden",
        ("ann", MessagePosted("1", "teh plan")),
        ("ann", MessagePosted("2", "the secret")),
        ("ann", MessageEdited(2, "the plan")),
        ("ann", MessageDeleted(3)),
    )
    assert texts(saved) == [("ann", "the plan")]


def test_the_oldest_give_way(tmp_path: Path) -> None:
    many = room(tmp_path, "Many", *(("ann", MessagePosted(str(n), str(n))) for n in range(500)))
    assert texts(many, 500) == [("ann", str(n)) for n in range(300, 500)]
    long = room(tmp_path, "Long", *(("ann", MessagePosted(str(n), "x" * 20_000)) for n in range(4)))
    assert len(texts(long)) == 2
    one = room(tmp_path, "One", ("ann", MessagePosted("1", "x" * 2 * MOST_CHARS)))
    ((_, text),) = texts(one)
    assert len(text) + len("ann") == MOST_CHARS


def test_damaged_log_is_quoted_unchanged(tmp_path: Path) -> None:
    saved = room(tmp_path, "Garden", ("ann", MessagePosted("1", "whole")))
    with saved.log_path.open("ab") as log:
        log.write(b'{"seq":3,"torn')
    before = saved.log_path.read_bytes()
    with saved.held():
        assert texts(saved) == [("ann", "whole")]
    assert saved.log_path.read_bytes() == before
    saved.log_path.unlink()
    assert texts(saved) == []


def test_a_room_is_found_by_id_or_title(tmp_path: Path) -> None:
    garden, other = room(tmp_path, "The Garden"), room(tmp_path, "Other")
    assert Catalog(tmp_path).find_titled("the garden").id == garden.id
    assert Catalog(tmp_path).find_titled(other.id).id == other.id
    with pytest.raises(UnknownSession):
        Catalog(tmp_path).find_titled("nothing like it")
    room(tmp_path, "other")
    with pytest.raises(AmbiguousSession):
        Catalog(tmp_path).find_titled("Other")


def test_an_agent_is_marked_as_one(tmp_path: Path) -> None:
    joined = MemberJoined("guest", kind="agent")
    saved = room(tmp_path, "Garden", ("bot", joined), ("bot", MessagePosted("1", "hello")))
    assert texts(saved) == [("bot (agent)", "hello")]
