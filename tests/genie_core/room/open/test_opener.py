import asyncio
import errno
import io
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import msgspec
import pytest
from tests.genie_core.room.live_room import Ear
from tests.limits import scaled
from tests.ports import free_port

from genie_core.datastore import path_name
from genie_core.room.client.events import CopyRead, RoomEvent
from genie_core.room.client.model import ConnectionState, PendingMessage
from genie_core.room.open.host import HostedRoom, serve_room
from genie_core.room.open.identities import identity_of_person
from genie_core.room.open.join import NowhereHosted
from genie_core.room.open.opener import NothingToResume, RoomOpener, StillHosted
from genie_core.room.open.requests import JoinRoom, NewRoom, OpenRequest, RejoinRoom, ResumeRoom
from genie_core.room.open.saved_room import NotYours
from genie_core.room.participant.presence import HostPresence
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.errors import AddressInUse, NotAnHeir, RoomRefused, Unreachable
from genie_core.room.protocol.events import (
    FileRef,
    HostStarted,
    MessageDeleted,
    MessagePosted,
)
from genie_core.room.security.founding import is_founding_of
from genie_core.room.state.hosting import can_host
from genie_core.room.transport.websocket import bind
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.errors import UnknownSession
from genie_core.sessions.export.importing import import_room
from genie_core.sessions.export.jsonl import write_lines
from genie_core.sessions.fork import fork
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.search.background import INDEXING
from genie_core.sessions.search.query import Query
from genie_core.sessions.search.store import SearchStore
from genie_core.sessions.session import SavedSession
from genie_core.sessions.view_state import View, write_view
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import DiskFailure

LOCAL = Settings(local=True)


def places(home: Path) -> Locations:
    return Locations(home / "config", home / "data", home / "log")


@asynccontextmanager
async def joined(
    name: str, opening: OpenRequest, home: Path, settings: Settings | None = None
) -> AsyncIterator[tuple[JoinedRoom, Ear]]:
    ear = Ear()
    entered = await RoomOpener(name, settings or LOCAL, places(home)).enter(opening, ear)
    assert isinstance(entered, JoinedRoom)
    try:
        yield entered, ear
    finally:
        await entered.leave()


def log_of(home: Path, name: str = "") -> list[bytes]:
    (folder,) = [
        path
        for path in (home / "data" / "sessions").iterdir()
        if path.name.endswith(f"@{name}" if name else "") and (name or "@" not in path.name)
    ]
    return (folder / "events.jsonl").read_bytes().splitlines()


def saved(home: Path) -> Path:
    (folder,) = (home / "data" / "sessions").iterdir()
    return folder


def old_file(folder: Path, text: str) -> FileRef:
    """A file that was attached in a room days ago."""
    source = folder / f"{text}.txt"
    source.write_text(text, encoding="utf-8")
    blobs = BlobStore(folder / BLOBS_NAME)
    digest, size = blobs.add(source)
    then = time.time() - 3 * 86_400
    os.utime(blobs.path(digest), (then, then))
    return FileRef(digest, source.name, size)


async def said(speaker: JoinedRoom, hearer: JoinedRoom, ear: Ear, text: str) -> None:
    speaker.messages.send(text)
    await ear.until(lambda: text in {e.said.text for e in hearer.state.threads.values()})


async def test_a_guest_keeps_a_copy_of_the_hosts_log(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path) as (ann, _):
        async with joined("ben", JoinRoom(ann.hosting.address, guest=True), tmp_path) as (ben, ear):
            await said(ann, ben, ear, "hello")
            shared = ben.state.head
        assert log_of(tmp_path, "ben") == log_of(tmp_path)[:shared]


async def indexed(home: Path) -> str:
    """The texts in the search index, once no room is being indexed."""
    for thread in threading.enumerate():
        if thread.name == INDEXING:
            await asyncio.to_thread(thread.join)
    with closing(SearchStore.open(places(home).search)) as store:
        texts = [
            each.text for room in store.rooms().values() for each in store.found(Query(), room)
        ]
        return "\n".join(reversed(texts))


