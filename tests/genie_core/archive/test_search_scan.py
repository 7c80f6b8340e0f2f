from pathlib import Path

from genie_core.archive.lines import encode_line
from genie_core.archive.search_hit import Searched
from genie_core.archive.search_scan import scan
from genie_core.archive.search_words import terms
from genie_core.room.protocol.events import ROOM, DecisionMade, Event, MessagePosted, RoomCreated


def session(base: Path, title: str, at: float) -> Searched:
    log = base / f"{title}.jsonl"
    events = [
        Event(1, at, ROOM, RoomCreated("r", title)),
        Event(2, at, "ann", MessagePosted("1", "plant the apples")),
        Event(3, at + 9, "ann", DecisionMade(2, "ignore", reason="no question about apples")),
    ]
    log.write_bytes(b"".join(map(encode_line, events)))
    return Searched(title, title, log, at)


def test_titles_come_first_then_what_was_said_and_the_newest(tmp_path: Path) -> None:
    sessions = [session(tmp_path, title, at) for title, at in (("Old", 1.0), ("Apples", 5.0))]
    missing = Searched("gone", "gone", tmp_path / "gone.jsonl")
    hits = scan([*sessions, missing], terms("apples"), 10)
    assert [(hit.session, hit.seq) for hit in hits] == [
        ("Apples", 0),
        ("Apples", 2),
        ("Old", 2),
        ("Apples", 3),
        ("Old", 3),
    ]
    assert hits[1].snippet.marks == ((10, 16),)
    assert len(scan(sessions, terms("apples"), 2)) == 2


def test_a_session_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    broken = Searched("broken", "broken", tmp_path / "folder")
    hits = scan([broken, session(tmp_path, "Good", 1.0)], terms("plant"), 10)
    assert [hit.session for hit in hits] == ["Good"]
