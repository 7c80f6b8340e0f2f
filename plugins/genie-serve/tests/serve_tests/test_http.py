"""Health and metrics of a service over HTTP."""

import asyncio
import json
import signal
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace
from tests.faults.failing_disk import FailingDisk
from tests.limits import scaled
from tests.ports import free_port

from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import NotLoopback
from genie_core.room.security.certificate import load_certificate
from genie_core.room.security.identity import load_identity
from genie_core.sessions.session import LOG_NAME
from genie_serve.errors import CannotServe
from genie_serve.http import REQUESTS_AT_ONCE, serve_ops
from genie_serve.probe import probe
from genie_serve.service import Service
from genie_serve.stores.store import StoreUnavailable
from serve_tests.test_service import LOCAL, joining, places, serving

ANYWHERE: Final = Address("127.0.0.1", 0)


async def ask(address: Address, path: str, method: str = "GET") -> tuple[int, str]:
    """Return status and text of an answer."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body


async def test_alive_early_ready_while_serving(tmp_path: Path) -> None:
    service = Service(LOCAL, places(tmp_path))
    async with serve_ops(service, ANYWHERE) as ops:
        assert await ask(ops, "/healthz") == (200, "ok\n")
        status, text = await ask(ops, "/readyz")
        assert (status, "starting" in text) == (503, True)
        await service.start()
        assert (await ask(ops, "/readyz"))[0] == 200
        assert await asyncio.to_thread(probe, ops) == ""
        await service.stop()
        assert (await ask(ops, "/readyz"))[0] == 503
        assert "stopping" in await asyncio.to_thread(probe, ops)
        assert (await ask(ops, "/healthz"))[0] == 200
        assert (await ask(ops, "/metrics"))[0] == 200
    assert "no service answers" in await asyncio.to_thread(probe, ops)


async def test_full_disk_is_unready(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, serve_ops(service, ANYWHERE) as ops:
        room, _ = await service.create("Standup"), await service.create("Other")
        async with joining(room.invite(), "ann") as ann:
            await ann.seen.online()
            disk = FailingDisk(room.saved.log_path)
            with disk.installed():
                disk.full = True
                ann.client.messages.send("kept until there is space")
                await ann.seen.until(lambda _: bool(room.server.room.failure))
                status, text = await ask(ops, "/readyz")
                assert status == 503
                assert "1 of 2 rooms wait" in text
                assert "No space left" in text
                assert "Standup" not in text
                disk.full = False
                await ann.seen.until(lambda seen: seen.texts)
            assert (await ask(ops, "/readyz"))[0] == 200


async def test_one_damaged_room_stays_ready(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, serve_ops(service, ANYWHERE) as ops:
        room, _ = await service.create("Standup"), await service.create("Other")
        room.server.room.refuse_all("the log is damaged")
        assert (await ask(ops, "/readyz"))[0] == 200
        assert 'genie_rooms{state="failing"} 1.0' in (await ask(ops, "/metrics"))[1]


async def test_all_rooms_closed_is_unready(tmp_path: Path) -> None:
    service = Service(LOCAL, places(tmp_path))
    async with serve_ops(service, ANYWHERE) as ops:
        await service.start()
        room = (await service.create("Garden")).saved
        await service.stop()
        (room.folder / LOG_NAME).unlink()
        (room.folder / LOG_NAME).mkdir()
        service = Service(LOCAL, places(tmp_path))
    async with serve_ops(service, ANYWHERE) as ops:
        await service.start()
        status, text = await ask(ops, "/readyz")
        assert (status, json.loads(text)["unopened"]) == (503, 1)
        assert "none of 1 rooms can be opened" in text
        await service.stop()


class Documents:
    async def get(self, key: str) -> bytes | None:
        raise StoreUnavailable("the store at x:1 does not answer")


class Store:
    documents = Documents()


async def test_silent_store_is_unready(tmp_path: Path) -> None:
    store: Any = Store()
    key, certificate = tmp_path / "host.key", tmp_path / "host.pem"
    load_identity(key)
    load_certificate(certificate, datetime.now(UTC))
    config = replace(LOCAL, key=key, certificate=certificate)
    service = Service(config, places(tmp_path), store=store)
    async with serve_ops(service, ANYWHERE) as ops:
        await service.start()
        status, text = await ask(ops, "/readyz")
        assert (status, "the store at x:1 does not answer" in text) == (503, True)
        assert "genie_store_up 0.0" in (await ask(ops, "/metrics"))[1]
        await service.stop()


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/", 404), ("POST", "/metrics", 405)]
)
async def test_there_is_nothing_else(tmp_path: Path, method: str, path: str, status: int) -> None:
    service = Service(LOCAL, places(tmp_path))
    async with serve_ops(service, ANYWHERE) as ops:
        assert (await ask(ops, path, method))[0] == status


async def test_open_connections_delay_no_stop(tmp_path: Path) -> None:
    service = Service(LOCAL, places(tmp_path))
    async with AsyncExitStack() as open_:
        async with serve_ops(service, ANYWHERE) as ops:
            for _ in range(3):
                _, writer = await asyncio.open_connection(*ops)
                open_.callback(writer.close)
                writer.write(b"GET /healthz HTTP/1.1\r\n")  # half a request
            await ask(ops, "/healthz")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*ops)


async def test_requests_at_once_are_limited(tmp_path: Path) -> None:
    service = Service(LOCAL, places(tmp_path))
    async with serve_ops(service, ANYWHERE) as ops, AsyncExitStack() as open_:
        for _ in range(REQUESTS_AT_ONCE):
            _, writer = await asyncio.open_connection(*ops)
            open_.callback(writer.close)
        assert (await ask(ops, "/healthz"))[0] == 503


async def test_signals_stay_those_of_the_service(tmp_path: Path) -> None:
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    async with serve_ops(Service(LOCAL, places(tmp_path)), ANYWHERE):
        assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == before


async def test_only_free_loopback_is_served(tmp_path: Path) -> None:
    service = Service(LOCAL, places(tmp_path))
    with pytest.raises(NotLoopback):
        async with serve_ops(service, Address("0.0.0.0", free_port())):  # noqa: S104 - refused
            pass
    async with serve_ops(service, ANYWHERE) as ops:
        with pytest.raises(CannotServe, match="set ops in the configuration"):
            async with serve_ops(service, ops):
                pass


async def test_silent_connections_time_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_serve.asgi.HEAD_TIMEOUT", 0.2)
    service = Service(LOCAL, places(tmp_path))
    async with serve_ops(service, ANYWHERE) as ops, asyncio.timeout(scaled(60)):
        silent = [await asyncio.open_connection(*ops) for _ in range(REQUESTS_AT_ONCE + 1)]
        for reader, writer in silent:
            with suppress(ConnectionResetError):
                await reader.read()
            writer.close()
        assert await ask(ops, "/healthz") == (200, "ok\n")
