import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from tests.genie_core.serve.stores.postgres_server import Line, PostgresServer, running_postgres

from genie_core.errors import InvalidSetting
from genie_core.privacy.redaction import hide_secrets
from genie_core.room.protocol.events import Event
from genie_core.room.server.log import Superseded
from genie_core.runtime.tasks import start_task
from genie_core.serve.stores.postgres import GROUP_BYTES, PostgresStore
from genie_core.serve.stores.store import SharedLog, StoreUnavailable, UnsafeStore
from genie_core.testing.contract.log import make_events
from genie_core.testing.contract.store import (
    DocumentsContract,
    LeaseContract,
    ObjectsContract,
    StorePlace,
)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


class Place(StorePlace):
    """One schema; machine "a" is at the far end of a line."""

    def __init__(self, server: PostgresServer, line: Line) -> None:
        self.server = server
        self.line = line
        self.prefix = f"t{uuid4().hex}"
        self._stores: list[PostgresStore] = []

    def connect(self, machine: str = "b", timeout: float = 10) -> PostgresStore:
        url = self.line.url if machine == "a" else self.server.url
        store = PostgresStore(url, prefix=self.prefix, lease=1, timeout=timeout)
        self._stores.append(store)
        return store

    def cut_off(self) -> AbstractAsyncContextManager[None]:
        return self.line.cut()

    async def aclose(self) -> None:
        for store in self._stores:
            await store.aclose()


@asynccontextmanager
async def placed(server: PostgresServer) -> AsyncIterator[Place]:
    async with Line(server).stretched() as line:
        place = Place(server, line)
        try:
            yield place
        finally:
            await place.aclose()


@pytest.fixture
async def place(server: PostgresServer) -> AsyncIterator[Place]:
    async with placed(server) as place:
        yield place


class InPostgres:
    """Runs a contract on the module's server."""

    @pytest.fixture(autouse=True)
    def _server(self, server: PostgresServer) -> None:
        self.server = server

    def places(self, folder: Path) -> AbstractAsyncContextManager[Place]:
        return placed(self.server)


class TestDocuments(InPostgres, DocumentsContract): ...


class TestLeases(InPostgres, LeaseContract): ...


class TestObjects(InPostgres, ObjectsContract): ...


async def read_all(log: SharedLog, after: int = 0) -> list[Event]:
    return [event async for group in log.read(after) for event in group]


async def insist(log: SharedLog, events: list[Event]) -> None:
    """Append as a room does: again until it succeeds."""
    while log.head < events[-1].seq:
        try:
            await log.append(events)
        except StoreUnavailable:
            await asyncio.sleep(0.05)


async def write(log: SharedLog, end: int) -> None:
    """Append the events up to `end` in groups of three."""
    for first in range(log.head + 1, end, 3):
        await insist(log, make_events(first, first + 3))


# -- logs


async def test_a_log_is_read_from_any_event(place: Place) -> None:
    log = place.connect().log("room1")
    assert await read_all(log) == []
    await log.append(make_events(1, 4))
    await log.append(make_events(4, 300))
    again = place.connect().log("room1")
    for after in (0, 1, 2, 3, 4, 100, 298):
        assert await read_all(again, after) == make_events(after + 1, 300)
        assert again.head == 299
    for after in (299, 300, 1_000):
        assert await read_all(again, after) == []
        assert again.head == 299
    assert await read_all(place.connect().log("room2"), 7) == []


