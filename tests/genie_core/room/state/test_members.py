"""Who is where, and what was decided about them."""

from typing import get_args

from genie_core.room.protocol.events import (
    AnyBody,
    EngineChanged,
    Event,
    HostStarted,
    Measure,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    Role,
    RoomCreated,
)
from genie_core.room.state.members import Members
from genie_core.room.state.room_state import RoomState


class Doors:
    """Lets people in and out, one second after the other."""

    def __init__(self) -> None:
        self.members = Members()
        self._seq = 0

    def join(
        self,
        name: str,
        role: Role = "guest",
        device: str = "",
        *,
        key: str = "",
        preferences: str = "",
    ) -> None:
        self._seq += 1
        joined = MemberJoined(role, device=device, key=key, preferences=preferences)
        self.members.join(Event(self._seq, float(self._seq), name, joined), joined)

    def present(self) -> list[str]:
        return [person.name for person in self.members.present()]


def test_host_is_first_then_by_arrival() -> None:
    doors = Doors()
    doors.join("bob")
    doors.join("hana", "host")
    doors.join("cleo", "member")
    doors.members.leave(MemberLeft("bob"))
    doors.join("bob")
    assert doors.present() == ["hana", "cleo", "bob"]
    doors.members.leave(MemberLeft("nobody"))
    doors.members.empty()
    assert doors.present() == []
    assert doors.members.people["bob"].since == 4.0


def test_person_stays_with_last_terminal() -> None:
    doors = Doors()
    doors.join("alice", "guest", "d1")
    joined = MemberJoined("member", engine=True, agent="model", device="d2")
    doors.members.join(Event(2, 2.0, "alice", joined), joined)
    alice = doors.members.people["alice"]
    assert (alice.role, alice.engine, alice.agent) == ("member", True, "model")
    doors.members.equip("alice", EngineChanged("another", device="d2"))
    assert alice.agent == "another"
    doors.members.leave(MemberLeft("alice", device="d2"))
    assert (alice.present, alice.engine, alice.agent) == (True, False, "")
    doors.members.leave(MemberLeft("alice", device="unknown"))
    assert alice.present
    doors.members.leave(MemberLeft("alice", device="d1"))
    assert not alice.present


def test_leave_without_device_ends_all() -> None:
    doors = Doors()
    for device in ("d1", "d2"):
        doors.join("alice", device=device)
    doors.members.leave(MemberLeft("alice"))
    assert doors.present() == []
    for device in ("", "d1"):
        doors.join("alice", device=device)
    doors.members.leave(MemberLeft("alice"))
    assert list(doors.members.people["alice"].terminals) == ["d1"]


def test_name_keeps_first_key() -> None:
    doors = Doors()
    doors.join("Alice", key="first")
    doors.members.leave(MemberLeft("Alice"))
    doors.join("Alice", key="second")
    assert doors.members.keys == {"alice": "first"}
    assert doors.members.owner_of("second") == "Alice"
    assert doors.members.owner_of("first") is None
    assert doors.members.owner_of("") is None


def test_measures_ignore_name_spelling() -> None:
    doors = Doors()
    doors.join("bob", key="b")
    doors.members.moderate(MemberModerated("mute", "BOB"))
    doors.members.moderate(MemberModerated("ban", "BOB"))
    doors.members.moderate(MemberModerated("role", "bob", "observer"))
    doors.members.leave(MemberLeft("bob"))
    doors.join("bob", "observer")
    bob = doors.members.people["bob"]
    assert (bob.muted, bob.role) == (True, "observer")
    assert (doors.members.banned, doors.members.roles) == ({"bob": "b"}, {"bob": "observer"})
    doors.members.host("Bob", "new")
    assert (doors.members.banned, doors.members.muted) == ({}, set())
    assert doors.members.keys["bob"] == "b"


def test_measure_on_unknown_adds_nobody() -> None:
    measures: tuple[Measure, ...] = get_args(Measure)
    for measure in measures:
        members = Members()
        members.moderate(MemberModerated(measure, "nobody", "guest" if measure == "role" else None))
        assert members.people == {}


def test_an_empty_preference_is_none() -> None:
    doors = Doors()
    doors.join("Bob", preferences="short answers")
    assert doors.members.preferences == {"bob": "short answers"}
    doors.members.prefer("bob", "")
    assert doors.members.preferences == {}


def test_only_copied_room_rebinds_name() -> None:
    state = RoomState()
    bodies: list[tuple[str, AnyBody]] = [
        ("", RoomCreated("r1", "Standup")),
        ("", HostStarted("ann", key="k1")),
        ("ann", MemberJoined("host", key="k1")),
        ("", HostStarted("ann", "r1", "Standup", key="k2")),
    ]
    for seq, (by, body) in enumerate(bodies, 1):
        state.apply(Event(seq, 1.0, by, body))
    assert (state.keys["ann"], state.owner_of("k1")) == ("k1", "ann")
    state.apply(Event(5, 1.0, "", HostStarted("ann", "r1", "Standup", "k2", "", "import", "r0")))
    assert state.keys["ann"] == "k1"  # a host can't take a name over by calling its room a copy
    state.apply(Event(6, 1.0, "", HostStarted("Ann", "r2", "Standup", "k2", "", "import", "r1")))
    assert (state.room, state.keys["ann"], state.owner_of("k1")) == ("r2", "k2", None)