async def test_a_room_is_indexed_once_it_is_closed(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path) as (ann, ear):
        await said(ann, ann, ear, "where is the budget?")
        assert await indexed(tmp_path) == ""
    assert (await indexed(tmp_path)).startswith("where is the budget?\n")


async def test_deleted_message_leaves_index(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path) as (ann, ear):
        await said(ann, ann, ear, "xylophonist")
    assert "xylophonist" in await indexed(tmp_path)
    async with joined("ann", ResumeRoom(saved(tmp_path).name), tmp_path) as (ann, ear):
        (seq,) = (e.seq for e in ann.state.threads.values() if e.said.text == "xylophonist")
        ann.messages.change(MessageDeleted(seq))
        await ear.until(lambda: ann.state.threads[seq].is_deleted)
        assert "xylophonist" not in await indexed(tmp_path)
        files = places(tmp_path).search.parent.iterdir()
        assert b"xylophonist" not in b"".join(each.read_bytes() for each in files)


async def test_blocked_host_lets_members_talk(tmp_path: Path) -> None:
    blocked, heard = threading.Event(), threading.Event()

    async def talk(address: str) -> None:
        join = JoinRoom(address, guest=True)
        async with (
            joined("ben", join, tmp_path / "b") as (ben, _),
            joined("cleo", join, tmp_path / "c") as (cleo, ear),
        ):
            await asyncio.to_thread(blocked.wait)
            await said(ben, cleo, ear, "hello")
            heard.set()

    async with joined("ann", NewRoom("Standup"), tmp_path / "a") as (ann, own):
        talking = asyncio.create_task(asyncio.to_thread(asyncio.run, talk(ann.hosting.address)))
        await own.until(lambda: {"ben", "cleo"} <= set(ann.state.people))
        blocked.set()
        assert heard.wait(60)  # blocks, as drawing a screen does
        await talking
        await own.until(lambda: [e.said.text for e in ann.state.threads.values()] == ["hello"])


