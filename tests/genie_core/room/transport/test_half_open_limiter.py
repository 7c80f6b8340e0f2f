import asyncio
import gc
import os
import socket
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pytest
from tests.genie_core.room.doubles import participant, room_server
from tests.genie_core.room.wire import DEADLINE, raw_websocket

from genie_core.room.protocol.limits import Limits
from genie_core.room.security.certificate import load_certificate
from genie_core.room.transport.hardening import RESERVE, HalfOpenLimiter, Stranger
from genie_core.room.transport.websocket import ws_connector

ROOT = Path(__file__).parents[4]


class Lobby:
    """A guarded socket and who connects to it, from whichever loopback address they like."""

    def __init__(self, most: int) -> None:
        self.gate = HalfOpenLimiter(most)
        self.listener = self.gate.guard(socket.create_server(("127.0.0.1", 0)))
        self.near: list[socket.socket] = []
        self.far: list[socket.socket] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for sock in (*self.near, *self.far, self.listener):
            sock.close()

    def enter(self) -> bool:
        """Connect; whether the gate admits it."""
        self.near.append(socket.create_connection(self.listener.getsockname(), DEADLINE))
        try:
            self.far.append(self.listener.accept()[0])
        except ConnectionAbortedError:
            return False
        return True


@pytest.fixture
def by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what connects from this machine for what it is not: machines of their own."""
    monkeypatch.setattr("genie_core.room.transport.hardening.client_origin", lambda host: host)


def test_closed_or_admitted_makes_room() -> None:
    with Lobby(2) as lobby:
        assert [lobby.enter() for _ in range(3)] == [True, True, False]
        lobby.far[0].close()
        assert lobby.enter()
        assert not lobby.enter()
        lobby.gate.let_in(lobby.far[1].fileno())
        assert lobby.enter()
        assert not lobby.enter()
        assert lobby.gate.strangers == 2


def test_whoever_is_turned_away_hears_so_at_once() -> None:
    with Lobby(1) as lobby:
        lobby.enter()
        assert not lobby.enter()
        with pytest.raises(ConnectionResetError):
            lobby.near[1].recv(1)


def connect_from(lobby: Lobby, host: str) -> bool:
    near = socket.socket()
    near.settimeout(DEADLINE)
    near.bind((host, 0))
    near.connect(lobby.listener.getsockname())
    lobby.near.append(near)
    try:
        lobby.far.append(lobby.listener.accept()[0])
    except ConnectionAbortedError:
        return False
    return True


@pytest.mark.usefixtures("by_address")
def test_newcomer_displaces_largest_source() -> None:
    with Lobby(4) as lobby:
        for host in ("127.0.0.2", "127.0.0.3", "127.0.0.3", "127.0.0.3"):
            assert connect_from(lobby, host)
        assert not connect_from(lobby, "127.0.0.3")
        assert connect_from(lobby, "127.0.0.2")
        assert lobby.near[1].recv(1) == b""  # the oldest of the others
        assert lobby.far[1].recv(1) == b""
        assert not connect_from(lobby, "127.0.0.2")  # who has as many as the other now


@pytest.mark.usefixtures("by_address")
def test_displaced_connections_are_bounded() -> None:
    with Lobby(2 * RESERVE) as lobby:
        while connect_from(lobby, "127.0.0.2"):
            pass
        admitted = [connect_from(lobby, f"127.0.1.{n}") for n in range(RESERVE + 1)]
        assert admitted == [True] * RESERVE + [False]
        assert lobby.gate.strangers == 3 * RESERVE
        for sock in lobby.far[:RESERVE]:
            sock.close()
        assert lobby.gate.strangers == 2 * RESERVE
        assert connect_from(lobby, "127.0.2.1")


def fill(gate: HalfOpenLimiter, sources: Iterable[str]) -> list[bool]:
    """Let connections stand before a gate that come from these sources, as far as it admits them."""
    admitted = []
    for source in sources:
        admitted.append(gate.admits(source))
        if admitted[-1]:
            Passing(gate, socket.socket(), source)
    return admitted


class Passing(Stranger):
    """A connection that is gone as soon as it is hung up on."""

    def hang_up(self) -> None:
        self.close()


def standing(gate: HalfOpenLimiter) -> Counter[str]:
    return Counter(each.source for each in gate._strangers.values())


def let_in(gate: HalfOpenLimiter, *descriptors: int) -> None:
    for descriptor in descriptors:
        stranger = gate._strangers[descriptor]
        gate.let_in(descriptor)
        stranger.close()


@pytest.fixture
def gate() -> Iterator[HalfOpenLimiter]:
    gate = HalfOpenLimiter(128)
    yield gate
    for each in list(gate._strangers.values()):
        each.close()


def test_flooder_bars_no_network_neighbour(
    gate: HalfOpenLimiter,
) -> None:
    for turn in range(46):
        member = f"fd00::{turn + 1:x}"
        fill(gate, (f"fd00::bad:{turn:x}:{each:x}" for each in range(200)))
        assert fill(gate, [member]) == [True]
        fill(gate, (f"fd00::bad2:{turn:x}:{each:x}" for each in range(127)))
        assert standing(gate)[member] == 1  # so it had the time in which 127 others came
        (descriptor,) = (fd for fd, each in gate._strangers.items() if each.source == member)
        let_in(gate, descriptor)
        assert standing(gate)[member] == 0


def test_crowded_network_gets_equal_share(gate: HalfOpenLimiter) -> None:
    assert fill(gate, [f"192.0.2.{n}" for n in range(1, 64)]) == [True] * 63
    fill(gate, [f"fd00::bad:{n:x}" for n in range(500)])
    assert sum(source.startswith("192.0.2.") for source in standing(gate)) == 63
    assert fill(gate, ["192.0.2.99"]) == [True]


def test_member_sources_keep_places(
    gate: HalfOpenLimiter,
) -> None:
    members = [f"fd00::{n:x}" for n in range(1, 33)]
    assert fill(gate, members) == [True] * 32
    let_in(gate, *gate._strangers)
    fill(gate, [f"fd00::bad:{n:x}" for n in range(500)])
    assert fill(gate, members) == [True] * 32
    fill(gate, [f"fd00::bad2:{n:x}" for n in range(500)])
    assert set(members) <= set(standing(gate))
    assert fill(gate, members[:1]) == [True]
    assert len(gate._strangers) == 160


def test_members_leave_place_for_newcomers(gate: HalfOpenLimiter) -> None:
    assert fill(gate, ["192.0.2.1"]) == [True]
    let_in(gate, *gate._strangers)
    assert sum(fill(gate, ["192.0.2.1"] * 300)) == 160
    assert fill(gate, ["192.0.2.2"]) == [True]


async def test_only_half_open_peers_count() -> None:
    async with room_server(limits=Limits(half_open=1)) as server:
        address = await server.listen(port=0)
        async with (
            participant(ws_connector(str(address)), "bob") as bob,
            participant(ws_connector(str(address)), "alice") as alice,
        ):
            await bob.seen.online()
            await alice.seen.online()
            async with raw_websocket(address):  # upgraded, and says nothing
                with pytest.raises(ConnectionResetError):
                    async with raw_websocket(address):
                        pass
            bob.client.messages.send("still here")
            await alice.seen.until(lambda r: r.texts == ["still here"])


@pytest.mark.parametrize("encrypted", [False, True])
async def test_closing_room_ends_half_open(tmp_path: Path, encrypted: bool) -> None:
    certificate = load_certificate(tmp_path / "h.pem", datetime.now(UTC)) if encrypted else None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ResourceWarning)
        for turns in range(8):  # of the loop, between connecting and closing
            server = room_server(certificate=certificate, limits=Limits(handshake=600.0))
            await server.start()
            address = await server.listen(port=0)
            with socket.create_connection(("127.0.0.1", address.port)):
                for _ in range(turns):
                    await asyncio.sleep(0)
                async with asyncio.timeout(DEADLINE):
                    await server.close()
        gc.collect()
    assert [str(each.message) for each in seen] == []


HOST = """
import asyncio, resource, sys
from tests.genie_core.room.doubles import MemorySink, room_server

