"""The copies that a person has of rooms of others."""

from pathlib import Path

from tests.genie_core.room.open.test_opener import LOCAL, places

from genie_core.room.open.join import Copies, known_hosts_of
from genie_core.room.open.profile import Profile
from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.errors import Diverged, KnownRoom
from genie_core.room.protocol.events import Event, MemberJoined, MessagePosted, RoomCreated
from genie_core.room.protocol.frames import Challenge
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.identity import Identity
from genie_core.room.state.hosting import Claim
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.session import SavedSession
from genie_core.sessions.view_state import View, read_view, write_view

LOG = [
    Event(1, 1.0, "", RoomCreated("r1", "One")),
    Event(2, 2.0, "ann", MemberJoined("host")),
    Event(3, 3.0, "ann", MessagePosted("a", "both know")),
    Event(4, 4.0, "ben", MessagePosted("b", "only ben knows")),
]


def person(home: Path, name: str = "ben") -> Profile:
    return Profile.of(name, LOCAL, places(home))


def copy_with(home: Path, events: list[Event]) -> SavedSession:
    saved = person(home).catalog.copy_of(
        "r1", "One", "ben", 1.0, address="127.0.0.1:7700", pin="x" * 43
    )
    with saved.held(), saved.open_log().log as log:
        log.write(events)
    return saved


def texts(events: list[Event]) -> list[str]:
    return [event.body.text for event in events if isinstance(event.body, MessagePosted)]


def test_copy_is_found_by_id_not_invite(tmp_path: Path) -> None:
    saved, copies = copy_with(tmp_path, LOG), Copies(person(tmp_path))
    found = copies.named(f" {saved.metadata.id} ")
    assert found is not None
    assert found.folder == saved.folder
    assert copies.named("another") is None
    assert copies.named("127.0.0.1:7700") is None
    assert copies.named("genie1-r1") is None


def test_a_copy_belongs_to_whom_it_was_made_for(tmp_path: Path) -> None:
    copy_with(tmp_path, LOG)
    assert Copies(person(tmp_path, "BEN")).has("r1")
    assert not Copies(person(tmp_path, "cleo")).has("r1")
    assert not Copies(person(tmp_path)).has("r2")
    known = Copies(person(tmp_path)).met(KnownRoom("r1", "x" * 43))
    assert known is not None
    assert Copies(person(tmp_path)).met(KnownRoom("r2")) is None


def test_diverged_copy_is_put_aside(tmp_path: Path) -> None:
    saved, copies = copy_with(tmp_path, LOG), Copies(person(tmp_path))
    write_view(saved.folder, View(draft="not sent yet"))
    points = [(3, event_mark(LOG[2])), (4, 12345)]
    fresh, bequest = copies.part(saved, Diverged(4, 4, points))
    assert texts(bequest) == ["only ben knows"]
    with fresh.reader() as log:
        assert texts(list(log.events(0))) == ["both know"]
    assert (fresh.metadata.address, fresh.metadata.pin) == ("127.0.0.1:7700", "x" * 43)
    assert read_view(fresh.folder).draft == "not sent yet"
    (found,) = copies.of("r1")
    assert found.folder == fresh.folder  # not what was put aside
    rooms = person(tmp_path).catalog.all()
    assert len(rooms) == 2
    assert any("~" in room.id for room in rooms)


def test_unrelated_log_recovers_nothing(tmp_path: Path) -> None:
    saved, copies = copy_with(tmp_path, LOG), Copies(person(tmp_path))
    fresh, bequest = copies.part(saved, Diverged(4, 9, [(1, 1), (4, 12345)]))
    assert bequest == []
    assert fresh.open_log().log.head == 0


def test_emptied_copy_accepts_met_host(tmp_path: Path) -> None:
    saved = person(tmp_path).catalog.copy_of("r1", "One", "ben", 1.0, address="127.0.0.1:7700")
    founding = found_room(Identity.generate(), "one", "One")
    another, met = (
        Claim(pin, founding.key, Challenge("n", room_id(founding), founding=founding))
        for pin in ("another", "met")
    )
    assert known_hosts_of(saved, RoomState).accepts(another)  # as nothing is known
    assert not known_hosts_of(saved, RoomState, "met").accepts(another)
    assert known_hosts_of(saved, RoomState, "met").accepts(met)