async def test_host_sees_events_before_joining(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def written(*given: Any) -> HostedRoom:
        doors = await serve_room(*given)
        async with asyncio.timeout(scaled(60)):
            while doors.opened.log.head < doors.server.state.head:
                await asyncio.sleep(0)
        return doors

    monkeypatch.setattr("genie_core.room.open.opener.serve_room", written)
    async with joined("ann", NewRoom("Standup"), tmp_path) as (ann, ear):
        await said(ann, ann, ear, "hello")
    async with joined("ann", ResumeRoom(saved(tmp_path).name), tmp_path) as (ann, ear):
        await said(ann, ann, ear, "again")
        assert [event.seq for event in ear.events] == list(range(1, ann.state.head + 1))


async def session_of_ann(home: Path) -> SavedSession:
    """A session of ann's with bob in it, as it is when both are gone."""
    async with joined("ann", NewRoom("Standup"), home / "a") as (ann, _):
        join = JoinRoom(ann.hosting.address, guest=True)
        async with joined("bob", join, home / "b") as (bob, ear):
            await said(ann, bob, ear, "hello")
    return SavedSession.load(saved(home / "a"))


def taken_in(source: SavedSession, home: Path) -> SavedSession:
    """An export of a session, imported on another machine."""
    out = io.BytesIO()
    write_lines(source, out)
    base = places(home).sessions
    return import_room(base, io.BytesIO(out.getvalue()), "ann.jsonl").saved


@pytest.mark.parametrize("name", ["zoe", "ann", "bob"])
async def test_import_becomes_its_new_hosts_room(tmp_path: Path, name: str) -> None:
    source = await session_of_ann(tmp_path)
    room = taken_in(source, tmp_path / "z")
    key = identity_of_person(name, places(tmp_path / "z")).key
    async with joined(name, ResumeRoom(room.id), tmp_path / "z") as (host, ear):
        await said(host, host, ear, "going on")
        state = host.state
        assert (state.host, state.host_key, state.keys[name]) == (name, key, key)
        assert state.owner_of(key) == name
        assert "hello" in {each.said.text for each in state.threads.values()}
        (hosted,) = (e for e in ear.events if isinstance(e.body, HostStarted) and e.body.copied)
        assert isinstance(hosted.body, HostStarted)
        founding = hosted.body.founding
        assert founding is not None
        assert is_founding_of(founding, state.room)
        assert (founding.key, founding.before) == (key, source.metadata.id)
        assert hosted.body == HostStarted(
            name, state.room, "Standup", key, ANY, "import", source.metadata.id, founding, ANY
        )
        assert state.is_proven(hosted.seq)
    assert state.room not in ("", source.metadata.id)
    assert SavedSession.load(room.folder).metadata.id == state.room
    async with joined(name, ResumeRoom(room.id), tmp_path / "z") as (host, ear):
        assert host.state.room == state.room
        assert (
            len([e for e in ear.events if isinstance(e.body, HostStarted) and e.body.copied]) == 1
        )


async def test_no_member_follows_import_host(tmp_path: Path) -> None:
    source = await session_of_ann(tmp_path)
    room = taken_in(source, tmp_path / "z")
    (copy,) = places(tmp_path / "b").sessions.iterdir()
    with SavedSession.load(copy).reader() as log:
        known = log.state()
    async with joined("ann", ResumeRoom(room.id), tmp_path / "z") as (host, _):
        assert isinstance(host.hosting.invites, HostPresence)
        host_record = host.hosting.invites.host_record
        assert host_record is not None
        assert host_record.room != known.room
        assert not can_host(known, host_record)
        assert not can_host(known, msgspec.structs.replace(host_record, room=known.room))


async def test_owner_resumes_restored_session(tmp_path: Path) -> None:
    source = await session_of_ann(tmp_path)
    shutil.copytree(places(tmp_path / "a").keys, places(tmp_path / "z").keys)
    room = taken_in(source, tmp_path / "z")
    async with joined("pia", ResumeRoom(room.id), tmp_path / "z") as (host, _):
        assert (host.state.room, host.state.host) == (source.metadata.id, "ann")


@pytest.mark.parametrize("name", ["zoe", "ann"])
async def test_a_fork_of_an_import_can_be_hosted(tmp_path: Path, name: str) -> None:
    room = taken_in(await session_of_ann(tmp_path), tmp_path / "z")
    catalog = Catalog(places(tmp_path / "z").sessions)
    made = fork(catalog, room, time.time()).saved
    async with joined(name, ResumeRoom(made.id), tmp_path / "z") as (host, ear):
        await said(host, host, ear, "going on")
        founding = host.state.founding
        assert founding is not None
        assert is_founding_of(founding, host.state.room)
        assert (founding.before, host.state.host) == (room.metadata.id, name)
        assert SavedSession.load(made.folder).metadata.id == host.state.room


async def test_engine_memory_moves_with_new_id(tmp_path: Path) -> None:
    room = taken_in(await session_of_ann(tmp_path), tmp_path / "z")
    before = room.engine_path / path_name(room.metadata.id)
    before.mkdir(parents=True)
    (before / "kept.json").write_text('"memory"')
    async with joined("zoe", ResumeRoom(room.id), tmp_path / "z") as (host, _):
        assert host.state.room != room.metadata.id
        kept = room.engine_path / path_name(host.state.room) / "kept.json"
        assert kept.read_text() == '"memory"'
        assert not before.exists()


async def test_deleted_log_returns_while_open(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path) as (ann, ear):
        await said(ann, ann, ear, "before")
        # The program writes there meanwhile.
        shutil.rmtree(saved(tmp_path), ignore_errors=True)
        await said(ann, ann, ear, "after")
        await ear.until(lambda: any("written anew, complete" in each for each in ear.notices))
    with SavedSession.load(saved(tmp_path)).reader() as log:
        assert {e.said.text for e in log.state().threads.values()} == {"before", "after"}
        assert log.problems == []


async def test_the_name_that_was_chosen_wins(tmp_path: Path) -> None:
    source = await session_of_ann(tmp_path)
    forked = fork(Catalog(places(tmp_path / "a").sessions), source, time.time()).saved
    entrance = RoomOpener("zoe", LOCAL, places(tmp_path / "a"), renamed=True)
    with pytest.raises(NotAnHeir, match="has not named you"):
        await entrance.enter(ResumeRoom(source.id), Ear())
    ear = Ear()
    entered = await entrance.enter(ResumeRoom(forked.id), ear)
    await ear.until(lambda: entered.state.host == "zoe")
    await entered.leave()
    entrance = RoomOpener("bob", LOCAL, places(tmp_path / "a"), renamed=True)
    with pytest.raises(NotYours, match="sessions fork"):
        await entrance.enter(ResumeRoom(source.id), Ear())


async def test_coming_back_goes_on_from_the_copy(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path) as (ann, own):
        join = JoinRoom(ann.hosting.address, guest=True)
        async with joined("ben", join, tmp_path) as (ben, ear):
            await said(ann, ben, ear, "one")
        await said(ann, ann, own, "two")
        async with joined("ben", join, tmp_path) as (ben, ear):
            await said(ann, ben, ear, "three")
            assert [event.seq for event in ear.events] == list(range(1, ben.state.head + 1))
            head = ben.state.head
        assert log_of(tmp_path, "ben")[:head] == log_of(tmp_path)[:head]


async def test_loopback_room_may_demand_invite(tmp_path: Path) -> None:
    settings = Settings(local=True, trust_loopback=False)
    async with joined("ann", NewRoom("First"), tmp_path / "a", settings) as (ann, _):
        refused = RoomOpener("ben", LOCAL, places(tmp_path / "b"))
        with pytest.raises(RoomRefused, match="invite"):
            await refused.enter(JoinRoom(ann.hosting.address, guest=True), Ear())
        assert ann.hosting.invites is not None
        way = JoinRoom(ann.hosting.invites.invite, guest=True)
        async with joined("ben", way, tmp_path / "b"):
            pass
        async with joined("ben", JoinRoom(ann.hosting.address, guest=True), tmp_path / "b") as (
            ben,
            _,
        ):
            assert ben.title == "First"


async def test_known_address_may_host_other_room(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("First"), tmp_path / "a") as (ann, _):
        address = ann.hosting.address
        async with joined("ben", JoinRoom(address, guest=True), tmp_path / "b"):
            pass
    port = Settings(local=True, port=parse_address(address).port)
    async with (
        joined("ann", NewRoom("Second"), tmp_path / "c", port),
        joined("ben", JoinRoom(address, guest=True), tmp_path / "b") as (ben, _),
    ):
        assert ben.title == "Second"


async def test_resumed_room_keeps_its_own_port(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path) as (ann, _):
        address, room = ann.hosting.address, ann.saved
    other = free_port()
    settings = Settings(local=True, port=other)
    async with joined("ann", ResumeRoom(room), tmp_path, settings) as (ann, _):
        assert ann.hosting.address == address
    async with joined("ann", ResumeRoom(room, port=other), tmp_path) as (ann, _):
        assert parse_address(ann.hosting.address).port == other  # the person asked for it
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", other))
        taken.listen()
        async with joined("ann", ResumeRoom(room), tmp_path) as (ann, _):
            assert parse_address(ann.hosting.address).port != other


async def test_nothing_of_another_room_is_heard(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("First"), tmp_path / "a") as (ann, _):
        address = ann.hosting.address
        async with joined("ben", JoinRoom(address, guest=True), tmp_path / "b") as (ben, ear):
            await said(ann, ben, ear, "secret of room one")
    port = Settings(local=True, port=parse_address(address).port)
    async with (
        joined("ann", NewRoom("Second"), tmp_path / "c", port) as (ann, _),
        joined("ben", JoinRoom(address, guest=True), tmp_path / "b") as (ben, ear),
    ):
        await said(ann, ben, ear, "of room two")
        assert [event.seq for event in ear.events] == list(range(1, ben.state.head + 1))
        texts = [event.body.text for event in ear.events if isinstance(event.body, MessagePosted)]
        assert texts == ["of room two"]


async def test_failed_entry_leaves_no_ghost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> SavedSession:
        raise DiskFailure("make the folder", tmp_path, OSError(errno.ENOSPC, "full"))

    async with joined("ann", NewRoom("One"), tmp_path / "a") as (ann, own):
        with monkeypatch.context() as patch:
            patch.setattr(Catalog, "copy_of", refuse)
            with pytest.raises(DiskFailure):
                await RoomOpener("ben", LOCAL, places(tmp_path / "b")).enter(
                    JoinRoom(ann.hosting.address), Ear()
                )
        await own.until(lambda: "ben" in ann.state.people and not ann.state.people["ben"].present)


async def test_events_only_in_copy_are_recovered(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path / "a") as (ann, _):
        address = ann.hosting.address
    shutil.copytree(tmp_path / "a", tmp_path / "old")
    settings = Settings(local=True, port=parse_address(address).port)
    async with (
        joined("ann", ResumeRoom(""), tmp_path / "a", settings) as (ann, _),
        joined("ben", JoinRoom(address, guest=True), tmp_path / "b") as (ben, ear),
    ):
        for number in range(10):
            await said(ann, ben, ear, f"lost {number}")
    async with (
        joined("ann", ResumeRoom(""), tmp_path / "old", settings) as (ann, _),
        joined("ben", JoinRoom(address, guest=True), tmp_path / "b") as (ben, ear),
    ):
        await said(ann, ben, ear, "from here")
        await ear.until(lambda: len(ben.state.threads) == 11)
        back = [each for each in ann.state.threads.values() if each.recovered_from == "ben"]
        assert [each.said.text for each in back] == [f"lost {number}" for number in range(10)]
        assert {each.author for each in back} == {"ann"}
    copies = list((tmp_path / "b" / "data" / "sessions").iterdir())
    assert any(b"lost 9" in (copy / "events.jsonl").read_bytes() for copy in copies)


async def test_a_taken_port_leaves_no_room_behind(tmp_path: Path) -> None:
    with await bind(Address("127.0.0.1", 0)) as taken:
        settings = Settings(local=True, port=taken.getsockname()[1])
        with pytest.raises(AddressInUse, match="--port"):
            await RoomOpener("ann", settings, places(tmp_path)).enter(NewRoom("x"), Ear())
    assert Catalog(tmp_path / "data" / "sessions").all() == []


async def test_second_room_finds_free_port(tmp_path: Path) -> None:
    async with (
        joined("ann", NewRoom("One"), tmp_path / "a") as (one, _),
        joined("ben", NewRoom("Two"), tmp_path / "b") as (two, _),
    ):
        assert one.hosting.address != two.hosting.address


async def test_a_room_is_open_in_one_process_at_a_time(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("One"), tmp_path):
        room = saved(tmp_path).name
        with pytest.raises(SessionInUse):
            await RoomOpener("ann", LOCAL, places(tmp_path)).enter(ResumeRoom(room), Ear())


async def test_copy_is_read_before_host_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path) as (ann, ear):
        for text in ("one", "two"):
            await said(ann, ann, ear, text)
        ann.messages.send("between us", to="ann")
        await ear.until(lambda: ann.state.messages == 3)
    copies: list[CopyRead] = []
    known: list[list[str]] = []

    async def look(*_: object, **__: object) -> None:
        known.extend([e.said.text for e in copy.state.threads.values()] for copy in copies)

    def note(event: RoomEvent) -> None:
        if isinstance(event, CopyRead):
            copies.append(event)

    monkeypatch.setattr("genie_core.room.open.opener.host_of", look)
    opener = RoomOpener("ann", LOCAL, places(tmp_path))
    resumed = await opener.enter(ResumeRoom(saved(tmp_path).name), note)
    await resumed.leave()
    assert known == [["one", "two", "between us"]]
    (copy,) = copies
    assert copy.name == "ann"
    assert copy.events[-1].seq == copy.state.head