class DiskSink(MemorySink):
    async def append(self, events):
        with open(sys.argv[1], "ab") as file:  # needs a descriptor, too
            file.write(b"." * len(events))
        await super().append(events)

async def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    async with room_server(DiskSink()) as server:
        print((await server.listen(port=0)).port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""


async def test_half_open_flood_costs_no_handles(
    tmp_path: Path,
) -> None:
    host = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", HOST, str(tmp_path / "log")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )
    assert host.stdout is not None
    port = int(host.stdout.readline())
    crowd: list[socket.socket] = []
    try:
        async with participant(ws_connector(f"127.0.0.1:{port}"), "bob") as bob:
            await bob.seen.online()
            for n in range(3000):
                await crowd_in(crowd, port)
                if n % 100 == 0:
                    bob.client.messages.send(f"message {n}")
            await bob.seen.until(lambda r: len(r.texts) == 30 and not r.unsent)
            assert bob.seen.notices == []
            assert sum(status.state.value == "online" for status in bob.seen.links) == 1
            assert (tmp_path / "log").stat().st_size == len(bob.seen.events)
    finally:
        for sock in crowd:
            sock.close()
        _, errors = host.communicate(input="", timeout=DEADLINE)
    assert host.returncode == 0
    assert errors == ""


async def crowd_in(crowd: list[socket.socket], port: int) -> None:
    """Connect and say nothing; most are reset, sooner or later."""
    sock = socket.socket()
    sock.setblocking(False)
    crowd.append(sock)
    try:
        async with asyncio.timeout(DEADLINE):
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    except ConnectionError:
        pass
    if len(crowd) > 700:  # this process has limits, too
        crowd.pop(0).close()
