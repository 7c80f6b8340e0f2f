import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from genie_core.room.protocol.events import (
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RecoveredEvent,
    RoomCreated,
)
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.errors import DamagedSession, InvalidTag, NewerVersion
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.metadata import FORMAT, SessionMetadata
from genie_core.sessions.session import SavedSession
from genie_core.storage.errors import DiskFailure

RECORD = SessionMetadata(id="r1", title="Standup", kind="hosted", created=100.0, model="some model")


@pytest.fixture
def saved(tmp_path: Path) -> SavedSession:
    saved = SavedSession(tmp_path / "2026-11-21-standup-3fk9", RECORD)
    saved.write()
    return saved


def test_a_record_is_read_as_it_was_written(saved: SavedSession) -> None:
    loaded = SavedSession.load(saved.folder)
    assert loaded.metadata == RECORD
    assert loaded.id == "2026-11-21-standup-3fk9"
    path = saved.folder / "room.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["title"] == "Standup"


def test_newer_format_names_both_versions(saved: SavedSession) -> None:
    path = saved.folder / "room.json"
    path.write_text('{"version": 7, "all": "different"}')
    with pytest.raises(NewerVersion, match=r"format 7.*up to 3") as refusal:
        SavedSession.load(saved.folder)
    assert (refusal.value.found, refusal.value.known) == (7, FORMAT)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"version":1}', b"\xff", b"[" * 100_000, b'{"version":"1"}']
)
def test_damaged_record_names_file(saved: SavedSession, content: bytes) -> None:
    path = saved.folder / "room.json"
    path.write_bytes(content)
    with pytest.raises(DamagedSession, match=r"room\.json"):
        SavedSession.load(saved.folder)


def test_a_missing_record_is_one_too(tmp_path: Path) -> None:
    with pytest.raises(DamagedSession, match="No such file"):
        SavedSession.load(tmp_path)


def test_the_summary_follows_the_room(saved: SavedSession) -> None:
    state = RoomState()
    bodies: list[tuple[str, AnyBody]] = [
        ("", RoomCreated("r1", "Standup")),
        ("", HostStarted("hana")),
        ("hana", MemberJoined("host")),
        ("bob", MemberJoined("guest")),
        ("bob", MessagePosted("1", "hello")),
    ]
    for seq, (by, body) in enumerate(bodies, 1):
        state.apply(Event(seq, 100.0, by, body))
    saved.summarise(state, last_activity=200.0)
    record = SavedSession.load(saved.folder).metadata
    assert (record.host, record.people, record.messages) == ("hana", 2, 1)
    assert record.names == ("hana", "bob")
    assert record.last_activity == 200.0
    assert record.model == "some model"


def test_equal_update_writes_nothing(saved: SavedSession) -> None:
    path = saved.folder / "room.json"
    os.utime(path, (1.0, 1.0))
    saved.update(title="Standup")
    assert path.stat().st_mtime == 1.0
    saved.update(title="Retro")
    assert path.stat().st_mtime > 1.0
    assert SavedSession.load(saved.folder).metadata.title == "Retro"


async def test_log_and_engine_share_folder(saved: SavedSession) -> None:
    with saved.held(), saved.open_log().log as log:
        await log.append([Event(1, 1.0, "", RoomCreated("r1", "Standup"))])
        with pytest.raises(SessionInUse), SavedSession.load(saved.folder).held():
            pass
    assert saved.log_path.parent == saved.engine_path.parent == saved.folder
    assert len(saved.open_log().events) == 1


def test_failed_update_is_written_next_time(saved: SavedSession) -> None:
    obstacle = saved.folder / "room.json.new"
    obstacle.mkdir()
    for _ in range(2):
        with pytest.raises(DiskFailure, match=r"can't write .*room\.json: Is a directory"):
            saved.update(title="Retro")
    obstacle.rmdir()
    saved.update(title="Retro")
    assert SavedSession.load(saved.folder).metadata.title == "Retro"


def test_missing_folder_is_not_put_aside(saved: SavedSession, tmp_path: Path) -> None:
    saved.folder.rename(tmp_path / "elsewhere")
    with pytest.raises(DiskFailure, match="can't rename the folder"):
        saved.put_aside()


LOG = [
    Event(1, 1.0, "", RoomCreated("r1", "Standup")),
    Event(2, 2.0, "bob", MessagePosted("1", "hello")),
]


