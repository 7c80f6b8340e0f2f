import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.genie_core.sessions.recorded import NOW, Recorded

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    DecisionMade,
    Event,
    MessagePosted,
)
from genie_core.sessions.errors import NoSuchEvent
from genie_core.sessions.excerpts import TranscriptLine
from genie_core.sessions.listing import OpenMode
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.retention import RetentionLimits
from genie_core.sessions.service import PREVIEWED, SessionService
from genie_core.storage.errors import StorageError


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def test_a_session_is_described(recorded: Recorded) -> None:
    saved = recorded.said("Garden", "what now?", "dig")
    saved.tag(["home", "work"])
    saved.update(seen=4, unread=1, parked=2)
    (row,) = recorded.store.rows()
    assert (row.id, row.title, row.way, row.host) == (saved.id, "Garden", OpenMode.HOST, "ann")
    assert (row.people, row.names, row.messages) == (1, ("ann",), 2)
    assert (row.tags, row.unread, row.parked) == (("home", "work"), 1, 2)
    assert row.size is not None
    assert row.size > 0
    assert row.preview == "ann: dig"
    assert recorded.store.rows(sized=False)[0].size is None


def test_how_one_gets_in_depends_on_whose_it_is(recorded: Recorded) -> None:
    mine = recorded.said("Mine", "hi").id
    catalog = recorded.catalog
    theirs = catalog.copy_of("r1", "Theirs", "ann", NOW, address="127.0.0.1:7").id
    others = catalog.copy_of("r1", "Theirs", "bob", NOW, address="127.0.0.1:7").id
    aside = catalog.copy_of("r2", "Aside", "ann", NOW).id
    imported = catalog.copy_of("r3", "Far", "bob", NOW, copied="import", origin="r3").id
    broken = recorded.said("Broken", "hi")
    (broken.folder / "room.json").write_text("{")
    ways = {row.id: row.way for row in recorded.store.rows()}
    assert ways == {
        mine: OpenMode.HOST,
        theirs: OpenMode.JOIN,
        others: OpenMode.WATCH,
        aside: OpenMode.WATCH,
        imported: OpenMode.HOST,
        broken.id: OpenMode.WATCH,
    }
    notes = [row.note for row in recorded.store.rows() if row.id == broken.id]
    assert "room.json" in notes[0]


def test_what_is_past_a_limit_is_told(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    old = recorded.said("Old", "hi", at=NOW - 100 * 86_400)
    for name in ("events.jsonl", "room.json"):
        os.utime(old.folder / name, (NOW - 100 * 86_400, NOW - 100 * 86_400))
    recorded.said("New", "hi")
    limited = SessionService(
        "ann",
        recorded.locations.sessions,
        recorded.locations.search,
        RetentionLimits(max_age_days=30),
        clock=lambda: NOW,
    )
    due = {row.title: row.due for row in limited.rows()}
    assert due == {"Old": "no activity for 30 days", "New": ""}
    assert (limited.past_limits(), recorded.store.past_limits()) == (1, 0)
    assert {row.due for row in recorded.store.rows()} == {""}
    with old.held():
        assert limited.past_limits() == 0
        assert {row.due for row in limited.rows()} == {""}


def test_open_session_shows_holder_and_read(recorded: Recorded) -> None:
    saved, other = recorded.said("Garden", "hi"), recorded.said("Kitchen", "hi")
    saved.update(unread=3)
    with saved.held("bob"):
        rows = {row.id: row for row in recorded.store.rows(sized=False)}
        held = rows[saved.id].holder
        assert held is not None
        assert (held.name, held.pid) == ("bob", os.getpid())
        assert (rows[saved.id].unread, rows[other.id].holder) == (0, None)
        assert recorded.store.holders() == {saved.id: held}
    assert recorded.store.holders() == {}
    assert {row.holder for row in recorded.store.rows()} == {None}


def test_what_happened_before_a_crash_is_listed(recorded: Recorded) -> None:
    saved = recorded.said("Garden", "hi")
    with saved.log_path.open("ab") as log:
        head = saved.metadata.head
        log.write(encode_line(Event(head + 1, NOW, "ann", MessagePosted("m9", "still here?"))))
    os.utime(saved.log_path, (4e9, 4e9))  # newer than the record, as after a crash
    assert recorded.store.rows(sized=False)[0].preview == "ann: hi"
    assert recorded.store.rows()[0].preview == "ann: still here?"


def test_the_last_of_what_was_said_is_read(recorded: Recorded) -> None:
    bodies: list[AnyBody] = [
        MessagePosted("1", "what now?"),
        DecisionMade(4, "delegate"),
        AnswerPosted(4, "dig"),
    ]
    saved = recorded.session("Garden", *bodies)
    assert recorded.store.last_lines(saved.id) == [
        TranscriptLine(4, NOW + 4, "ann", "what now?"),
        TranscriptLine(6, NOW + 6, "genie", "dig"),
    ]
    long = recorded.said("Long", *(str(number) for number in range(1_000)))
    texts = [line.text for line in recorded.store.last_lines(long.id)]
    assert texts == [str(number) for number in range(1_000 - PREVIEWED, 1_000)]


def test_what_was_said_is_found(recorded: Recorded) -> None:
    garden, _ = recorded.said("Garden", "plant Äpfel"), recorded.said("Kitchen", "bake")
    (hit,) = recorded.store.search("apfel", lambda: True).hits
    assert (hit.session, hit.seq) == (garden.id, 4)
    assert recorded.locations.search.exists()


def test_renaming_tags_and_forks_are_kept(recorded: Recorded) -> None:
    saved = recorded.said("Garden", "one", "two")
    recorded.store.rename(saved.id, "Orchard")
    recorded.store.tag(saved.id, ["home", "old"])
    recorded.store.tag(saved.id, [" #Work", "old"])
    assert recorded.store.rows()[0].title == "Orchard"
    assert recorded.store.rows()[0].tags == ("old", "Work")
    fresh = recorded.store.fork(saved.id, 4)
    assert recorded.titles() == {"Orchard", "Orchard (fork)"}
    assert [line.text for line in recorded.store.last_lines(fresh)] == ["one"]
    with pytest.raises(NoSuchEvent):
        recorded.store.fork(saved.id, 99)


def test_deleted_goes_to_trash_unless_open(recorded: Recorded) -> None:
    saved = recorded.said("Garden", "hi")
    with saved.held(), pytest.raises(SessionInUse):
        recorded.store.delete(saved.id)
    assert recorded.titles() == {"Garden"}
    recorded.store.delete(saved.id)
    assert recorded.titles() == set()
    assert (recorded.trash / saved.id / "events.jsonl").exists()


def test_vanished_session_is_clear_error(recorded: Recorded) -> None:
    recorded.said("Garden", "hi")
    for doing in (recorded.store.delete, recorded.store.fork):
        with pytest.raises(StorageError):
            doing("2026-01-01-gone-abcd")
    assert recorded.store.last_lines("2026-01-01-gone-abcd") == []


def test_listing_and_searching_load_no_engine(recorded: Recorded) -> None:
    recorded.said("Garden", "hi there")
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from genie_core.sessions.service import SessionService\n"
        "store = SessionService('ann', *map(Path, sys.argv[1:]))\n"
        "(row,) = store.rows()\n"
        "assert store.last_lines(row.id)\n"
        "assert store.search('there', lambda: True).hits\n"
        "store.fork(row.id)\n"
        "heavy = {'pydantic_ai', 'openai', 'agents', 'group_sense', 'genie_core.session'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    places = [recorded.locations.sessions, recorded.locations.search]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, places)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
