"""Machines of a service and their store, for drills that break them.

Each drill lets members post without pause, breaks something, and compares what all have seen with
what is in the store. How long nothing arrived is printed (`pytest -s`), and not judged.
"""

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from tests.genie_core.room.doubles import Guest, Recorder, participant
from tests.limits import scaled
from tests.ports import free_port

from genie_core.room.protocol.events import Event
from genie_core.room.security.certificate import load_certificate
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.identity import load_identity
from genie_core.room.security.invite import Invite, read_invite
from genie_core.room.state.hosting import Claim
from genie_core.room.transport.dialer import Backoff, Dialer, Endpoint
from genie_core.room.transport.websocket import tls_connect
from genie_core.settings.locations import Locations
from genie_serve.config import StoreTable, read_config
from genie_serve.service import Service
from genie_serve.stores.opening import open_store

NAMES: Final = ("ann", "bob", "cyd", "dan", "eve")
LEASE: Final = 2.0
PAUSE: Final = 0.05
"""Seconds between two messages of a member."""

RUNNING: Final = 10
"""Messages of each member that are there before and after something is broken."""

BACK: Final = scaled(60.0)
"""Seconds within which messages must arrive again."""

CONFIG: Final = """
listen = "127.0.0.1"
port = {port}
addresses = [{addresses}]
ops = "127.0.0.1:{ops}"
key = "{folder}/host.key"
certificate = "{folder}/host.pem"

[room]
burst = 1000000
per_second = 1000000
volume = 1000000000
joins = 100000

[store]
kind = "{store.kind}"
urls = [{urls}]
monitor = [{monitors}]
replicas = {store.replicas}
lease = {lease}
"""


class Servers(Protocol):
    """What keeps the rooms of both machines."""

    def table(self) -> StoreTable: ...


S = TypeVar("S", bound=Servers)


class Machine:
    """A machine of the service: a folder, a port, and the process that runs there."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self._process: Process | None = None

    async def start(self) -> None:
        """Start `genie-tui serve`, and wait until it listens."""
        with (self.folder / "errors").open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "genie_tui", "serve"),
                *("--config", str(self.folder / "serve.toml")),
                env={**os.environ, "GENIE_HOME": str(self.folder)},
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=errors,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(BACK):
            assert await self._process.stdout.readline(), (self.folder / "errors").read_text()

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    async def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.communicate()


class Member:
    """A member who posts without pause; `port` is where they are connected."""

    def __init__(self, guest: Guest, dialer: Dialer) -> None:
        self.guest = guest
        self._dialer = dialer
        self.sent: list[str] = []
        self.arrivals: list[float] = []

    @property
    def port(self) -> int:
        assert self._dialer.current is not None
        return self._dialer.current.address.port

    async def post(self) -> None:
        """Post until cancelled."""
        name = self.guest.client.name
        while True:
            self.sent.append(f"{name} {len(self.sent)}")
            self.guest.client.messages.send(self.sent[-1])
            await asyncio.sleep(PAUSE)

    async def watch(self) -> None:
        """Note when messages arrive, until cancelled."""
        seen = self.guest.seen
        while True:
            await seen.until(partial(_has_more, len(seen.texts)))
            self.arrivals.append(time.monotonic())

    def longest_gap(self, since: float) -> float:
        times = [*(each for each in self.arrivals if each >= since), time.monotonic()]
        return max(b - a for a, b in zip([since, *times], times, strict=False))


def _has_more(count: int, seen: Recorder) -> bool:
    return len(seen.texts) > count


class Drill(Generic[S]):
    """A room with members at several machines."""

    def __init__(self, servers: S, machines: list[Machine], room: str) -> None:
        self.servers = servers
        self.machines = machines
        self.room = room
        self.members: list[Member] = []

    @property
    def sequencer(self) -> Machine:
        """The machine at which members are."""
        (port,) = {member.port for member in self.members}
        return next(each for each in self.machines if each.port == port)

    async def more(self) -> None:
        """Wait until all members have seen further messages of each."""
        counts = [len(member.sent) + RUNNING for member in self.members]
        async with asyncio.timeout(BACK):
            while True:
                wanted = {
                    f"{member.guest.client.name} {count}"
                    for member, count in zip(self.members, counts, strict=True)
                }
                if all(wanted <= {*each.guest.seen.texts} for each in self.members):
                    return
                await asyncio.sleep(0.05)


@asynccontextmanager
async def drill(
    folder: Path, starting: AbstractAsyncContextManager[S], names: Sequence[str] = ("a", "b")
) -> AsyncIterator[Drill[S]]:
    """Run a room whose members post without pause; at the end, compare what all have seen."""
    async with AsyncExitStack() as resources:
        servers = await resources.enter_async_context(starting)
        machines = [Machine(folder / name, free_port()) for name in names]
        _configure(folder, servers.table(), machines)
        room, invite = await _found(folder)
        for machine in machines:
            resources.push_async_callback(machine.kill)
            await machine.start()
        running = Drill(servers, machines, room)
        tasks = []
        for name in NAMES:
            dialer = Dialer([Endpoint(each, invite.pin) for each in invite.addresses], tls_connect)
            guest = await resources.enter_async_context(
                participant(
                    dialer,
                    name,
                    ticket=InviteSecret(invite.pass_id, invite.secret),
                    digest=invite.room,
                    accepts=partial(_approved, dialer),
                    backoff=Backoff(),
                )
            )
            await guest.seen.online()
            running.members.append(member := Member(guest, dialer))
            tasks += [asyncio.create_task(member.post()), asyncio.create_task(member.watch())]
        try:
            await running.more()
            yield running
            await running.more()
        finally:
            for task in tasks:
                task.cancel()
        await _check(running)


def _configure(folder: Path, table: StoreTable, machines: list[Machine]) -> None:
    load_identity(folder / "host.key")
    load_certificate(folder / "host.pem", datetime.now(UTC))
    for machine in machines:
        machine.folder.mkdir()
        text = CONFIG.format(
            port=machine.port,
            addresses=_listed(f"127.0.0.1:{each.port}" for each in machines),
            ops=free_port(),
            folder=folder,
            store=table,
            urls=_listed(table.urls),
            monitors=_listed(table.monitor),
            lease=LEASE,
        )
        (machine.folder / "serve.toml").write_text(text)


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(f'"{each}"' for each in texts)


async def _found(folder: Path) -> tuple[str, Invite]:
    """Create the room by a process that ends then; return its folder's name and an invite."""
    config = read_config(folder / "a" / "serve.toml")
    assert config.store is not None
    base = folder / "founding"
    store = await open_store(config.store)
    service = Service(config, Locations(base / "c", base / "d", base / "l"), store=store)
    await service.start()
    try:
        async with asyncio.timeout(BACK):
            while len(service.shards_held) < config.store.shards:
                await asyncio.sleep(0.05)
        room = await service.create("Drill")
        return room.saved.id, read_invite(room.invite())
    finally:
        await service.stop()
        await store.aclose()


