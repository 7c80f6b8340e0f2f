import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace
from tests.genie_core.room.founded import FoundedLog, founded
from tests.genie_core.room.live_room import Ear
from tests.limits import scaled

from genie_core.room.open.conflicts import MOST, HostConflicts, with_records
from genie_core.room.open.join import MOST_RECORDS, JoinContext
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import AnyBody, Event, HostStarted, MemberJoined, RoomCreated
from genie_core.room.protocol.frames import Challenge
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.state.hosting import Claim
from genie_core.room.state.room_state import RoomState

HANA, BOB, MALLORY = Identity.generate(), Identity.generate(), Identity.generate()
THERE = ("192.0.2.7:7654",)


def state() -> RoomState:
    state = RoomState()
    bodies: list[tuple[str, AnyBody]] = [
        ("", RoomCreated("r", "Standup")),
        ("", HostStarted("hana", key=HANA.key)),
        ("hana", MemberJoined("host", key=HANA.key)),
        ("bob", MemberJoined("member", engine=True, key=BOB.key)),
    ]
    for seq, (by, body) in enumerate(bodies, 1):
        state.apply(Event(seq, 1.0, by, body))
    return state


def announced(by: Identity, host: str) -> tuple[HostRecord, tuple[str, ...]]:
    return sign_host_record(by, room="r", host=host, pin="p" * 43, addresses=THERE, at=1.0), THERE


class Network:
    """What is announced, and who answers."""

    def __init__(self) -> None:
        self.announced = [announced(HANA, "hana")]
        self.answering: set[str] = set()
        self.asked: list[str] = []

    async def ask(
        self, room: str, host_record: HostRecord, addresses: Sequence[str], key: str
    ) -> Claim | None:
        assert (room, addresses, key) == ("r", THERE, HANA.key)
        self.asked.append(host_record.host)
        is_there = host_record.host in self.answering
        return Claim(host_record.pin, host_record.key, Challenge("n", room)) if is_there else None


async def test_rival_host_is_reported_until_gone() -> None:
    network, ear = Network(), Ear()
    met: list[tuple[str, Sequence[str]]] = []
    rivals = HostConflicts(
        state, ear, HANA.key, network.ask, lambda claim, where: met.append((claim.key, where))
    )
    async with rivals.watched(lambda: network.announced):
        network.announced.append(announced(BOB, "bob"))
        network.answering.add("bob")
        rivals.note()
        await ear.until(lambda: ear.rivals == [("bob",)])
        network.announced.pop()
        rivals.note()
        await ear.until(lambda: ear.rivals == [("bob",), ()])
    assert set(met) == {(BOB.key, THERE)}
    assert set(network.asked) == {"bob"}  # never who hosts it here


async def test_vanished_rival_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.room.open.conflicts.AGAIN", 0.0)
    network, ear = Network(), Ear()
    network.announced.append(announced(BOB, "bob"))
    network.answering.add("bob")
    async with HostConflicts(state, ear, HANA.key, network.ask).watched(lambda: network.announced):
        await ear.until(lambda: ear.rivals == [("bob",)])
        network.answering.clear()
        await ear.until(lambda: ear.rivals == [("bob",), ()])


async def test_unentitled_or_silent_is_no_rival() -> None:
    network, ear = Network(), Ear()
    network.announced += [announced(MALLORY, "bob"), announced(BOB, "bob")]
    rivals = HostConflicts(state, ear, HANA.key, network.ask)
    async with rivals.watched(lambda: network.announced), asyncio.timeout(scaled(60)):
        while not network.asked:
            await asyncio.sleep(0)
    assert network.asked == ["bob"]
    assert ear.rivals == []


def evil_heir() -> tuple[FoundedLog, list[HostRecord]]:
    """A room that an heir hosts, who names many heirs, and their records before the host's."""
    log = founded("bob")
    log.hosts("bob")
    names = [f"heir {n}" for n in range(2 * MOST)]
    log.names(*names)
    return log, [log.host_record_of(name) for name in (*names, "ann")]


async def test_first_in_the_order_are_asked_first() -> None:
    """An heir who hosts can't hide the host behind many heirs of their own."""
    log, host_records = evil_heir()
    asked: list[str] = []
    done = asyncio.Event()

    async def ask(_room: str, host_record: HostRecord, _where: Sequence[str], _key: str) -> None:
        asked.append(host_record.host)
        done.set()

    rivals = HostConflicts(lambda: log.state, Ear(), HANA.key, ask)
    async with (
        rivals.watched(lambda: [(host_record, ()) for host_record in host_records]),
        asyncio.timeout(scaled(60)),
    ):
        await done.wait()
    assert asked[0] == "ann"
    assert len(asked) <= MOST


def test_first_records_in_order_are_kept() -> None:
    log, (*others, host_record) = evil_heir()
    hosting = SimpleNamespace(records={each.key: each for each in (host_record, *others)})
    joined = cast("JoinedRoom", SimpleNamespace(state=log.state, hosting=hosting))
    kept = JoinContext().records(joined)
    assert kept[-1] == host_record
    assert len(kept) == MOST_RECORDS


def test_repeated_announcement_hides_no_record() -> None:
    (old, _), (new, where) = announced(BOB, "bob"), announced(BOB, "bob")
    new = replace(new, addresses=THERE, at=2.0)
    assert with_records([(old, ())], [new]) == [(old, ()), (new, where)]
    assert with_records([(new, ())], [new]) == [(new, ())]