@pytest.mark.parametrize("left", [None, b""])
@pytest.mark.parametrize(
    ("known", "had"), [({"messages": 3}, "3 messages"), ({"address": "127.0.0.1:1"}, "a history")]
)
def test_a_log_that_is_gone_is_told(
    saved: SavedSession, left: bytes | None, known: dict[str, Any], had: str
) -> None:
    saved.update(**known)
    if left is not None:
        saved.log_path.write_bytes(left)
    with (opened := saved.open_log()).log:
        (problem,) = opened.problems
    assert f"{saved.log_path} is empty: this room had {had}" in problem


def test_lost_end_is_reported_once(saved: SavedSession) -> None:
    saved.update(messages=2)
    saved.log_path.write_bytes(b"".join(map(encode_line, LOG)))
    with (opened := saved.open_log()).log:
        assert opened.problems == [f"{saved.log_path} has only 1 of the 2 messages that it had"]
    saved.log_path.write_bytes(b"".join(map(encode_line, LOG)) + b"torn")
    with (opened := saved.open_log()).log:
        assert len(opened.problems) == 1


def test_recovered_message_is_not_missing(saved: SavedSession) -> None:
    brought = Event(
        3, 3.0, "carol", RecoveredEvent(Event(2, 2.0, "carol", MessagePosted("2", "only here")))
    )
    saved.update(messages=2)
    saved.log_path.write_bytes(b"".join(map(encode_line, [*LOG, brought])))
    with (opened := saved.open_log()).log:
        assert opened.problems == []


def test_a_new_room_lacks_nothing(saved: SavedSession) -> None:
    with (opened := saved.open_log()).log:
        assert opened.problems == []


@pytest.mark.parametrize("name", ["room.json", "events.jsonl"])
def test_a_pipe_is_refused_instead_of_waited_for(saved: SavedSession, name: str) -> None:
    (saved.folder / name).unlink(missing_ok=True)
    os.mkfifo(saved.folder / name)
    with pytest.raises(DamagedSession, match=f"{name} can't be read: it is not an ordinary file"):
        SavedSession.load(saved.folder).open_log()


def test_copy_knows_room_without_first_line(saved: SavedSession) -> None:
    saved.update(kind="joined")
    saved.log_path.write_bytes(b"damaged\n" + encode_line(LOG[1]))
    with (opened := saved.open_log()).log:
        assert opened.events[0].body == RoomCreated("r1", "Standup")
        assert opened.events[1:] == LOG[1:]
        assert any("line 1 is damaged" in problem for problem in opened.problems)


def test_rename_sets_title_or_own_alias(
    saved: SavedSession,
) -> None:
    saved.rename("Retro\n")
    assert (saved.metadata.title, saved.metadata.alias) == ("Retro", "")
    saved.update(kind="joined")
    saved.rename("Us")
    assert (saved.metadata.title, saved.metadata.alias) == ("Retro", "Us")
    state = RoomState()
    state.apply(Event(1, 1.0, "", RoomCreated("r1", "Their title")))
    saved.summarise(state, last_activity=5.0)
    assert saved.metadata.shown_title == "Us"


def test_tags_are_set_in_any_case(saved: SavedSession) -> None:
    assert saved.tag(["work", "#Urgent"]) == ("Urgent", "work")
    assert saved.tag(["WORK"]) == ("Urgent", "work")
    assert saved.tag(["later"], remove=["urgent"]) == ("later", "work")
    assert SavedSession.load(saved.folder).metadata.tags == ("later", "work")
    with pytest.raises(InvalidTag, match="at most 20 tags"):
        saved.tag(map(str, range(19)))
    assert SavedSession.load(saved.folder).metadata.tags == ("later", "work")


def test_what_another_process_changed_stays(saved: SavedSession) -> None:
    host = SavedSession.load(saved.folder)
    saved.tag(["work"])
    host.update(address="127.0.0.1:7654")
    assert SavedSession.load(saved.folder).metadata.tags == host.metadata.tags == ("work",)


def test_what_was_seen_only_grows(saved: SavedSession) -> None:
    saved.update(unread=3, head=10)
    saved.note_seen(8)
    saved.note_seen(5)
    assert (saved.metadata.seen, saved.metadata.unread) == (8, 3)
    saved.note_seen(10)
    assert (saved.metadata.seen, saved.metadata.unread) == (10, 0)


