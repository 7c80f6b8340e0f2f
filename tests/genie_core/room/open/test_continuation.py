"""A room whose host is gone goes on as a new one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.genie_core.room.live_room import Ear
from tests.genie_core.room.open.test_conflicts import state as some_room
from tests.genie_core.room.open.test_opener import LOCAL, joined, places, said

from genie_core.room.client.events import ContinuationsChanged
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    Continuation,
    PendingMessage,
)
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.open.continuation import (
    MOST,
    CannotContinue,
    Continuations,
    MayContinue,
    NoContinuation,
    candidates,
    continuation_at,
)
from genie_core.room.open.identities import identity_of_person
from genie_core.room.open.join import known_state
from genie_core.room.open.opener import StillHosted
from genie_core.room.open.requests import (
    ContinueRoom,
    FollowRoom,
    JoinRoom,
    NewRoom,
    RejoinRoom,
    ResumeRoom,
)
from genie_core.room.open.route import ask_signer
from genie_core.room.open.service import RoomService
from genie_core.room.participant.presence import HostPresence
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.errors import RoomRefused
from genie_core.room.protocol.events import HostStarted, Measure
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.state.hosting import Claim
from genie_core.room.view.continuations import is_back
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.fork import fork
from genie_core.sessions.session import SavedSession
from genie_core.sessions.verify import verify_session
from genie_core.sessions.view_state import View, read_view, write_view

AWAY = ConnectionStatus(ConnectionState.RETRYING)
HERE = ConnectionStatus(ConnectionState.ONLINE)


def copy_of(home: Path, name: str) -> SavedSession:
    """The first copy that the person got."""
    return min(copies_of(home, name), key=lambda each: each.metadata.created)


def copies_of(home: Path, name: str) -> list[SavedSession]:
    folders = (home / "data" / "sessions").glob(f"*@{name}")
    return [SavedSession.load(folder) for folder in folders]


@asynccontextmanager
async def member(name: str, home: Path, address: str) -> AsyncIterator[tuple[JoinedRoom, Ear]]:
    async with joined(name, JoinRoom(address), home / name) as found:
        yield found


async def moderate(host: JoinedRoom, ear: Ear, measure: Measure, name: str) -> None:
    before = host.state.head
    host.hosting.moderate(measure, name)
    await ear.until(lambda: host.state.head > before)


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A room of ann's without heirs, with bob, carol, and dave who was banned, after all left."""
    async with joined("ann", NewRoom("Standup"), tmp_path / "ann") as (ann, ear):
        at = ann.hosting.address
        async with (
            member("bob", tmp_path, at) as (bob, heard),
            member("carol", tmp_path, at) as (carol, _),
            member("dave", tmp_path, at),
            member("erin", tmp_path, at),
        ):
            await said(ann, bob, heard, "hello")
            await said(carol, bob, heard, "good morning")
            await moderate(ann, ear, "ban", "dave")
            ann.hosting.set_heirs(())
            await heard.until(lambda: "dave" in bob.state.banned and not may(bob))
            await ear.until(lambda: not ann.messages.pending)
    return tmp_path


def may(room: JoinedRoom) -> bool:
    return room.may_host


def host_record_of(host: JoinedRoom) -> HostRecord:
    assert isinstance(host.hosting.invites, HostPresence)
    host_record = host.hosting.invites.host_record
    assert host_record is not None
    return host_record


def to_follow(home: Path, name: str, host: JoinedRoom) -> FollowRoom:
    saved = copy_of(home / name, name)
    address = (host.hosting.address,)
    return FollowRoom(saved.id, host.name, host.id, host_record_of(host).pin, address)


def continuing(home: Path, name: str = "bob") -> ContinueRoom:
    return ContinueRoom(copy_of(home / name, name).id)


async def test_new_room_has_title_people_and_log(home: Path) -> None:
    old = copy_of(home / "bob", "bob")
    before, log = known_state(old), old.log_path.read_bytes()
    async with joined("bob", continuing(home), home / "bob") as (bob, ear):
        await said(bob, bob, ear, "going on")
        state = bob.state
        assert state.room not in ("", before.room)
        assert (state.title, state.host) == ("Standup", "bob")
        assert state.keys == before.keys
        assert state.banned == before.banned
        assert state.founding is not None
        assert state.founding.before == before.room
        (event,) = (e for e in ear.events if e.seq == before.head + 1)
        assert isinstance(event.body, HostStarted)
        assert event.body.copied == "continuation"
        assert event.parent == before.link
        assert state.is_proven(event.seq)
        assert not state.reading.sources  # the log is the host's, not some person's word
        folder = home / "bob" / "data" / "sessions" / bob.saved
    assert old.log_path.read_bytes() == log
    assert verify_session(folder).is_proven


