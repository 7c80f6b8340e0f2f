import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from nats.js.api import StorageType
from tests.nats_servers import NatsServers
from tests.nats_tokens import operated

from genie_serve.stores.nats.store import NatsStore
from genie_serve.stores.store import StoreUnavailable, UnsafeStore


@asynccontextmanager
async def store_on(servers: NatsServers, **changes: object) -> AsyncIterator[NatsStore]:
    store = await NatsStore.connect(servers.table(**changes))
    try:
        yield store
    finally:
        await store.aclose()


async def test_servers_that_sync_are_safe(tmp_path: Path) -> None:
    async with NatsServers(tmp_path) as servers, store_on(servers) as store:
        await store.check()
        await store.check()


async def test_servers_with_late_sync_are_refused(tmp_path: Path) -> None:
    async with NatsServers(tmp_path, sync="2m") as servers, store_on(servers) as store:
        with pytest.raises(
            UnsafeStore, match=r"the NATS server n0 acknowledges .*: set `sync_interval: always`"
        ):
            await store.check()


async def test_unmonitored_sync_needs_setting(tmp_path: Path) -> None:
    async with NatsServers(tmp_path) as servers:
        async with store_on(servers, monitor=()) as store:
            with pytest.raises(UnsafeStore, match="synced = true"):
                await store.check()
        async with store_on(servers, monitor=(), synced=True) as store:
            await store.check()


async def test_silent_monitor_is_named(tmp_path: Path) -> None:
    async with NatsServers(tmp_path) as servers:
        async with store_on(servers, monitor=("http://127.0.0.1:1",)) as store:
            with pytest.raises(StoreUnavailable, match=r"http://127\.0\.0\.1:1"):
                await store.check()
        async with store_on(servers, monitor=("file:///etc/hostname",)) as store:
            with pytest.raises(UnsafeStore, match="no address of http"):
                await store.check()


async def test_what_is_set_up_otherwise_is_refused(tmp_path: Path) -> None:
    async with NatsServers(tmp_path) as servers, store_on(servers) as store:
        await store.check()
        await store._js.delete_stream("genie_1")
        await store._js.add_stream(
            name="genie_1", subjects=["genie.1.*"], storage=StorageType.MEMORY
        )
        with pytest.raises(UnsafeStore, match=r"genie_1 .* memory"):
            await store.check()
        await store._js.delete_stream("genie_1")
        await store._js.add_stream(name="genie_1", subjects=["genie.1.*"], max_age=60)
        with pytest.raises(UnsafeStore, match=r"genie_1 .* removes"):
            await store.check()


async def test_leases_last_as_long_for_all_machines(tmp_path: Path) -> None:
    async with NatsServers(tmp_path) as servers:
        async with store_on(servers, lease=2.5) as store:
            await store.check()
        async with store_on(servers, lease=4) as store:
            with pytest.raises(UnsafeStore, match=r"say lease = 2\.5"):
                await store.check()


async def test_unreachable_servers_are_one_line(tmp_path: Path) -> None:
    servers = NatsServers(tmp_path)
    hosts = [f"127.0.0.1:{port}" for port in servers.ports]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("genie_serve.stores.nats.connection.CONNECTING", 0.5)
        with pytest.raises(StoreUnavailable, match=r"^NATS can't be reached: ") as caught:
            await NatsStore.connect(servers.table())
        assert str(caught.value).endswith(f"(at {', '.join(hosts)})")
        assert "Errno" not in str(caught.value)


async def test_a_file_without_credentials_is_told(tmp_path: Path) -> None:
    path = tmp_path / "service.creds"
    servers = NatsServers(tmp_path)
    with pytest.raises(StoreUnavailable, match=r"can't read .*service\.creds: No such file"):
        await NatsStore.connect(servers.table(credentials=path))
    path.write_text("secret")
    with pytest.raises(StoreUnavailable, match="holds no credentials"):
        await NatsStore.connect(servers.table(credentials=path))


async def test_documents_come_back_and_go(tmp_path: Path) -> None:
    async with NatsServers(tmp_path) as servers, store_on(servers) as store:
        documents = store.documents
        assert (await documents.get("room.a"), await documents.keys()) == (None, [])
        await documents.put("room.a", b"1")
        await documents.put("room.b-1", b"")
        await documents.put("passes.a", bytes(range(256)))
        await documents.put("room.a", b"2")
        assert await documents.get("room.a") == b"2"
        assert await documents.get("room.b-1") == b""
        assert await documents.get("passes.a") == bytes(range(256))
        assert await documents.keys("room.") == ["room.a", "room.b-1"]
        await documents.remove("room.a")
        await documents.remove("room.a")
        assert await documents.get("room.a") is None
        assert await documents.keys() == ["passes.a", "room.b-1"]