async def test_damage_is_reported_on_resume(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path) as (ann, ear):
        for text in ("one", "two"):
            await said(ann, ann, ear, text)
    log = saved(tmp_path) / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"one"', b'"won"') + b"torn")
    async with joined("ann", ResumeRoom(saved(tmp_path).name), tmp_path) as (_, ear):
        await ear.until(lambda: bool(ear.notices))
        (notice,) = ear.notices
    for part in ("is damaged", "unfinished", "genie-tui sessions check"):
        assert part in notice


async def test_what_can_not_be_resumed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entrance = RoomOpener("ben", LOCAL, places(tmp_path / "b"))
    with pytest.raises(NothingToResume, match="no saved room"):
        await entrance.enter(ResumeRoom(""), Ear())
    with pytest.raises(UnknownSession):
        await entrance.enter(ResumeRoom("nothing"), Ear())
    async with joined("ann", NewRoom("One"), tmp_path / "a") as (ann, _):
        async with joined("ben", JoinRoom(ann.hosting.address), tmp_path / "b"):
            pass
        with pytest.raises(StillHosted, match="genie-tui join") as hosted:
            await entrance.enter(ResumeRoom(saved(tmp_path / "b").name), Ear())
        question = hosted.value.question
        assert "ann hosts “One” right now" in question.text
        async with joined("ben", question.opening, tmp_path / "b") as (ben, _):
            assert ben.state.host == "ann"
        forced = ResumeRoom(saved(tmp_path / "b").name, force=True)
        async with joined("ben", forced, tmp_path / "b") as (ben, ear):
            await ear.until(lambda: ben.state.host == "ben")