async def test_unsent_messages_go_to_the_new_room_once(home: Path) -> None:
    old = copy_of(home / "bob", "bob")
    unsent = PendingMessage("m1", "still here?", emote=False, at=1.0)
    write_view(old.folder, View(unsent=(unsent,)))
    opening = ContinueRoom(old.id, (unsent,))
    async with joined("bob", opening, home / "bob") as (bob, ear):
        await ear.until(lambda: not bob.messages.pending)
        texts = [each.said.text for each in bob.state.threads.values()]
        assert texts == ["hello", "good morning", "still here?"]
    assert read_view(old.folder).unsent == ()


async def test_unentitled_host_may_continue(home: Path) -> None:
    saved = copy_of(home / "bob", "bob")
    with pytest.raises(MayContinue, match="genie-tui resume --continue") as caught:
        async with joined("bob", ResumeRoom(saved.id), home / "bob"):
            pass
    assert caught.value.question.opening == ContinueRoom(saved.id)
    assert "nothing is merged" in caught.value.question.text


@pytest.mark.parametrize("measure", ["mute", "ban"])
async def test_muted_and_banned_can_not_continue(tmp_path: Path, measure: Measure) -> None:
    async with (
        joined("ann", NewRoom("Standup"), tmp_path / "ann") as (ann, _),
        member("bob", tmp_path, ann.hosting.address) as (bob, heard),
    ):
        ann.hosting.moderate(measure, "bob")
        held = bob.state.muted if measure == "mute" else bob.state.banned
        await heard.until(lambda: "bob" in held)
    with pytest.raises(CannotContinue, match="only its members can"):
        async with joined("bob", continuing(tmp_path), tmp_path / "bob"):
            pass
    assert len(list((tmp_path / "bob" / "data" / "sessions").iterdir())) == 1


async def test_guests_can_not_continue(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path / "ann") as (ann, _):
        guest = JoinRoom(ann.hosting.address, guest=True)
        async with joined("bob", guest, tmp_path / "bob"):
            pass
    with pytest.raises(CannotContinue, match="no guests"):
        async with joined("bob", continuing(tmp_path), tmp_path / "bob"):
            pass


async def test_imported_copy_can_not_be_continued(home: Path) -> None:
    saved = copy_of(home / "bob", "bob")
    saved.update(copied="import")
    with pytest.raises(CannotContinue, match="not received from the room's host"):
        async with joined("bob", ContinueRoom(saved.id), home / "bob"):
            pass


async def test_host_who_answers_is_joined_instead(home: Path) -> None:
    (room,) = Catalog(places(home / "ann").sessions).all()
    async with joined("ann", ResumeRoom(room.id), home / "ann") as (ann, _):
        copy_of(home / "bob", "bob").update(address=ann.hosting.address)
        with pytest.raises(StillHosted):
            async with joined("bob", continuing(home), home / "bob"):
                pass


async def test_member_follows_with_unsent(home: Path) -> None:
    old = copy_of(home / "carol", "carol")
    log = old.log_path.read_bytes()
    write_view(old.folder, View(unsent=(PendingMessage("m2", "wait for me", emote=False, at=1.0),)))
    async with joined("bob", continuing(home), home / "bob") as (bob, heard):
        follow = to_follow(home, "carol", bob)
        async with joined("carol", follow, home / "carol") as (carol, _):
            await heard.until(lambda: "wait for me" in _texts(bob))
            assert carol.id == bob.id
            assert carol.state.keys["carol"] == known_state(old).keys["carol"]
            new = carol.saved
    assert old.log_path.read_bytes() == log
    assert read_view(old.folder).unsent == ()
    assert verify_session(home / "carol" / "data" / "sessions" / new).is_proven


def _texts(room: JoinedRoom) -> list[str]:
    return [each.said.text for each in room.state.threads.values()]


async def test_banned_person_stays_out_of_the_new_room(home: Path) -> None:
    async with joined("bob", continuing(home), home / "bob") as (bob, _):
        with pytest.raises(NoContinuation):
            async with joined("dave", to_follow(home, "dave", bob), home / "dave"):
                pass
        with pytest.raises(RoomRefused, match="does not want you"):
            async with joined("dave", JoinRoom(bob.hosting.address), home / "dave"):
                pass
    assert len(copies_of(home / "dave", "dave")) == 1


