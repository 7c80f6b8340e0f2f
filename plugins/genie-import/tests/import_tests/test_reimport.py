"""A second import of a conversation that has grown since the first one."""

import asyncio
from pathlib import Path

from tests.genie_core.room.live_room import Ear

from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import ResumeRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import MessageEdited, MessagePosted
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.check import check
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_import.record import RECORD_NAME
from genie_import.writer import HOSTED, ImportReport
from import_tests.exports import (
    asked,
    chat,
    events,
    imported,
    lines,
    written,
)

FIRST = asked("How do I thicken soup?")
ANSWER = asked("With a potato.", "assistant")
NEXT = asked("And with rice?")


def twice(tmp_path: Path, first: object, second: object) -> ImportReport:
    """Import two versions of an export; returns the report about the second one."""
    base = tmp_path / "data/sessions"
    assert imported(base, written(tmp_path / "first.json", first)).rooms
    return imported(base, written(tmp_path / "second.json", second))


def test_new_messages_are_added(tmp_path: Path) -> None:
    grown = chat(FIRST, ANSWER, NEXT, asked("That, too.", "assistant"))
    report = twice(tmp_path, [chat(FIRST, ANSWER)], [grown])
    (room,) = report.rooms
    assert (room.is_new, room.messages, room.answers) == (False, 1, 1)
    assert lines(room.saved) == [
        "ann: How do I thicken soup?",
        "genie: With a potato.",
        "ann: And with rice?",
        "genie: That, too.",
    ]
    assert {file.stat().st_mode & 0o777 for file in room.saved.folder.iterdir()} == {0o600}
    found = check(room.saved.folder)
    assert (found.problems, found.remarks) == ([], [])
    metadata = SavedSession.load(room.saved.folder).metadata
    assert (metadata.messages, metadata.unread) == (2, 0)
    assert metadata.head == events(room.saved)[-1].seq
    assert metadata.preview == "genie: That, too."


def test_same_export_adds_nothing(tmp_path: Path) -> None:
    thought = {**ANSWER, "content": {"content_type": "thoughts", "thoughts": ["Hm"]}}
    export = [chat(FIRST, thought, ANSWER)]
    report = twice(tmp_path, export, export)
    assert (report.rooms, report.known, report.waiting) == ([], ["Soup"], [])
    (saved,) = Catalog(tmp_path / "data/sessions").all()
    assert saved.messages == 1


def test_earlier_export_adds_nothing(tmp_path: Path) -> None:
    report = twice(tmp_path, [chat(FIRST, ANSWER, NEXT)], [chat(FIRST, ANSWER)])
    assert (report.rooms, report.known) == ([], ["Soup"])


def test_answer_to_last_question_is_added(tmp_path: Path) -> None:
    (room,) = twice(tmp_path, [chat(FIRST)], [chat(FIRST, ANSWER)]).rooms
    assert lines(room.saved) == ["ann: How do I thicken soup?", "genie: With a potato."]


def test_edited_message_is_an_edit(tmp_path: Path) -> None:
    edited = {**FIRST, **asked("How do I thicken plum soup?")}
    (room,) = twice(tmp_path, [chat(FIRST, ANSWER)], [chat(edited, ANSWER)]).rooms
    assert (room.messages, room.edits) == (0, 1)
    (edit,) = (each.body for each in events(room.saved) if isinstance(each.body, MessageEdited))
    assert edit.text == "How do I thicken plum soup?"
    with room.saved.reader() as log:
        (message,) = log.state().threads.values()
    assert message.text == "How do I thicken plum soup?"


def test_changed_answer_is_named(tmp_path: Path) -> None:
    changed = chat(FIRST, asked("With flour.", "assistant"), NEXT)
    (room,) = twice(tmp_path, [chat(FIRST, ANSWER)], [changed]).rooms
    assert room.left == {"answer that changed since it was imported": 1}
    assert "With flour." in room.left_path.read_text()


def test_other_branch_is_added_and_named(tmp_path: Path) -> None:
    regenerated = chat(FIRST, ANSWER, current_node="new")
    message = {**asked("With rice.", "assistant"), "id": "m9"}
    regenerated["mapping"]["new"] = {"parent": "0", "message": message}
    (room,) = twice(tmp_path, [chat(FIRST, ANSWER)], [regenerated]).rooms
    assert lines(room.saved) == [
        "ann: How do I thicken soup?",
        "genie: With a potato.",
        "ChatGPT: With rice.",
    ]
    assert room.left == {"message of another branch, which the room has": 1}


