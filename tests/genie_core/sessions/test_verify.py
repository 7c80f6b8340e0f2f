"""Who signed what in a saved session."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.docs.sample_log import ANN, BOB, sample_lines
from tests.genie_core.room.founded import FoundedLog, founded, unsigned
from tests.genie_core.sessions.sample import saved_room

from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MessageEdited,
    MessagePosted,
    RoomCreated,
)
from genie_core.room.state.proofs import NO_MESSAGE, OUT_OF_CHAIN, REPEATED, UNSIGNED
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.sessions.verify import NOT_FOUNDED, Verification, verify_session
from genie_core.storage.blobs import BLOBS_NAME


def saved(base: Path, events: Iterable[Event]) -> SavedSession:
    made = Catalog(base).create("Team", 1.0, host="ann", name="ann")
    made.log_path.write_bytes(b"".join(map(encode_line, events)))
    return made


def verified(base: Path, events: Iterable[Event]) -> Verification:
    return verify_session(saved(base, events).folder)


def talk() -> FoundedLog:
    log = founded("bob", listed=False)
    said = log.says("bob", "shall we?").seq
    log.add("ann", DecisionMade(log.says("ann").seq, "ignore"))
    assert said == 5
    return log


def test_a_log_as_people_sign_it_is_proven(tmp_path: Path) -> None:
    found = verified(tmp_path, talk().events)
    assert found.is_proven
    assert (found.title, found.entries, found.signed) == ("Team", 7, 7)
    assert {name: count for (name, _), count in found.signers.items()} == {"ann": 5, "bob": 2}


def test_repeated_entry_is_unproven(tmp_path: Path) -> None:
    log = talk()
    repeated = log.take(replace(log.events[4], seq=log.state.head + 1, parent=log.state.link))
    found = verified(tmp_path, log.events)
    assert [(each.seq, each.why) for each in found.unproven] == [(repeated.seq, REPEATED)]


def test_doc_sample_is_proven_but_for_loss(tmp_path: Path) -> None:
    made = Catalog(tmp_path).create("Standup", 1.0)
    made.log_path.write_bytes(b"".join(sample_lines()))
    found = verify_session(made.folder)
    assert [each.why for each in found.unproven] == ["the log is damaged here"]
    assert {key for _, key in found.signers} == {ANN.key, BOB.key}


@pytest.mark.parametrize("place", range(1, 7))
def test_each_change_is_found_and_told(tmp_path: Path, place: int) -> None:
    events = talk().events
    events[place] = unsigned(events[place])
    found = verified(tmp_path, events)
    assert not found.is_proven
    assert (found.unproven[0].seq, found.unproven[0].by) == (place + 1, events[place].by)
    assert found.unproven[0].why == UNSIGNED
    if place + 1 < len(events):
        assert found.unproven[1].why == OUT_OF_CHAIN


def test_swapped_and_missing_entries_are_found(tmp_path: Path) -> None:
    events = talk().events
    swapped = [*events[:4], replace(events[5], seq=5), replace(events[4], seq=6), events[6]]
    assert not verified(tmp_path / "swapped", swapped).is_proven
    missing = verified(tmp_path / "missing", [*events[:4], *events[5:]])
    assert not missing.is_proven
    assert missing.problems == ["event 5 before line 5 can't be read"]


def test_change_of_unknown_is_unproven(tmp_path: Path) -> None:
    log = founded("bob", listed=False)
    said = log.next("bob", MessagePosted("m", "x", "bob"))
    stray = replace(said, body=MessageEdited(3, "y", signature=b"s" * 64))
    found = verified(tmp_path, [*log.events, stray])
    assert [each.why for each in found.unproven] == [NO_MESSAGE]


def test_contradicting_step_is_unproven(tmp_path: Path) -> None:
    log = founded("bob", listed=False)
    said = log.next("ann", MessagePosted("m", "x", "ann"))
    found = verified(tmp_path, [*log.events, replace(said, body=AnswerPosted(3, "391"))])
    assert [each.why for each in found.unproven] == ["event 5 speaks of the unknown message 3"]


def test_unfounded_room_proves_nothing(tmp_path: Path) -> None:
    events = [
        Event(1, 1.0, "", RoomCreated("r1", "Standup")),
        Event(2, 2.0, "", HostStarted("ann", key=ANN.key)),
        Event(3, 3.0, "ann", MemberJoined("host", key=ANN.key)),
        Event(4, 4.0, "ann", MessagePosted("m1", "hello", "ann")),
    ]
    found = verified(tmp_path, events)
    assert [(each.seq, each.why) for each in found.unproven] == [(4, NOT_FOUNDED)]
    assert found.signed == 0


def test_damaged_lines_and_files_are_problems(tmp_path: Path) -> None:
    content = b"as it was"
    digest = sha256(content).hexdigest()
    log = founded("bob", listed=False)
    file = FileRef(digest, "a.txt", len(content), "text/plain")
    log.add("bob", MessagePosted("m", "see this", "bob", files=(file,)))
    made = saved(tmp_path, log.events)
    assert verify_session(made.folder).is_proven
    blobs = made.folder / BLOBS_NAME
    blobs.mkdir()
    (blobs / digest).write_bytes(content[::-1])
    (problem,) = verify_session(made.folder).problems
    assert problem.startswith(f"the file {digest[:12]}… is damaged")
    with made.log_path.open("ab") as out:
        out.write(b"unfinished")
    assert len(verify_session(made.folder).problems) == 1
    with made.log_path.open("ab") as out:
        out.write(b"\n")
    assert not verify_session(made.folder).is_proven


def test_nothing_is_changed(tmp_path: Path) -> None:
    made = saved_room(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")}
    verify_session(made.folder)
    assert {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")} == before