async def _approved(dialer: Dialer, _claim: Claim) -> bool:
    dialer.approve()
    return True


async def _check(drill: Drill[S]) -> None:
    """Check that each message is there once, and that all logs are the same."""
    sent = sorted(text for member in drill.members for text in member.sent)
    for member in drill.members:
        await member.guest.seen.until(lambda seen: len(seen.texts) >= len(sent))
    stored = await _stored(drill)
    for member in drill.members:
        seen = member.guest.seen
        assert sorted(seen.texts) == sent
        assert seen.rejected == []
        last = seen.events[-1].seq
        assert [event.seq for event in seen.events] == list(range(1, last + 1))
        assert seen.events == stored[:last]


async def _stored(drill: Drill[S]) -> list[Event]:
    store = await open_store(drill.servers.table())
    try:
        return [event async for group in store.log(drill.room).read(0) for event in group]
    finally:
        await store.aclose()


async def kill_sequencers(drill: Drill[S], times: int) -> None:
    """Kill the process that hosts, so that the other one takes over, again and again."""
    for _ in range(times):
        victim, at = drill.sequencer, time.monotonic()
        await victim.kill()
        await drill.more()
        report("sequencer killed", drill, at)
        await victim.start()


async def stop_sequencers(drill: Drill[S], times: int) -> None:
    """Stop the process that hosts for longer than its lease, and let it go on."""
    for _ in range(times):
        victim, at = drill.sequencer, time.monotonic()
        victim.send(signal.SIGSTOP)
        try:
            await drill.more()
            assert drill.sequencer is not victim
            report("sequencer stopped", drill, at)
        finally:
            victim.send(signal.SIGCONT)
        await drill.more()


async def stop_stand_by(drill: Drill[S], times: int) -> None:
    """Kill the process that hosts while one of the two others answers nothing."""
    for _ in range(times):
        victim = drill.sequencer
        silent, _third = (each for each in drill.machines if each is not victim)
        silent.send(signal.SIGSTOP)
        try:
            at = time.monotonic()
            await victim.kill()
            await drill.more()
            assert drill.sequencer not in (victim, silent)
            report("sequencer killed, another machine stopped", drill, at)
        finally:
            silent.send(signal.SIGCONT)
        await victim.start()
        await drill.more()


def report(what: str, drill: Drill[S], since: float) -> None:
    gaps = [member.longest_gap(since) for member in drill.members]
    sys.stdout.write(f"\n{what}: nothing arrived for {min(gaps):.1f} to {max(gaps):.1f} s\n")
