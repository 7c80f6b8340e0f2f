import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
from tests.limits import scaled

from genie_core.room.discovery.browser import Announcer
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.open.nearby import NearbyRooms, browse
from genie_core.room.open.requests import NearbyRoom
from genie_core.room.protocol.events import (
    ROOM,
    Event,
    HostStarted,
    MemberJoined,
    MemberModerated,
    RoomCreated,
)
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity, words
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession

HANA, BOB, MALLORY = Identity.generate(), Identity.generate(), Identity.generate()
ROOM_ID = "2026-11-21-garden-3fk9"
PIN, OTHER = "p" * 43, "q" * 43
HERE = ("192.0.2.7:7654",)


def announced(by: Identity, host: str, pin: str, room: str = ROOM_ID) -> Announcement:
    host_record = sign_host_record(by, room=room, host=host, pin=pin, addresses=HERE, at=1.0)
    return Announcement(host_record, "Garden", 7654, HERE)


def copy(catalog: Catalog, name: str = "ann", *more: Event) -> SavedSession:
    saved = catalog.copy_of(ROOM_ID, "Garden", name, 1.0, address=HERE[0], pin=PIN, host="hana")
    events = [
        Event(1, 1.0, ROOM, RoomCreated(ROOM_ID, "Garden")),
        Event(2, 1.0, ROOM, HostStarted("hana", key=HANA.key, pin=PIN)),
        Event(3, 1.0, "hana", MemberJoined("host", key=HANA.key)),
        Event(4, 1.0, "bob", MemberJoined("member", key=BOB.key)),
        *more,
    ]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    return saved


def known(catalog: Catalog, *rooms: Announcement, name: str = "ann") -> list[str]:
    return [room.copy for room in NearbyRooms(catalog, name).look(rooms)]


def test_a_room_without_a_copy_needs_an_invite(tmp_path: Path) -> None:
    (room,) = NearbyRooms(Catalog(tmp_path), "ann").look([announced(HANA, "hana", PIN)])
    assert not room.known
    assert (room.title, room.host, room.addresses) == ("Garden", "hana", HERE)
    assert room.words == words(HANA.key)


def test_room_is_known_by_host_certificate(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    saved = copy(catalog)
    saved.log_path.unlink()
    assert known(catalog, announced(HANA, "hana", PIN)) == [saved.id]
    assert known(catalog, announced(HANA, "hana", PIN, room="another")) == [""]


def test_room_is_known_by_members_key(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    saved = copy(catalog)
    assert known(catalog, announced(BOB, "bob", OTHER)) == [saved.id]


def test_members_new_room_continues_the_copy(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    saved = copy(catalog)
    fresh = msgspec.structs.replace(announced(BOB, "bob", OTHER, "r2"), continues=ROOM_ID)
    false = msgspec.structs.replace(announced(MALLORY, "bob", OTHER, "r3"), continues=ROOM_ID)
    rooms = NearbyRooms(catalog, "ann").look([fresh, false])
    assert [(room.room, room.continues, room.continued) for room in rooms] == [
        ("r2", "Garden", saved.id),
        ("r3", "", ""),
    ]
    assert not any(room.known for room in rooms)


def test_stranger_or_banned_is_unknown(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    copy(catalog, "ann", Event(5, 1.0, "hana", MemberModerated("ban", "bob")))
    assert known(catalog, announced(MALLORY, "bob", OTHER)) == [""]
    assert known(catalog, announced(BOB, "bob", OTHER)) == [""]


def test_stranger_with_host_pin_claims_only(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    copy(catalog).update(alias="My garden")
    (room,) = NearbyRooms(catalog, "ann").look([announced(MALLORY, "hana", PIN)])
    assert (room.known, room.claimed) == (False, "My garden")


def test_a_certificate_without_a_pin_is_nobodys(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    copy(catalog).update(pin="")
    assert known(catalog, announced(MALLORY, "hana", "")) == [""]


def test_other_persons_copy_does_not_count(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    copy(catalog, "bob")
    assert known(catalog, announced(HANA, "hana", PIN)) == [""]


def test_known_rooms_come_first(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    copy(catalog)
    strange = msgspec.structs.replace(announced(MALLORY, "eve", OTHER, room="x"), title="A room")
    rooms = NearbyRooms(catalog, "ann").look([strange, announced(HANA, "hana", PIN)])
    assert [room.title for room in rooms] == ["Garden", "A room"]


def test_damaged_catalog_knows_no_room(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("no folder")
    assert known(Catalog(tmp_path / "sessions"), announced(HANA, "hana", PIN)) == [""]


async def test_rooms_are_watched_on_a_real_network(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    saved = copy(catalog)
    lists: asyncio.Queue[Sequence[NearbyRoom]] = asyncio.Queue()
    interfaces = ["127.0.0.1"]

    async def heard(*, here: bool) -> None:
        async with asyncio.timeout(scaled(60)):
            while any(room.copy == saved.id for room in await lists.get()) is not here:
                pass

    async with browse(catalog, "ann", lists.put_nowait, interfaces):
        async with Announcer(announced(BOB, "bob", OTHER), interfaces=interfaces):
            await heard(here=True)
        await heard(here=False)