async def test_former_host_hears_of_no_host(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("One"), tmp_path):
        pass
    join = JoinRoom(saved(tmp_path).name)
    with pytest.raises(NowhereHosted, match=r"no host of 'One' was found.*resume"):
        await RoomOpener("ann", LOCAL, places(tmp_path)).enter(join, Ear())


async def test_refused_join_leaves_no_copy(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("One"), tmp_path / "a") as (ann, _):
        join = JoinRoom(ann.hosting.address, guest=True)
        with pytest.raises(RoomRefused):
            await RoomOpener("ann", LOCAL, places(tmp_path / "b")).enter(join, Ear())
        assert Catalog(tmp_path / "b" / "data" / "sessions").all() == []
        async with joined("ben", join, tmp_path / "b") as (ben, _):
            assert ben.title == "One"


async def test_nobody_at_the_address(tmp_path: Path) -> None:
    with pytest.raises(Unreachable):
        await RoomOpener("ben", LOCAL, places(tmp_path)).enter(
            JoinRoom("127.0.0.1:1", guest=True), Ear()
        )


GUEST = """
import asyncio, sys
from pathlib import Path
from tests.genie_core.room.live_room import Ear
from genie_core.room.open.opener import RoomOpener
from genie_core.settings.locations import Locations
from genie_core.room.open.requests import JoinRoom
from genie_core.room.open.identities import identity_of_person
from genie_core.settings.model import Settings

async def visit(home, address):
    ear = Ear()
    seat = await RoomOpener("ben", Settings(), Locations(home, home, home)).enter(
        JoinRoom(address, guest=True), ear
    )
    seat.messages.send("hello")
    await ear.until(lambda: seat.state.threads)
    await seat.leave()

asyncio.run(visit(Path(sys.argv[1]), sys.argv[2]))
vendors = {"pydantic_ai", "group_sense", "openai", "anthropic", "google.genai"}
print(",".join(sorted(vendors & set(sys.modules))))
"""


