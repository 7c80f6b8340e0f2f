import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

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
    RecoveredEvent,
    RoomCreated,
    RunFailed,
)
from genie_core.sessions.catalog import Catalog, Listing
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.search import store as search_store
from genie_core.sessions.search.documents import Document, SearchHit
from genie_core.sessions.search.index import (
    IndexBusy,
    SearchIndex,
    SearchResult,
    index_session,
    search_sessions,
)
from genie_core.sessions.session import SavedSession
from genie_core.text.format import local_time

NOW = 1_790_000_000.0


class House:
    """Sessions in a folder, and an index over them."""

    def __init__(self, base: Path) -> None:
        self.sessions = base / "sessions"
        self.path = base / "cache" / "search.sqlite3"
        self.index = SearchIndex(self.path)

    def room(self, title: str, *bodies: AnyBody) -> SavedSession:
        saved = Catalog(self.sessions).create(title, NOW)
        self.log(saved, RoomCreated(saved.id, title), *bodies)
        return saved

    def log(self, saved: SavedSession, *bodies: AnyBody, mode: str = "wb", first: int = 1) -> None:
        with saved.log_path.open(mode) as log:
            for seq, body in enumerate(bodies, first):
                log.write(encode_line(Event(seq, NOW + seq, "ann" if seq > 1 else ROOM, body)))

    def all(self) -> list[Listing]:
        return Catalog(self.sessions).all()

    def hits(self, text: str) -> tuple[SearchHit, ...]:
        return self.index.look_up(self.all(), text).hits

    def found(self, text: str) -> list[tuple[str, int, str]]:
        return [(hit.session, hit.seq, hit.kind) for hit in self.hits(text)]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_messages_are_found_as_they_were_left(house: House) -> None:
    file = FileRef("0" * 64, "plan.pdf", 3)
    saved = house.room(
        "Garden",
        MessagePosted("1", "teh apples", files=(file,)),
        MessagePosted("2", "the secret"),
        MessageEdited(2, "the pears"),
        MessageEdited(2, "the plums"),
    )
    assert [house.found(text) for text in ("apples", "pears")] == [[], []]
    message = [(saved.id, 2, "message")]
    assert [house.found(text) for text in ("plums", "plan")] == [message, message]
    assert house.found("secret") == [(saved.id, 3, "message")]
    house.log(saved, MessageDeleted(3), MessageEdited(3, "again"), mode="ab", first=6)
    assert [house.found(text) for text in ("secret", "again")] == [[], []]


def test_recovered_edit_fits_its_message(house: House) -> None:
    saved = house.room(
        "Garden",
        MessagePosted("1", "another apple"),
        RecoveredEvent(Event(2, NOW, "ann", MessagePosted("2", "the pear"))),
        RecoveredEvent(Event(3, NOW, "ann", MessageEdited(2, "the plum"))),
    )
    assert house.found("plum") == [(saved.id, 3, "message")]
    assert house.found("apple") == [(saved.id, 2, "message")]
    assert house.found("pear") == []


def test_a_hit_tells_where_it_stands(house: House) -> None:
    saved = house.room(
        "Garden", MessagePosted("1", "When do we\nplant the Äpfel?"), AnswerPosted(2, "In May.")
    )
    (hit,) = house.hits("apfel")
    assert (hit.session, hit.title, hit.seq, hit.message) == (saved.id, "Garden", 2, 2)
    assert (hit.at, hit.by, hit.kind) == (NOW + 2, "ann", "message")
    assert hit.snippet.text == "When do we plant the Äpfel?"
    assert [hit.snippet.text[low:high] for low, high in hit.snippet.marks] == ["Äpfel"]
    (answer,) = house.hits("may")
    assert (answer.seq, answer.message, answer.by) == (3, 2, "genie")


def test_all_words_must_occur_wherever_they_are(house: House) -> None:
    house.room("One", MessagePosted("1", "plant apples in May"), MessagePosted("2", "eat apples"))
    assert [seq for _, seq, _ in house.found("apples pla")] == [2]
    assert len(house.found("pple")) == 2
    assert house.found('"apples plant"') == []
    assert [seq for _, seq, _ in house.found('"plant apples"')] == [2]
    assert [seq for _, seq, _ in house.found("apples -plant")] == [3]
    assert [seq for _, seq, _ in house.found(r"/\bea./")] == [3]
    assert house.found('"') == house.found("") == []