async def test_host_who_comes_back_hosts_the_old_room(home: Path) -> None:
    (room,) = Catalog(places(home / "ann").sessions).all()
    old = copy_of(home / "bob", "bob")
    async with (
        joined("bob", continuing(home), home / "bob") as (bob, _),
        joined("ann", ResumeRoom(room.id), home / "ann") as (ann, ear),
    ):
        assert ann.id == old.metadata.id != bob.id
        back = RejoinRoom(old.id, (ann.hosting.address,), host_record_of(ann).pin)
        async with joined("bob", back, home / "bob") as (again, _):
            await said(again, ann, ear, "two rooms now")
            assert "two rooms now" not in _texts(bob)


async def test_new_invite_names_old_copy(home: Path) -> None:
    async with (
        joined("bob", continuing(home), home / "bob") as (bob, _),
        joined("carol", JoinRoom(bob.hosting.address), home / "carol") as (carol, ear),
    ):
        assert carol.id == bob.id
    (notice,) = (text for text in ear.notices if "goes on from Standup" in text)
    assert "@carol" in notice


# -- what a host has to prove


async def checked(home: Path, host: JoinedRoom, name: str = "carol") -> Continuation | None:
    """What carol's copy makes of a room that is hosted there."""
    saved = copy_of(home / name, name)
    key = identity_of_person(name, places(home / name)).key
    state = known_state(saved)
    at, pin = (host.hosting.address,), host_record_of(host).pin
    return await continuation_at(state, host.id, pin, at, key, 1.0)


async def test_host_tells_members_who_is_there(home: Path) -> None:
    async with joined("bob", continuing(home), home / "bob") as (bob, _):
        found = await checked(home, bob)
        assert found is not None
        assert (found.by, found.host, found.title) == ("bob", "ann", "Standup")
        assert found.present == ()
        async with joined("erin", to_follow(home, "erin", bob), home / "erin"):
            found = await checked(home, bob)
            assert found is not None
            assert found.present == ("erin",)


async def test_banned_and_unknown_keys_learn_no_names(home: Path) -> None:
    async with joined("bob", continuing(home), home / "bob") as (bob, _):
        at, pin = (bob.hosting.address,), host_record_of(bob).pin
        state = known_state(copy_of(home / "carol", "carol"))
        stranger = Identity.generate().key
        async with joined("erin", to_follow(home, "erin", bob), home / "erin"):
            found = await continuation_at(state, bob.id, pin, at, stranger, 1.0)
            assert found is not None
            assert found.present == ()
            assert await checked(home, bob, "dave") is None  # nor who hosts


async def test_fork_is_no_continuation(home: Path) -> None:
    saved = copy_of(home / "bob", "bob")
    made = fork(Catalog(places(home / "bob").sessions), saved, 1.0).saved
    async with joined("bob", ResumeRoom(made.id), home / "bob") as (bob, _):
        assert bob.state.founding is not None
        assert bob.state.founding.before == saved.metadata.id
        assert await checked(home, bob) is None


async def test_muted_members_room_is_no_continuation(home: Path) -> None:
    async with joined("bob", continuing(home), home / "bob") as (bob, _):
        saved = copy_of(home / "carol", "carol")
        state = known_state(saved)
        state.muted.add("bob")
        at, pin = (bob.hosting.address,), host_record_of(bob).pin
        assert await continuation_at(state, bob.id, pin, at, "k", 1.0) is None


async def test_members_other_room_is_refused(home: Path) -> None:
    async with joined("bob", NewRoom("Lunch"), home / "bob") as (bob, _):
        assert await checked(home, bob) is None
        follow = to_follow(home, "carol", bob)
        with pytest.raises(NoContinuation, match="ask them for an invite"):
            async with joined("carol", follow, home / "carol"):
                pass
    assert len(copies_of(home / "carol", "carol")) == 1


# -- asking


def announced(host: JoinedRoom, continues: str) -> Announcement:
    return Announcement(host_record_of(host), "Standup", 7, (host.hosting.address,), continues)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.room.open.continuation.AWAY", 0.0)
    monkeypatch.setattr("genie_core.room.open.continuation.AGAIN", 0.01)