async def test_a_member_is_back_when_the_host_is(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path / "a") as (ann, _):
        address = ann.hosting.address
        ear = Ear()
        ben = await RoomOpener("ben", LOCAL, places(tmp_path / "b")).enter(
            JoinRoom(address, guest=True), ear
        )
        await said(ann, ben, ear, "before")
    await ear.until(lambda: ben.connection.state is ConnectionState.RETRYING)
    ben.messages.send("meanwhile")
    async with joined("ann", ResumeRoom(""), tmp_path / "a") as (ann, own):
        assert ann.hosting.address == address
        await own.until(
            lambda: [e.said.text for e in ann.state.threads.values()] == ["before", "meanwhile"]
        )
        assert ben.connection.state is ConnectionState.ONLINE
        await ben.leave()


@pytest.mark.parametrize("who", ["host", "member"])
async def test_unsent_messages_go_on_return(tmp_path: Path, who: str) -> None:
    home = tmp_path / ("a" if who == "host" else "b")
    late = [
        PendingMessage(f"id-{text}", text, emote=False, at=at) for at, text in enumerate("bc", 2)
    ]
    async with joined("ann", NewRoom("Standup"), tmp_path / "a") as (ann, own):
        join = JoinRoom(ann.hosting.address, guest=True)
        async with joined("ben", join, tmp_path / "b") as (ben, ear):
            leaver = ann if who == "host" else ben
            await said(leaver, ann, own, "a")
            (first,) = [e.said.id for e in ann.state.threads.values()]
            arrived = PendingMessage(
                first, "a", emote=False, at=1.0
            )  # nobody wrote down that it has
            view = View(unsent=(arrived, *late))
            write_view(home / "data" / "sessions" / leaver.saved, view)
    async with joined("ann", ResumeRoom(""), tmp_path / "a") as (ann, own):
        again = RejoinRoom(ben.saved, unsent=())
        if who == "member":
            again = RejoinRoom(ben.saved, unsent=tuple(late[:1]))  # known from elsewhere, too
        async with joined("ben", again, tmp_path / "b") as (ben, ear):
            await own.until(lambda: len(ann.state.threads) == 3)
            assert [e.said.text for e in ann.state.threads.values()] == ["a", "b", "c"]
            await ear.until(lambda: not ben.messages.pending)
            await own.until(lambda: not ann.messages.pending)