def test_whole_word_ranks_first(house: House) -> None:
    house.room("One", MessagePosted("1", "art"), MessagePosted("2", "start"))
    assert [seq for _, seq, _ in house.found("art")] == [2, 3]


def test_the_kinds_that_people_know_are_found(house: House) -> None:
    saved = house.room(
        "One",
        MessagePosted("1", "list them"),
        DecisionMade(2, "delegate", reason="It asks."),
        ApprovalRequested(2, "a", "genie", "list_files", {"path": "notes"}),
        ApprovalResolved(2, "a", "parked"),
        MessagePosted("2", "thanks"),
        DecisionMade(6, "ignore"),
        AnswerPosted(2, "plan.txt"),
        RunFailed(2, "agent", "the model is gone"),
    )

    def of(kind: str) -> list[int]:
        return sorted(seq for _, seq, _ in house.found(f"kind:{kind}"))

    assert [of(kind) for kind in ("message", "answer", "failed")] == [[2, 6], [8], [9]]
    assert [of(kind) for kind in ("decision", "silent", "title")] == [[3, 7], [7], [0]]
    assert [of(kind) for kind in ("approval", "parked", "denied")] == [[4], [4], []]
    house.log(saved, ApprovalResolved(2, "a", "denied", reason="not now"), mode="ab", first=10)
    assert [of(kind) for kind in ("approval", "parked", "denied")] == [[4], [], [4]]
    assert house.hits('kind:denied "not now"')[0].snippet.text == "list_files notes not now"


def test_fields_narrow_what_is_found(house: House) -> None:
    file = FileRef("0" * 64, "plan.pdf", 3)
    garden = house.room("Garden", MessagePosted("1", "apples", files=(file,)))
    house.room("Kitchen", MessagePosted("1", "apples"))
    assert len(house.found("apples from:ANN")) == 2
    assert house.found("apples from:bob") == []
    for narrow in ("in:gard", f"in:{garden.id}", "has:file", "-in:kitchen"):
        assert house.found(f"apples {narrow}") == [(garden.id, 2, "message")]
    year = local_time(NOW).year
    assert len(house.found(f"apples after:{year} before:{year + 1}")) == 2
    assert house.found(f"apples before:{year}") == house.found(f"apples after:{year + 1}") == []


def test_many_parts_are_searched_and_changed(house: House) -> None:
    saved = house.room("One", *(MessagePosted(str(n), f"apple {n:03} " * 50) for n in range(500)))
    assert len(house.found('"apple 417"')) == 1
    house.log(saved, MessageEdited(419, "a pear"), MessageDeleted(10), mode="ab", first=502)
    assert house.found('"apple 417"') == house.found('"apple 008"') == []
    assert house.found("pear") == [(saved.id, 419, "message")]
    house.log(saved, MessagePosted("x", "plum"), mode="ab", first=504)
    assert [house.found(each) for each in ("plum", '"apple 499"')] == [
        [(saved.id, 504, "message")],
        [(saved.id, 501, "message")],
    ]


@pytest.mark.parametrize("number", [1 << 63, 1 << 64, -(1 << 70)])
def test_change_of_impossible_message_is_ignored(house: House, number: int) -> None:
    changes = MessageEdited(number, "pears"), MessageDeleted(number)
    house.room("One", MessagePosted("1", "apples"), *changes, MessagePosted("2", "apples"))
    assert [seq for _, seq, _ in house.found("apples")] == [5, 2]


def test_messages_and_newer_rank_first(
    house: House,
) -> None:
    house.room(
        "One", MessagePosted("1", "the budget"), DecisionMade(2, "ignore", reason="the budget")
    )
    house.room("Budget", MessagePosted("1", "nothing"))
    kinds = [kind for _, _, kind in house.found("budget")]
    assert kinds == ["title", "message", "silent"]
    texts = [MessagePosted(str(n), "a word") for n in range(3)]
    house.room("Two", *texts)
    assert [seq for _, seq, _ in house.found("word")] == [4, 3, 2]