async def test_files_are_stored_per_room(tmp_path: Path) -> None:
    content = b"0123456789abcdef" * 40_000
    digest = hashlib.sha256(content).hexdigest()
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(content)
    async with NatsServers(tmp_path / "nats") as servers, store_on(servers) as store:
        files = store.objects
        assert not await files.get("room", digest, str(target))
        await asyncio.gather(*(files.put("room", digest, str(source)) for _ in range(3)))
        await files.put("room", digest, str(source))
        assert await files.get("room", digest, str(target))
        assert target.read_bytes() == content
        assert not await files.get("another room", digest, str(target))
        await files.put("another room", digest, str(source))
        await files.remove("room")
        assert not await files.get("room", digest, str(target))
        assert await files.get("another room", digest, str(target))


async def test_mismatched_digest_is_refused(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"something else")
    digest = hashlib.sha256(b"this").hexdigest()
    async with NatsServers(tmp_path / "nats") as servers, store_on(servers) as store:
        await store.objects.put("room", digest, str(source))
        with pytest.raises(StoreUnavailable, match="damaged"):
            await store.objects.get("room", digest, str(target))
        assert sorted(each.name for each in tmp_path.iterdir()) == ["nats", "source"]


async def test_lease_is_exclusive_until_release(tmp_path: Path) -> None:
    async with NatsServers(tmp_path) as servers, store_on(servers, lease=1) as store:
        first, second, other = store.lease("a"), store.lease("a"), store.lease("b")
        await first.acquire()
        await other.acquire()
        waiting = asyncio.create_task(second.acquire())
        holding = asyncio.create_task(first.hold())
        done, _ = await asyncio.wait([waiting, holding], timeout=2.5)
        assert not done
        holding.cancel()
        await asyncio.wait([holding])
        await first.release()
        await waiting


async def test_stopped_process_loses_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with NatsServers(tmp_path) as servers, store_on(servers, lease=60) as store:
        lease = store.lease("a")
        await lease.acquire()
        later = SimpleNamespace(monotonic=lambda: time.monotonic() + 60)
        monkeypatch.setattr("genie_serve.stores.nats.lease.time", later)
        await lease.hold()


async def test_silent_store_loses_lease(tmp_path: Path) -> None:
    async with NatsServers(tmp_path) as servers, store_on(servers, lease=1) as store:
        lease = store.lease("a")
        await lease.acquire()
        servers.pause()
        try:
            await lease.hold()
        finally:
            servers.resume()


async def test_overwritten_lease_is_lost(tmp_path: Path) -> None:
    async with NatsServers(tmp_path) as servers, store_on(servers, lease=60) as store:
        lease = store.lease("a")
        lease._lasts = 2
        await lease.acquire()
        await store._leases.put("a", b"another")
        await lease.hold()
        assert lease._until > time.monotonic()


async def test_servers_let_in_who_has_credentials(tmp_path: Path) -> None:
    config, credentials = operated()
    path = tmp_path / "service.creds"
    path.write_text(credentials)
    async with NatsServers(tmp_path / "nats", extra=config) as servers:
        async with store_on(servers, credentials=path) as store:
            await store.check()
            await store.documents.put("room.a", b"1")
            assert await store.documents.get("room.a") == b"1"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("genie_serve.stores.nats.connection.CONNECTING", 1.0)
            with pytest.raises(StoreUnavailable, match="Authorization Violation") as refusal:
                await NatsStore.connect(servers.table())
            assert "\n" not in str(refusal.value)


async def test_servers_are_known_by_their_authority(tmp_path: Path) -> None:
    make_authority(tmp_path)
    files = {name: tmp_path / f"{name}.pem" for name in ("ca", "server", "client")}
    extra = (
        f'tls {{ cert_file: "{files["server"]}", key_file: "{files["server"]}", '
        f'ca_file: "{files["ca"]}", verify: true, timeout: 5 }}'
    )
    async with NatsServers(tmp_path / "nats", extra=extra) as servers:
        urls = tuple(f"tls://127.0.0.1:{port}" for port in servers.ports)
        async with store_on(
            servers, urls=urls, ca=files["ca"], certificate=files["client"]
        ) as store:
            await store.check()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("genie_serve.stores.nats.connection.CONNECTING", 1.0)
            with pytest.raises(StoreUnavailable, match="certificate verify failed"):
                await NatsStore.connect(servers.table(urls=urls))


def make_authority(folder: Path) -> None:
    """Write an authority, and certificates with their keys for a server and a client."""
    authority = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test")])
    for file, is_authority in (("ca", True), ("server", False), ("client", False)):
        key = authority if is_authority else Ed25519PrivateKey.generate()
        subject = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, "Test" if is_authority else file)]
        )
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]),
                critical=False,
            )
            .sign(authority, None)
        )
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / f"{file}.pem").write_bytes(certificate.public_bytes(Encoding.PEM) + private)