@pytest.mark.parametrize("who", ["host", "member"])
async def test_draft_and_unsent_files_are_kept(tmp_path: Path, who: str) -> None:
    home = tmp_path / ("a" if who == "host" else "b")
    async with (
        joined("ann", NewRoom("Standup"), tmp_path / "a") as (ann, _),
        joined("ben", JoinRoom(ann.hosting.address, guest=True), tmp_path / "b") as (ben, _),
    ):
        folder = home / "data" / "sessions" / (ann if who == "host" else ben).saved
    drafted, unsent, forgotten = (old_file(folder, text) for text in ("drafted", "sent", "no"))
    late = PendingMessage("late", "here", emote=False, at=1.0, files=(unsent,))
    write_view(folder, View(files=(drafted,), unsent=(late,)))
    async with joined("ann", ResumeRoom(""), tmp_path / "a") as (ann, own):
        again = RejoinRoom(ben.saved)
        async with joined("ben", again, tmp_path / "b") as (ben, _):
            joined_ = ann if who == "host" else ben
            assert joined_.files.bring(drafted)
            assert not joined_.files.bring(forgotten)
            joined_.messages.send("and this", files=(drafted,))
            await own.until(lambda: len(ann.state.threads) == 2)
            files = [e.said.files for e in ann.state.threads.values()]
            assert [file.name for (file,) in files] == ["sent.txt", "drafted.txt"]


async def test_resume_keeps_workspace_template(tmp_path: Path) -> None:
    settings = Settings(local=True, template="mention_only", workspace=str(tmp_path))
    async with joined("ann", NewRoom("Standup"), tmp_path / "a", settings):
        pass
    async with joined("ann", ResumeRoom(""), tmp_path / "a"):
        record = Catalog(tmp_path / "a" / "data" / "sessions").find(saved(tmp_path / "a").name)
        assert (record.metadata.template, record.metadata.workspace) == (
            "mention_only",
            str(tmp_path),
        )


async def test_a_guest_never_loads_a_vendor_sdk(tmp_path: Path) -> None:
    async with joined("ann", NewRoom("Standup"), tmp_path / "a") as (ann, _):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", GUEST, str(tmp_path / "b"), ann.hosting.address),
            stdout=asyncio.subprocess.PIPE,
            cwd=Path(__file__).parents[4],
        )
        out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"\n")