def test_passed_on_text_is_found_once(house: House) -> None:
    asked = 'ann asks:\n> how much?\n\nRecent messages:\n{"text": "the budget"}'
    house.room("One", MessagePosted("1", "the budget"), MessagePosted("2", "how much?"))
    house.room(
        "Two",
        MessagePosted("1", "how much?"),
        DecisionMade(2, "delegate", query=asked, reason="It asks."),
    )
    assert [kind for _, _, kind in house.found("budget")] == ["message"]


def test_what_is_appended_is_taken_in_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = house.room("One", MessagePosted("1", "first"))
    assert len(house.found("first")) == 1
    added: list[int] = []
    add = search_store.SearchStore.add

    def count(
        store: search_store.SearchStore, room: search_store.IndexedLog, found: Document
    ) -> None:
        added.append(found.seq)
        add(store, room, found)

    monkeypatch.setattr(search_store.SearchStore, "add", count)
    house.found("first")
    assert added == []
    house.log(saved, MessagePosted("2", "second"), mode="ab", first=3)
    assert house.found("second") == [(saved.id, 3, "message")]
    assert added == [3]
    assert len(house.found("first")) == 1


def rewrite(house: House, saved: SavedSession) -> None:
    house.log(
        saved,
        RoomCreated(saved.id, "One"),
        *(MessagePosted(str(n), "other words") for n in range(9)),
    )


def replace_by_another(house: House, saved: SavedSession) -> None:
    aside = saved.log_path.with_name("aside")
    saved.log_path.rename(aside)
    rewrite(house, saved)


def shorten(house: House, saved: SavedSession) -> None:
    house.log(saved, RoomCreated(saved.id, "One"))


@pytest.mark.parametrize("change", [rewrite, replace_by_another, shorten])
def test_a_log_that_is_another_is_read_anew(
    house: House, change: Callable[[House, SavedSession], None]
) -> None:
    saved = house.room("One", MessagePosted("1", "first"), MessagePosted("2", "second"))
    assert len(house.found("first")) == 1
    change(house, saved)
    assert house.found("first") == []


def test_changed_sessions_are_noticed(house: House) -> None:
    garden, kitchen = (
        house.room(title, MessagePosted("1", "apples")) for title in ("Garden", "Kitchen")
    )
    assert len(house.found("apples")) == 2
    shutil.rmtree(kitchen.folder)
    garden.update(title="Orchard")
    assert house.found("apples") == [(garden.id, 2, "message")]
    assert house.found("garden") == []
    assert house.found("orchard") == [(garden.id, 0, "title")]
    assert house.hits("apples")[0].title == "Orchard"
    shutil.copytree(garden.folder, garden.folder.with_name("copy"))
    assert {id_ for id_, _, _ in house.found("apples")} == {garden.id, "copy"}


def test_damaged_session_spoils_no_other(house: House) -> None:
    good, bad = (
        house.room("Good", MessagePosted("1", "apples")),
        house.room("Bad", MessagePosted("1", "apples")),
    )
    bad.log_path.unlink()
    os.mkfifo(bad.log_path)
    found = search_sessions(house.path, house.sessions, "apples")
    assert [hit.session for hit in found.hits] == [good.id]
    assert len(found.notes) == 1
    assert str(bad.log_path) in found.notes[0]


def test_unstorable_text_is_found(house: House) -> None:
    house.room("Odd \0 title", MessagePosted("1", "before\0after \x1f\ufdd1 odd"))
    (hit,) = search_sessions(house.path, house.sessions, "after").hits
    assert hit.snippet.text == "before after \ufdd1 odd"


def test_odd_folder_name_spoils_no_other(house: House) -> None:
    whole = house.room("Whole", MessagePosted("1", "hello"))
    strange = house.room("Strange", MessagePosted("1", "hello"))
    name = os.fsencode(strange.folder) + b"\xff"
    os.rename(os.fsencode(strange.folder), name)  # noqa: PTH104 - the name is no text
    found = search_sessions(house.path, house.sessions, "hello")
    assert [hit.session for hit in found.hits] == [whole.id]
    (note,) = found.notes
    assert "rename the folder" in note


