import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.limits import scaled
from tests.postgres_server import Line, PostgresServer, running_postgres

from genie_core.errors import InvalidSetting
from genie_core.privacy.redaction import hide_secrets
from genie_core.room.protocol.events import Event
from genie_core.room.server.log import Log, Superseded
from genie_core.runtime.tasks import start_task
from genie_core.sessions.log.index import INDEX_NAME
from genie_serve.config import StoreTable
from genie_serve.stores import postgres
from genie_serve.stores.cached_log import CachedLog
from genie_serve.stores.postgres import GROUP_BYTES, PostgresStore
from genie_serve.stores.store import SharedLog, StoreUnavailable, UnsafeStore
from genie_testing.contract.log import LogContract, LogPlace, make_events
from genie_testing.contract.store import (
    DocumentsContract,
    LeaseContract,
    ObjectsContract,
    StorePlace,
)

HOUR = timedelta(hours=1)

WRITER = """
import asyncio, sys
from pathlib import Path
import msgspec
from genie_serve.config import StoreTable
from genie_serve.stores.postgres import PostgresStore
from genie_serve.stores.cached_log import CachedLog
from genie_testing.contract.log import write_until_killed

async def main():
    store = PostgresStore(msgspec.json.decode(sys.argv[1], type=StoreTable))
    log, _ = await CachedLog.open(store.log("room1"), Path(sys.argv[2]))
    await write_until_killed(log)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


def table(url: str = "postgresql://db/genie", **changes: Any) -> StoreTable:
    return StoreTable("postgres", (url,), **{"replicas": 1, "lease": 1.0, **changes})


class Place(StorePlace):
    """One schema; machine "a" is at the far end of a line."""

    def __init__(self, server: PostgresServer, line: Line) -> None:
        self.server = server
        self.line = line
        self.prefix = f"t{uuid4().hex}"
        self._stores: list[PostgresStore] = []

    def connect(self, machine: str = "b", **changes: Any) -> PostgresStore:
        url = self.line.url if machine == "a" else self.server.url
        store = PostgresStore(table(url, **{"prefix": self.prefix, **changes}))
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


class CachedPlace(LogPlace):
    """A room in the store, and a folder for each machine."""

    def __init__(self, place: Place, folder: Path) -> None:
        self._place = place
        self._folder = folder

    def path(self, machine: str) -> Path:
        return self._folder / machine / "events.jsonl"

    async def open(self, machine: str = "a") -> Log:
        log = self._place.connect(machine).log("room1")
        return (await CachedLog.open(log, self.path(machine)))[0]

    async def close(self, log: Log) -> None:
        assert isinstance(log, CachedLog)
        await log.aclose()

    @asynccontextmanager
    async def broken(self) -> AsyncIterator[None]:
        """Statements arrive, and their answers are lost."""
        async with self._place.line.deaf():
            breaking = start_task(self._break_off())
            yield
            await breaking

    async def restart(self) -> None:
        await asyncio.to_thread(self._place.server.kill)
        await asyncio.to_thread(self._place.server.start)

    def damage(self, machine: str = "a") -> None:
        path = self.path(machine)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2].replace(b'"m3"', b'"m4"'))
        path.with_name(INDEX_NAME).unlink(missing_ok=True)

    def program(self) -> Sequence[str]:
        given = msgspec.json.encode(table(self._place.server.url, prefix=self._place.prefix))
        return (sys.executable, "-c", WRITER, given.decode(), str(self.path("a")))

    async def _break_off(self) -> None:
        await self._place.line.swallowed.wait()
        self._place.line.break_off()


class TestCachedLog(LogContract):
    @pytest.fixture(autouse=True)
    def _server(self, server: PostgresServer) -> None:
        self.server = server

    @asynccontextmanager
    async def places(self, folder: Path) -> AsyncIterator[LogPlace]:
        async with placed(self.server) as place:
            yield CachedPlace(place, folder)


class TestDocuments(InPostgres, DocumentsContract): ...


class TestLeases(InPostgres, LeaseContract): ...


class TestObjects(InPostgres, ObjectsContract): ...


async def test_released_lease_passes_quickly(place: Place) -> None:
    """Not only when it would have expired; also after the connection that listens was replaced."""
    first = place.connect("b", lease=60.0).lease("shard-0")
    second = place.connect("a", lease=60.0).lease("shard-0")
    await first.acquire()
    waiting = start_task(second.acquire())
    for cut in (False, True):
        if cut:
            place.line.break_off()
            await until_listening(place, 0)
        await until_listening(place, 1)
    async with asyncio.timeout(5):
        await first.release()
        await waiting
    await until_listening(place, 0)
    await second.release()


async def until_listening(place: Place, count: int) -> None:
    statement, asked = f'LISTEN "{place.prefix}.released"', "SELECT query FROM pg_stat_activity"
    async with asyncio.timeout(scaled(20)):
        while (await asyncio.to_thread(place.server.sql, asked)).count(statement) != count:
            pass


def signed_by_itself(name: str) -> tuple[bytes, bytes]:
    """Return a key and a certificate for a host name."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, now, now + HOUR)
    signed = builder.add_extension(
        x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False
    ).sign(key, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, signed.public_bytes(Encoding.PEM)


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


async def write_until_refused(log: SharedLog) -> None:
    while True:
        await log.append(make_events(log.head + 1, log.head + 2))


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
    assert [event.seq for part in parts for event in part] == list(range(1, log.head + 1))


async def test_a_log_that_was_not_read_follows_nothing(place: Place) -> None:
    await place.connect().log("room1").append(make_events(1, 4))
    late = place.connect().log("room1")
    with pytest.raises(Superseded):
        await late.append(make_events(1, 4))


async def test_contradicting_event_is_refused(place: Place) -> None:
    log = place.connect().log("room1")
    await log.append(make_events(1, 4))
    await log.append(make_events(2, 4))
    with pytest.raises(ValueError, match="3"):
        await log.append(make_events(3, 6, "mallory"))
    with pytest.raises(ValueError, match="5"):
        await log.append(make_events(5, 6))
    assert await read_all(log) == make_events(1, 4)


async def test_older_writer_is_superseded(place: Place) -> None:
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


async def test_removed_log_supersedes_its_writer(place: Place) -> None:
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


async def test_rival_write_supersedes_lost_one(place: Place) -> None:
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


async def test_silent_server_times_out(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "TIMEOUT", 0.5)
    store = place.connect("a")
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
async def test_server_crash_keeps_acknowledged(place: Place, drills: Callable[[int], int]) -> None:
    log = place.connect().log("room1")
    for _ in range(drills(2)):
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


async def test_check_demands_durable_settings(place: Place) -> None:
    await place.connect().check()
    for setting in ("fsync", "full_page_writes"):
        await asyncio.to_thread(place.server.restart, "-c", f"{setting}=off")
        try:
            with pytest.raises(UnsafeStore, match=f"set {setting} = on"):
                await place.connect().check()
        finally:
            await asyncio.to_thread(place.server.restart)


async def test_role_cannot_disable_sync_commit(place: Place) -> None:
    place.server.sql("ALTER ROLE genie SET synchronous_commit = off")
    try:
        await place.connect().check()
    finally:
        place.server.sql("ALTER ROLE genie RESET synchronous_commit")


async def test_replicas_need_a_synchronous_standby(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that no standby has is not acknowledged; it is there once a standby answers."""
    monkeypatch.setattr(postgres, "TIMEOUT", 0.5)
    store = place.connect(replicas=3)
    try:
        log = store.log("room1")
        await log.append(make_events(1, 3))
        with pytest.raises(UnsafeStore, match=r"synchronous_standby_names = 'ANY 1 \(\*\)'"):
            await store.check()
        place.server.sql("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
        place.server.sql("SELECT pg_reload_conf()")
        with pytest.raises(StoreUnavailable, match="did not answer"):
            await write_until_refused(log)  # which the setting causes once the server has read it
        head = log.head
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="did not answer"):
                await log.append(make_events(head + 1, head + 3))
            assert log.head == head
        await store.check()
    finally:
        place.server.sql("ALTER SYSTEM RESET synchronous_standby_names")
        place.server.sql("SELECT pg_reload_conf()")
    await insist(log, make_events(head + 1, head + 4))
    assert await read_all(place.connect().log("room1")) == make_events(1, head + 4)


@pytest.mark.drill
async def test_promoted_standby_has_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same store goes on with the standby, once that was promoted."""
    monkeypatch.setattr(postgres, "TIMEOUT", 3)
    with running_postgres() as primary, running_postgres(primary) as standby:
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
        primary.sql("SELECT pg_reload_conf()")
        both = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://genie:{primary.password}@{both}/postgres?sslmode=disable"
        store = await PostgresStore.connect(table(url, replicas=2))
        await store.check()
        log = store.log("room1")
        writing = start_task(write(log, 400))
        while log.head < 60:
            await asyncio.sleep(0)
        await asyncio.to_thread(primary.kill)
        acknowledged = log.head
        standby.sql("SELECT pg_promote()")
        again = PostgresStore(table(standby.url))
        found = await read_all(again.log("room1"))
        assert len(found) >= acknowledged
        await writing
        assert await read_all(again.log("room1")) == make_events(1, log.head + 1)
        await again.aclose()
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
    store = place.connect(replicas=replicas)
    try:
        if safe:
            await store.check()
        else:
            with pytest.raises(UnsafeStore, match=f"replicas = {replicas}"):
                await store.check()
    finally:
        place.server.sql("ALTER SYSTEM RESET synchronous_standby_names")
        place.server.sql("SELECT pg_reload_conf()")


# -- setting up


async def test_two_processes_make_the_tables_at_once(place: Place) -> None:
    stores = [place.connect() for _ in range(5)]
    await asyncio.gather(*(each.documents.put("key", b"") for each in stores))


async def test_role_may_use_prepared_schema(place: Place) -> None:
    """It need not be allowed to make schemas; without one, the refusal says what is denied."""
    name = place.prefix
    place.server.sql(f"CREATE ROLE {name} LOGIN PASSWORD 'of-its-own'")
    url = f"postgresql://{name}:of-its-own@127.0.0.1:{place.server.port}/postgres"
    store = PostgresStore(table(url, prefix=name))
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


async def test_password_is_reread_from_file(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("wrong-for-now\n")
    url = place.server.url.replace(f":{place.server.password}@", "@")
    store = PostgresStore(table(url, prefix=place.prefix, credentials=file))
    with pytest.raises(StoreUnavailable, match="password authentication failed") as caught:
        await store.documents.get("key")
    assert "wrong-for-now" not in str(caught.value)
    file.write_text(f"{place.server.password}\n")
    await store.documents.put("key", b"one")
    await store.aclose()
    file.unlink()
    with pytest.raises(StoreUnavailable, match=r"can't read .*password: No such file"):
        await store.documents.get("key")


async def test_a_server_has_to_prove_its_name(place: Place, tmp_path: Path) -> None:
    """Before it is sent a password; `ca` is who can vouch for it."""
    key, certificate = signed_by_itself("localhost")
    other = tmp_path / "other.pem"
    other.write_bytes(signed_by_itself("localhost")[1])
    ca = tmp_path / "ca.pem"
    ca.write_bytes(certificate)
    url = place.server.url.replace("127.0.0.1", "localhost")
    with pytest.raises(StoreUnavailable, match="rejected SSL"):
        await PostgresStore.connect(table(url, ca=ca))
    files = {"ssl_key_file": key, "ssl_cert_file": certificate}
    paths = [f"{name}={place.server.keep(name, content)}" for name, content in files.items()]
    options = ("-c", "ssl=on", *(part for path in paths for part in ("-c", path)))
    await asyncio.to_thread(place.server.restart, *options)
    try:
        await (await PostgresStore.connect(table(url, ca=ca, prefix=place.prefix))).aclose()
        for wrong in (table(url, ca=other), table(place.server.url, ca=ca)):
            with pytest.raises(StoreUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
                await PostgresStore.connect(wrong)
        with pytest.raises(StoreUnavailable, match="certificate can't be read"):
            await PostgresStore.connect(table(url, ca=tmp_path / "missing"))
    finally:
        await asyncio.to_thread(place.server.restart)


def test_no_part_of_an_address_is_repeated() -> None:
    for url in ("mysql://genie:s3cret-word@db/genie", "postgresql://genie:s3cret-word@[db/genie"):
        with pytest.raises(InvalidSetting) as caught:
            PostgresStore(table(url))
        assert "s3cret-word" not in str(caught.value)
    PostgresStore(table("postgresql://genie:pass%2Dphrase-1@db/genie?password=an0ther-one"))
    assert "pass-phrase-1" not in hide_secrets("it is pass-phrase-1")
    assert "an0ther-one" not in hide_secrets("it is an0ther-one")


@pytest.mark.parametrize("prefix", ["", "Genie", 'a"b', "pg_genie", "a" * 41, "a b", "1a"])
def test_a_prefix_is_a_plain_name(prefix: str) -> None:
    with pytest.raises(InvalidSetting, match="prefix"):
        PostgresStore(table(prefix=prefix))