def test_summary_counts_waiting_and_unread(saved: SavedSession) -> None:
    saved.update(name="hana")
    saved.note_seen(3)
    state = RoomState()
    bodies: list[tuple[str, AnyBody]] = [
        ("", RoomCreated("r1", "Standup")),
        ("", HostStarted("hana")),
        ("bob", MessagePosted("1", "list the files", handler="hana")),
        ("hana", DecisionMade(3, "delegate", query="list")),
        ("hana", ApprovalRequested(3, "a1", "files", "list_files", {})),
        ("hana", ApprovalResolved(3, "a1", "parked")),
        ("bob", MessagePosted("2", "well?")),
    ]
    for seq, (by, body) in enumerate(bodies, 1):
        state.apply(Event(seq, 100.0, by, body))
    saved.summarise(state, last_activity=200.0)
    record = SavedSession.load(saved.folder).metadata
    assert (record.parked, record.unread, record.head) == (1, 1, 7)
    assert record.preview == "bob: well?"


def crashed(saved: SavedSession) -> None:
    """Leave a room as a program does that is killed: its log has more than its record tells."""
    saved.log_path.write_bytes(b"".join(map(encode_line, LOG)))
    os.utime(saved.log_path, (4e9, 4e9))


def test_record_catches_up_after_crash(saved: SavedSession) -> None:
    saved.rename("Mine")
    crashed(saved)
    assert saved.catch_up()
    record = SavedSession.load(saved.folder).metadata
    assert (record.messages, record.preview, record.head) == (1, "bob: hello", 2)
    assert (record.title, record.last_activity) == ("Mine", LOG[-1].at)


def test_open_room_blocks_catching_up(saved: SavedSession) -> None:
    crashed(saved)
    other = SavedSession.load(saved.folder)
    with other.held(), pytest.raises(SessionInUse):
        saved.catch_up()
    assert SavedSession.load(saved.folder).metadata.messages == 0


def test_open_room_record_follows_log(saved: SavedSession) -> None:
    before = saved.as_logged()
    assert before == saved.metadata
    crashed(saved)
    with SavedSession.load(saved.folder).held():
        (listing,) = Catalog(saved.folder.parent).all(sized=True)
        assert listing.messages == 1
        record = saved.as_logged()
    assert (record.messages, record.preview, record.head) == (1, "bob: hello", 2)
    assert record.last_activity == LOG[-1].at
    assert SavedSession.load(saved.folder).metadata == before


def test_catching_up_locks_out_nobody(saved: SavedSession, monkeypatch: pytest.MonkeyPatch) -> None:
    crashed(saved)
    state = LogReader.state

    def slowly(reader: LogReader) -> RoomState:
        with SavedSession.load(saved.folder).held():  # somebody comes in meanwhile, and writes
            with saved.log_path.open("ab") as log:
                log.write(encode_line(Event(3, 3.0, "bob", MessagePosted("2", "more"))))
            os.utime(saved.log_path, (5e9, 5e9))
        return state(reader)

    monkeypatch.setattr(LogReader, "state", slowly)
    assert not saved.catch_up()
    monkeypatch.undo()
    assert saved.catch_up()
    assert SavedSession.load(saved.folder).metadata.head == 3


@pytest.mark.parametrize("known", [{"head": 5}, {"messages": 2}])
def test_that_something_is_lost_is_not_forgotten(
    saved: SavedSession, known: dict[str, int]
) -> None:
    saved.update(**known)
    before = saved.metadata
    crashed(saved)
    assert not saved.catch_up()
    assert SavedSession.load(saved.folder).metadata == before


def test_later_record_write_hides_no_events(
    saved: SavedSession,
) -> None:
    crashed(saved)
    os.utime(saved.log_path, (5.0, 5.0))
    saved.note_seen(2)
    saved.tag(["garden"], [])
    with SavedSession.load(saved.folder).held():
        assert (saved.as_logged().messages, saved.as_logged().head) == (1, 2)
    assert saved.catch_up()
    record = SavedSession.load(saved.folder).metadata
    assert (record.messages, record.head, record.tags) == (1, 2, ("garden",))


def test_cleanly_closed_log_is_not_read(
    saved: SavedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not saved.catch_up()
    crashed(saved)
    assert saved.catch_up()

    def read(_: LogReader) -> RoomState:
        raise AssertionError("the log is read")

    monkeypatch.setattr(LogReader, "state", read)
    assert not saved.catch_up()
    assert saved.as_logged() == saved.metadata