def test_huge_numbers_spoil_no_index(house: House) -> None:
    saved = house.room("Garden", MessagePosted("1", "hello"))
    with saved.log_path.open("ab") as log:
        log.write(b"junk\n")  # from here on a log may speak of messages that are lost
    decided = DecisionMade(10**30, "ignore", reason="nobody said hello")
    house.log(saved, decided, mode="ab", first=4)
    assert [place[1] for place in house.found("hello")] == [2, 4]


def damage(path: Path) -> None:
    path.write_bytes(b"no database at all" * 500)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def scribble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4_096:] = b"\x55" * (len(data) - 4_096)
    path.write_bytes(data)


def another_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE room")
    connection.execute("PRAGMA user_version = 999")
    connection.close()


def lose_a_table(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE room")
    connection.close()


@pytest.mark.parametrize(
    "break_it", [Path.unlink, damage, cut, scribble, another_version, lose_a_table]
)
def test_missing_or_damaged_is_rebuilt(house: House, break_it: Callable[[Path], None]) -> None:
    saved = house.room("One", *(MessagePosted(str(n), "apples and pears") for n in range(300)))
    assert len(house.found("apples")) == 50
    for ending in ("-wal", "-shm"):
        house.path.with_name(house.path.name + ending).unlink(missing_ok=True)
    break_it(house.path)
    assert len(search_sessions(house.path, house.sessions, "apples").hits) == 50
    assert house.hits("pears")[0].session == saved.id


def test_only_its_owner_can_read_the_index(house: House) -> None:
    house.room("One", MessagePosted("1", "apples"))
    assert house.found("apples")
    with closing(sqlite3.connect(house.path)) as reader:  # keeps what SQLite has beside the file
        reader.execute("SELECT count(*) FROM room").fetchone()
        files = list(house.path.parent.iterdir())
        assert len(files) == 3
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(house.path.parent.stat().st_mode) == 0o700


def told_why(found: SearchResult) -> bool:
    (note,) = found.notes
    return "no search index" in note


def test_without_index_logs_are_read(house: House) -> None:
    saved = house.room(
        "Garden", MessagePosted("1", "plant Äpfel"), DecisionMade(2, "ignore", reason="apfel")
    )
    (house.sessions / "broken" / "events.jsonl").mkdir(parents=True)
    house.path.parent.write_text("a file stands here")
    found = search_sessions(house.path, house.sessions, "apfel")
    assert {(hit.session, hit.seq) for hit in found.hits} == {(saved.id, 2), (saved.id, 3)}
    assert told_why(found)


def test_two_processes_may_search_at_once(house: House) -> None:
    for number in range(20):
        house.room(f"Room {number}", *(MessagePosted(str(n), "apples") for n in range(100)))
    code = (
        "import sys; from pathlib import Path; from genie_core.sessions.search.index import *\n"
        "found = search_sessions(Path(sys.argv[1]), Path(sys.argv[2]), 'apples', 5000)\n"
        "print(len(found.hits), found.notes)"
    )
    command = [sys.executable, "-c", code, str(house.path), str(house.sessions)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [each.communicate()[0] for each in running] == ["2000 ()\n"] * 3


def test_index_creation_is_waited_for(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.room("One", MessagePosted("1", "apples"))
    house.path.parent.mkdir()
    with closing(sqlite3.connect(house.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(search_store, "sleep", lambda _: other.execute("ROLLBACK"))
        assert len(house.found("apples")) == 1


def test_locked_index_gives_known_hits(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_store, "PATIENCE", 0.01)
    house.room("One", MessagePosted("1", "apples"))
    assert len(house.found("apples")) == 1
    house.room("Two", MessagePosted("1", "apples"))
    with closing(sqlite3.connect(house.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        found = search_sessions(house.path, house.sessions, "apples")
        assert len(found.hits) == 1
        assert "is being written" in found.notes[0]
        with pytest.raises(IndexBusy):
            house.index.refresh(house.all())
        other.execute("ROLLBACK")
    assert len(house.found("apples")) == 2


def test_unwanted_refresh_stops_and_resumes(house: House) -> None:
    for number in range(5):
        house.room(f"Room {number}", MessagePosted("1", "apples"))
    wanted = iter([True, True, False])
    house.index.refresh(house.all(), lambda: next(wanted))
    found = house.index.look_up(house.all(), "apples", is_wanted=lambda: False)
    assert found.hits == ()
    assert len(house.found("apples")) == 5


def test_index_survives_kill_while_writing(house: House) -> None:
    house.room("One", MessagePosted("1", "apples"))
    assert len(house.found("apples")) == 1
    two = house.room("Two", MessagePosted("1", "apples"))
    code = (
        "import os, sys; from pathlib import Path; from genie_core.sessions.search import index\n"
        "index.SearchStore.note = lambda *_: os._exit(9)  # as late as can be\n"
        "index.index_session(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(house.path), str(two.folder)])
    assert done.returncode == 9
    store = search_store.SearchStore.open(house.path)
    with closing(store):
        assert two.id not in store.rooms()
    assert len(house.found("apples")) == 2


def test_one_session_is_indexed_alone(house: House) -> None:
    one, two = (house.room(title, MessagePosted("1", "apples")) for title in ("One", "Two"))
    index_session(house.path, one.folder)
    index_session(house.path, two.folder.with_name("gone"))
    store = search_store.SearchStore.open(house.path)
    with closing(store):
        assert set(store.rooms()) == {one.id}


SECRET = "xylophonist"


def bytes_of(house: House) -> bytes:
    """What is in the files of the index, whether or not it can still be found."""
    return b"".join(each.read_bytes() for each in house.path.parent.iterdir())


def delete_and_forget(house: House, saved: SavedSession) -> None:
    shutil.rmtree(saved.folder)
    house.index.forget([saved.id])


def delete_and_refresh(house: House, saved: SavedSession) -> None:
    shutil.rmtree(saved.folder)
    house.index.refresh(house.all())


def rename_and_write_anew(house: House, saved: SavedSession) -> None:
    saved.rename("Garden")
    house.log(saved, RoomCreated(saved.id, "Garden"), MessagePosted("1", "nothing"))
    house.index.refresh(house.all())


def delete_and_edit_messages(house: House, saved: SavedSession) -> None:
    saved.rename("Garden")
    changes = [
        MessageDeleted(seq) if seq % 2 else MessageEdited(seq, "nothing") for seq in range(2, 502)
    ]
    house.log(saved, *changes, mode="ab", first=502)
    house.index.refresh(house.all())


@pytest.mark.parametrize(
    "remove",
    [
        delete_and_forget,
        delete_and_refresh,
        rename_and_write_anew,
        delete_and_edit_messages,
    ],
)
@pytest.mark.parametrize("open_elsewhere", [False, True])
def test_deleted_text_leaves_all_files(
    house: House, remove: Callable[[House, SavedSession], None], *, open_elsewhere: bool
) -> None:
    house.room("Other", *(MessagePosted(str(n), f"some words {n}") for n in range(500)))
    saved = house.room("Ours", *(MessagePosted(str(n), f"{SECRET} {n}") for n in range(500)))
    saved.rename(f"Our {SECRET}")
    house.index.refresh(house.all())
    assert SECRET.encode() in bytes_of(house)
    reader = sqlite3.connect(house.path)  # keeps SQLite from removing its files with the last close
    with closing(reader):
        if open_elsewhere:
            assert reader.execute("SELECT count(*) FROM room").fetchone() == (2,)
        remove(house, saved)
        assert SECRET.encode() not in bytes_of(house)
    assert len(house.hits("words")) == 50


def test_forgetting_without_index_is_noop(house: House) -> None:
    house.index.forget(["a", "b"])
    assert not house.path.exists()


def test_unchangeable_index_is_removed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = house.room("One", MessagePosted("1", SECRET))
    house.index.refresh(house.all())

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("the disk is full")

    monkeypatch.setattr(search_store.SearchStore, "forget", full)
    house.index.forget([saved.id])
    assert not list(house.path.parent.iterdir())