def asked(ear: Ear) -> list[list[str]]:
    changes = [each for each in ear.told if isinstance(each, ContinuationsChanged)]
    return [[found.by for found in each.continuations] for each in changes]


@pytest.mark.usefixtures("at_once")
async def test_away_host_asks_person_once(home: Path) -> None:
    saved, ear = copy_of(home / "carol", "carol"), Ear()
    state, key = known_state(saved), identity_of_person("carol", places(home / "carol")).key
    kept: list[str] = []
    checks = 0

    async def ask(room: str, host_record: HostRecord, at: Sequence[str], key: str) -> Claim | None:
        nonlocal checks
        checks += 1
        ear.told.append(HERE)
        return await ask_signer(room, host_record, at, key)

    async with joined("bob", continuing(home), home / "bob") as (bob, _):
        found = [announced(bob, state.room)]
        watch = Continuations(lambda: state, ear, key, (), kept.append, ask)
        async with watch.watched(lambda: found):
            watch.connection_changed(HERE)
            assert asked(ear) == []
            watch.connection_changed(AWAY)
            await ear.until(lambda: asked(ear) == [["bob"]])
            before = checks
            async with asyncio.timeout(60):
                while checks < before + 3:
                    await asyncio.sleep(0)
            assert asked(ear) == [["bob"]]
            watch.connection_changed(HERE)
            await ear.until(lambda: asked(ear) == [["bob"], []])
            watch.connection_changed(AWAY)
            await ear.until(lambda: asked(ear) == [["bob"], [], ["bob"]])
            watch.decline(bob.id)
            await ear.until(lambda: asked(ear) == [["bob"], [], ["bob"], []])
            assert kept == [bob.id]


async def test_host_who_is_back_hears_who_continued(home: Path) -> None:
    ear = Ear()
    async with joined("bob", continuing(home), home / "bob") as (bob, _):
        state, key = known_state(copy_of(home / "erin", "erin")), Identity.generate().key
        found = [announced(bob, state.room)]
        watch = Continuations(lambda: state, ear, key, hosts=True)
        async with watch.watched(lambda: found):
            await ear.until(lambda: ear.notices)
    (text,) = ear.notices
    assert text.startswith("bob continued this room as a new one")


async def test_members_hear_host_is_back(home: Path) -> None:
    (room,) = Catalog(places(home / "ann").sessions).all()
    ear = Ear()
    async with (
        joined("bob", continuing(home), home / "bob") as (bob, _),
        joined("ann", ResumeRoom(room.id), home / "ann") as (ann, _),
    ):
        found = [announced(ann, "")]
        watch = Continuations(lambda: bob.state, ear, bob.state.host_key, hosts=True)
        async with watch.watched(lambda: found):
            await ear.until(lambda: ear.notices)
    assert ear.notices == [is_back("ann")]


async def test_no_is_kept_with_the_copy(home: Path) -> None:
    async with joined("ann", ResumeRoom(""), home / "ann") as (ann, _):
        saved = copy_of(home / "carol", "carol")
        back = RejoinRoom(saved.id, (ann.hosting.address,), host_record_of(ann).pin)
        async with joined("carol", back, home / "carol") as (carol, _):
            await asyncio.to_thread(carol.decline, "2026-another-room")
    assert copy_of(home / "carol", "carol").metadata.declined == ("2026-another-room",)


def test_no_to_a_question_on_opening_is_kept(tmp_path: Path) -> None:
    saved = Catalog(places(tmp_path).sessions).copy_of("r1", "Standup", "carol", 1.0)
    service = RoomService("carol", LOCAL, places(tmp_path))
    for room in ("r2", "r3", "r2"):
        service.decline(FollowRoom(saved.id), (room,))
    assert copy_of(tmp_path, "carol").metadata.declined == ("r2", "r3")


def test_only_members_announcements_count() -> None:
    bob, eve, mallory = Identity.generate(), Identity.generate(), Identity.generate()
    state = some_room()
    state.members.rebind("bob", bob.key)
    rooms = [
        Announcement(_host_record(by, name, f"r{n}"), "T", 7, (), "r")
        for n in range(40)
        for by, name in ((bob, "bob"), (eve, "bob"), (mallory, "mallory"))
    ]
    found = candidates(state, rooms)
    assert len(found) == MOST
    assert {each.host_record.key for each in found} == {bob.key}


def _host_record(by: Identity, host: str, room: str) -> HostRecord:
    return sign_host_record(by, room=room, host=host, pin="p" * 43, addresses=(), at=1.0)
