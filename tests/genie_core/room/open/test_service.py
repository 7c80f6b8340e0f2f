import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.room.discovery.browser import Announcer
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.open.requests import NearbyRoom, RejoinRoom, ResumeRoom
from genie_core.room.open.service import RoomService
from genie_core.room.protocol.events import ROOM, Event, MessagePosted, RoomCreated
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.errors import UnknownSession
from genie_core.sessions.log.format import encode_line
from genie_core.settings.locations import Locations
from genie_core.settings.model import RetentionTable, Settings

LOOPBACK = ["127.0.0.1"]
HERE = "192.0.2.7:7654"


def room_service(home: Path, *, local: bool = False) -> tuple[RoomService, Catalog]:
    places = Locations(home / "config", home / "data", home / "log")
    service = RoomService("ann", Settings(local=local), places, interfaces=LOOPBACK)
    return service, Catalog(places.sessions)


def announced(room: str) -> Announcement:
    host_record = sign_host_record(
        Identity.generate(), room=room, host="hana", pin="p" * 43, addresses=(HERE,), at=1.0
    )
    return Announcement(host_record, "Garden", 7654)


def test_only_own_and_joined_are_listed(tmp_path: Path) -> None:
    service, catalog = room_service(tmp_path)
    catalog.create("Mine", 10.0, host="ann")
    catalog.copy_of("r1", "Hana's", "ann", 30.0, host="hana", address=HERE)
    catalog.copy_of("r1", "Hana's", "bob", 40.0, host="hana", address=HERE)
    catalog.copy_of("r2", "Old", "ann", 50.0, host="hana", address=HERE).put_aside()
    listed = {(room.title, room.host) for room in service.saved()}
    assert listed == {("Mine", None), ("Hana's", "hana")}


def test_unreadable_room_has_note(tmp_path: Path) -> None:
    service, catalog = room_service(tmp_path)
    saved = catalog.create("Mine", 10.0)
    (saved.folder / "room.json").write_text("{")
    (room,) = service.saved()
    assert room.note
    assert room.host is None


def test_crashed_rooms_catch_up(
    tmp_path: Path,
) -> None:
    service, catalog = room_service(tmp_path)
    saved = catalog.create("Mine", 10.0)
    events = [
        Event(1, 11.0, ROOM, RoomCreated("r1", "Mine")),
        Event(2, 12.0, "ann", MessagePosted("m", "hi")),
    ]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    os.utime(saved.log_path, (4e9, 4e9))
    assert [room.messages for room in service.saved()] == [0]
    assert service.catch_up() == ""
    assert [room.messages for room in service.saved()] == [1]
    service.use(Settings(retention=RetentionTable(max_age_days=30)))
    assert service.catch_up() == "1 session is past your limit: genie-tui sessions prune"


async def test_rooms_on_the_network_are_seen(tmp_path: Path) -> None:
    service, catalog = room_service(tmp_path)
    copy = catalog.copy_of("seen", "Garden", "ann", 1.0, pin="p" * 43)
    seen = asyncio.Event()

    def look(rooms: Sequence[NearbyRoom]) -> None:
        if any(room.copy == copy.id and room.addresses == (HERE,) for room in rooms):
            seen.set()

    async with (
        Announcer(announced("seen"), interfaces=LOOPBACK),
        asyncio.timeout(scaled(60)),
        service.browse(look),
    ):
        await seen.wait()


async def test_local_service_browses_no_network(tmp_path: Path) -> None:
    service, _ = room_service(tmp_path, local=True)
    lists: list[Sequence[NearbyRoom]] = []
    async with (
        Announcer(announced("here"), interfaces=LOOPBACK) as announcer,
        service.browse(lists.append),
    ):
        assert await announcer.settle()
    assert lists == []


def test_a_saved_room_is_quoted_by_its_title(tmp_path: Path) -> None:
    service, catalog = room_service(tmp_path)
    saved = catalog.create("Garden", 10.0, host="ann")
    events = [Event(1, 1.0, ROOM, RoomCreated(saved.id, "Garden"))]
    events += [Event(seq, 2.0, "ann", MessagePosted(str(seq), f"message {seq}")) for seq in (2, 3)]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    quote = service.quote("garden", 1)
    assert (quote.room, [line.text for line in quote.lines]) == (saved.id, ["message 3"])
    with pytest.raises(UnknownSession):
        service.quote("elsewhere", 1)


def test_open_rooms_are_reopened_in_order(tmp_path: Path) -> None:
    service, catalog = room_service(tmp_path)
    mine = catalog.create("Mine", 10.0, host="ann")
    hers = catalog.copy_of("r1", "Hana's", "ann", 30.0, host="hana", address=HERE)
    his = catalog.copy_of("r1", "Hana's", "bob", 40.0, host="hana", address=HERE)
    service.keep_open([hers.id, his.id, mine.id])
    assert service.to_reopen() == [RejoinRoom(hers.id), ResumeRoom(mine.id)]