def test_log_without_ids_grows(tmp_path: Path) -> None:
    base, log = tmp_path / "sessions", tmp_path / "#garden.weechatlog"
    text = "2024-06-06 23:22:29\tann\thello\n2024-06-06 23:22:29\tann\thello\n" * 3
    log.write_text(text)
    (first,) = imported(base, log).rooms
    assert first.messages == 6
    log.write_text(f"{text}2024-06-06 23:22:29\tann\thello\n2024-06-07 08:00:00\tbob\tbye\n")
    (room,) = imported(base, log).rooms
    assert room.messages == 2
    assert lines(room.saved) == ["ann: hello"] * 7 + ["bob: bye"]


def test_interrupted_import_is_repeated(tmp_path: Path) -> None:
    base = tmp_path / "sessions"
    first = written(tmp_path / "1.json", [chat(FIRST)])
    second = written(tmp_path / "2.json", [chat(FIRST, ANSWER, NEXT)])
    (room,) = imported(base, first).rooms
    log, before = room.saved.log_path, room.saved.log_path.read_bytes()
    imported(base, second)
    log.write_bytes(before)  # the record is written before the log
    (again,) = imported(base, second).rooms
    assert (again.messages, again.answers) == (1, 1)
    assert lines(again.saved)[1:] == ["genie: With a potato.", "ann: And with rice?"]


def test_copy_is_a_room_of_its_own(tmp_path: Path) -> None:
    base, file = tmp_path / "sessions", written(tmp_path / "c.json", [chat(FIRST)])
    imported(base, file)
    (copy,) = imported(base, file, as_copy=True).rooms
    assert copy.is_new
    assert len(Catalog(base).ids()) == 2


def test_room_open_elsewhere_is_named(tmp_path: Path) -> None:
    base = tmp_path / "sessions"
    (room,) = imported(base, written(tmp_path / "1.json", [chat(FIRST)])).rooms
    with room.saved.held():
        report = imported(base, written(tmp_path / "2.json", [chat(FIRST, NEXT)]))
    ((title, count, why),) = report.waiting
    assert (title, count) == ("Soup", 1)
    assert "is open in process" in why


def test_room_without_record_is_known(tmp_path: Path) -> None:
    base, file = tmp_path / "sessions", written(tmp_path / "c.json", [chat(FIRST)])
    (room,) = imported(base, file).rooms
    (room.saved.folder / RECORD_NAME).unlink()
    assert imported(base, file).known == ["Soup"]


async def test_hosted_room_counts_new_messages(tmp_path: Path) -> None:
    base = tmp_path / "data/sessions"
    first = written(tmp_path / "1.json", [chat(FIRST, ANSWER)])
    (room,) = (await asyncio.to_thread(imported, base, first)).rooms
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "log")
    opener = RoomOpener("ann", Settings(local=True), locations)
    opened = await opener.enter(ResumeRoom(room.saved.id), Ear())
    assert isinstance(opened, JoinedRoom)
    await opened.leave()
    before = room.saved.log_path.read_bytes()
    second = written(tmp_path / "2.json", [chat(FIRST, ANSWER, NEXT)])
    report = await asyncio.to_thread(imported, base, second)
    assert (report.rooms, report.known) == ([], [])
    assert report.waiting == [("Soup", 1, HOSTED)]
    assert room.saved.log_path.read_bytes() == before


def test_reply_to_known_message(tmp_path: Path) -> None:
    base = tmp_path / "sessions"
    old = {"id": "1", "author": {"id": "9", "name": "bob"}, "content": "seeds?"}
    new = {**old, "id": "2", "content": "yes", "reference": {"messageId": "1"}}
    for number, messages in enumerate(([old], [old, new])):
        export = {"channel": {"id": "4"}, "messages": messages}
        (room,) = imported(base, written(tmp_path / f"{number}.json", export)).rooms
    replies = [
        (each.by, each.seq, each.body.reply_to)
        for each in events(room.saved)
        if isinstance(each.body, MessagePosted)
    ]
    assert [(by, to) for by, _, to in replies] == [("bob", 0), ("bob", replies[0][1])]