async def test_a_large_log_is_read_in_parts(place: Place) -> None:
    log = place.connect().log("room1")
    await log.append(make_events(1, 9, text="é" * (GROUP_BYTES // 4)))
    for first in range(9, 2_200):
        if first % 200 == 9:
            await log.append(make_events(9, first + 200)[first - 9 :])
    parts = [part async for part in place.connect().log("room1").read(0)]
    assert len(parts) > 4
    assert max(len(part[0].body.text) for part in parts) > 0  # type: ignore[union-attr]
    assert [event.seq for part in parts for event in part] == list(range(1, log.head + 1))


async def test_a_log_that_was_not_read_follows_nothing(place: Place) -> None:
    await place.connect().log("room1").append(make_events(1, 4))
    late = place.connect().log("room1")
    with pytest.raises(Superseded):
        await late.append(make_events(1, 4))


async def test_an_event_that_contradicts_the_last_one_is_refused(place: Place) -> None:
    log = place.connect().log("room1")
    await log.append(make_events(1, 4))
    await log.append(make_events(2, 4))
    with pytest.raises(ValueError, match="3"):
        await log.append(make_events(3, 6, "mallory"))
    with pytest.raises(ValueError, match="5"):
        await log.append(make_events(5, 6))
    assert await read_all(log) == make_events(1, 4)


async def test_of_two_writers_one_is_superseded_for_good(place: Place) -> None:
    first, second = place.connect("a").log("room1"), place.connect("b").log("room1")
    await first.append(make_events(1, 4))
    assert await read_all(second) == make_events(1, 4)
    await second.append(make_events(4, 7, "bob"))
    for _ in range(2):
        with pytest.raises(Superseded):
            await first.append(make_events(4, 9))
    await second.append(make_events(7, 9, "bob"))
    assert await read_all(place.connect().log("room1")) == [
        *make_events(1, 4),
        *make_events(4, 9, "bob"),
    ]


async def test_the_writer_of_a_removed_log_is_superseded(place: Place) -> None:
    """Also if there is a new log of the same room."""
    store = place.connect()
    old, late = store.log("room1"), store.log("room1")
    await old.append(make_events(1, 4))
    await read_all(late)
    await store.remove_log("room1")
    await store.remove_log("room1")
    with pytest.raises(Superseded):
        await late.append(make_events(4, 5))
    new = place.connect().log("room1")
    assert await read_all(new) == []
    await new.append(make_events(1, 3, "bob"))
    with pytest.raises(Superseded):
        await old.append(make_events(4, 5))
    assert await read_all(place.connect().log("room1")) == make_events(1, 3, "bob")


async def test_a_write_whose_answer_is_lost_is_settled(place: Place) -> None:
    """It has happened: repeating it, with more events after it, writes each once."""
    log = place.connect("a").log("room1")
    await log.append(make_events(1, 4))
    for first in (4, 14, 24):
        async with place.line.deaf():
            writing = start_task(log.append(make_events(first, first + 5)))
            await place.line.swallowed.wait()
            other = place.connect("b").log("room1")
            await read_all(other)
            assert other.head == first + 4
        with pytest.raises(StoreUnavailable):
            await writing
        assert log.head == first - 1
        await insist(log, make_events(first, first + 10))
    assert await read_all(place.connect().log("room1")) == make_events(1, 34)


async def test_another_writer_may_be_first_while_the_answer_is_lost(place: Place) -> None:
    log = place.connect("a").log("room1")
    await log.append(make_events(1, 4))
    async with place.line.cut():
        with pytest.raises(StoreUnavailable):
            await log.append(make_events(4, 6))
        other = place.connect("b").log("room1")
        await read_all(other)
        await other.append(make_events(4, 5, "bob"))
    with pytest.raises(Superseded):
        await insist(log, make_events(4, 6))


async def test_a_server_that_does_not_answer_is_given_up(place: Place) -> None:
    store = place.connect("a", timeout=0.5)
    log = store.log("room1")
    await log.append(make_events(1, 4))
    async with place.line.deaf():
        with pytest.raises(StoreUnavailable, match=r"did not answer within 0\.5 s"):
            await log.append(make_events(4, 6))
        with pytest.raises(StoreUnavailable):
            await store.documents.get("key")
    await insist(log, make_events(4, 6))
    assert await read_all(log) == make_events(1, 6)


async def test_hundreds_of_rooms_share_few_connections(place: Place) -> None:
    store = place.connect()
    logs = [store.log(f"room{number}") for number in range(200)]
    for first in (1, 3):
        await asyncio.gather(*(log.append(make_events(first, first + 2)) for log in logs))
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'genie-tui'"
    assert 1 <= int(place.server.sql(count)) <= 12
    assert await read_all(logs[-1]) == make_events(1, 5)


# -- the server


@pytest.mark.drill
async def test_a_crash_of_the_server_loses_nothing_acknowledged(
    place: Place, drills: Callable[[int], int]
) -> None:
    log = place.connect().log("room1")
    for _ in range(drills(4)):
        first = log.head + 1
        writing = start_task(write(log, first + 300))
        while log.head < first + 20:
            await asyncio.sleep(0)
        acknowledged = log.head
        await asyncio.to_thread(place.server.kill)
        await asyncio.to_thread(place.server.start)
        found = await read_all(place.connect().log("room1"))
        assert len(found) >= acknowledged
        assert found == make_events(1, len(found) + 1)
        await writing
    assert await read_all(place.connect().log("room1")) == make_events(1, log.head + 1)


async def test_check_demands_what_makes_acknowledged_events_durable(place: Place) -> None:
    await place.connect().check()
    for setting in ("fsync", "full_page_writes"):
        await asyncio.to_thread(place.server.restart, "-c", f"{setting}=off")
        try:
            with pytest.raises(UnsafeStore, match=f"set {setting} = on"):
                await place.connect().check()
        finally:
            await asyncio.to_thread(place.server.restart)


async def test_the_sessions_do_not_take_asynchronous_commits_from_the_role(place: Place) -> None:
    place.server.sql("ALTER ROLE genie SET synchronous_commit = off")
    try:
        await place.connect().check()
    finally:
        place.server.sql("ALTER ROLE genie RESET synchronous_commit")


async def test_replicas_need_a_synchronous_standby(place: Place) -> None:
    """An event that no standby has is not acknowledged; it is there once a standby answers."""
    store = PostgresStore(place.server.url, prefix=place.prefix, replicas=3, timeout=0.5)
    try:
        log = store.log("room1")
        await log.append(make_events(1, 3))
        with pytest.raises(UnsafeStore, match=r"synchronous_standby_names = 'ANY 1 \(\*\)'"):
            await store.check()
        place.server.sql("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
        place.server.sql("SELECT pg_reload_conf()")
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="did not answer"):
                await log.append(make_events(3, 5))
            assert log.head == 2
        await store.check()
    finally:
        place.server.sql("ALTER SYSTEM RESET synchronous_standby_names")
        place.server.sql("SELECT pg_reload_conf()")
    await insist(log, make_events(3, 6))
    assert await read_all(place.connect().log("room1")) == make_events(1, 6)
    await store.aclose()


@pytest.mark.parametrize(
    ("names", "replicas", "safe"),
    [
        ("", 2, False),
        ("a", 2, True),
        ("a, b", 4, False),
        ("FIRST 2 (a, b)", 5, True),
        ("any 1 (a, b)", 4, False),
        ("2 (a, b)", 4, True),
    ],
)
async def test_how_many_standbys_have_it(
    place: Place, names: str, replicas: int, safe: bool
) -> None:
    await place.connect().check()
    place.server.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    place.server.sql("SELECT pg_reload_conf()")
    store = PostgresStore(place.server.url, prefix=place.prefix, replicas=replicas)
    try:
        if safe:
            await store.check()
        else:
            with pytest.raises(UnsafeStore, match=f"replicas = {replicas}"):
                await store.check()
    finally:
        await store.aclose()
        place.server.sql("ALTER SYSTEM RESET synchronous_standby_names")
        place.server.sql("SELECT pg_reload_conf()")


# -- setting up


async def test_two_processes_make_the_tables_at_once(place: Place) -> None:
    stores = [place.connect() for _ in range(5)]
    await asyncio.gather(*(each.documents.put("key", b"") for each in stores))


async def test_a_role_may_use_a_schema_that_was_made_for_it(place: Place) -> None:
    """It need not be allowed to make schemas; without one, the refusal says what is denied."""
    name = place.prefix
    place.server.sql(f"CREATE ROLE {name} LOGIN PASSWORD 'of-its-own'")
    url = f"postgresql://{name}:of-its-own@127.0.0.1:{place.server.port}/postgres"
    store = PostgresStore(url, prefix=name)
    with pytest.raises(StoreUnavailable, match="permission denied for database"):
        await store.documents.put("key", b"")
    place.server.sql(f"CREATE SCHEMA {name} AUTHORIZATION {name}")
    await store.documents.put("key", b"one")
    await store.aclose()


async def test_tables_of_another_version_are_refused(place: Place) -> None:
    await place.connect().documents.put("key", b"")
    place.server.sql(f"ALTER TABLE {place.prefix}.version ALTER number SET DEFAULT 2")
    place.server.sql(f"TRUNCATE {place.prefix}.version")
    place.server.sql(f"INSERT INTO {place.prefix}.version DEFAULT VALUES")
    with pytest.raises(StoreUnavailable, match="version 2"):
        await place.connect().documents.get("key")


async def test_the_password_is_read_from_a_file_whenever_it_is_needed(
    place: Place, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("wrong-for-now\n")
    url = place.server.url.replace(f":{place.server.password}@", "@")
    store = PostgresStore(url, prefix=place.prefix, credentials=file)
    with pytest.raises(StoreUnavailable, match="password authentication failed") as caught:
        await store.documents.get("key")
    assert "wrong-for-now" not in str(caught.value)
    file.write_text(f"{place.server.password}\n")
    await store.documents.put("key", b"one")
    await store.aclose()
    file.unlink()
    with pytest.raises(StoreUnavailable, match="out of reach"):
        await store.documents.get("key")


async def test_a_server_elsewhere_has_to_prove_its_name(place: Place) -> None:
    """This one has no TLS at all; the password was not sent to it."""
    url = place.server.url.replace("127.0.0.1", "127.0.0.2")
    store = PostgresStore(url, prefix=place.prefix)
    with pytest.raises(StoreUnavailable):
        await store.documents.get("key")


def test_no_part_of_an_address_is_repeated() -> None:
    for url in ("mysql://genie:s3cret-word@db/genie", "postgresql://genie:s3cret-word@[db/genie"):
        with pytest.raises(InvalidSetting) as caught:
            PostgresStore(url)
        assert "s3cret-word" not in str(caught.value)
    PostgresStore("postgresql://genie:pass%2Dphrase-1@db/genie?password=an0ther-one")
    assert "pass-phrase-1" not in hide_secrets("it is pass-phrase-1")
    assert "an0ther-one" not in hide_secrets("it is an0ther-one")


@pytest.mark.parametrize("prefix", ["", "Genie", 'a"b', "pg_genie", "a" * 41, "a b", "1a"])
def test_a_prefix_is_a_plain_name(prefix: str) -> None:
    with pytest.raises(InvalidSetting, match="prefix"):
        PostgresStore("postgresql://db/genie", prefix=prefix)
