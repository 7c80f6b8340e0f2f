"""`python -m benchmarks flood`: what members' words take while others flood the room.

The room has its usual limits. With `--kind frames` the flooders are members; each of their
connections sends, again and again, a large report under an id that the room knows already. With
`--kind handshakes` they are strangers: each completes the TLS handshake and leaves. With
`--kind hellos` they begin it and stop. For both, the host's memory is shown, too.
"""

import argparse
import asyncio
import secrets
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.engine.figures import percentile
from benchmarks.room.run import ENDING, ROOT
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import ConnectionLost, RoomError
from genie_core.room.protocol.events import ApprovalRequested, DecisionMade, MessagePosted
from genie_core.room.protocol.frames import (
    Challenge,
    Entries,
    Hello,
    PostMessage,
    Prove,
    Publish,
    Welcome,
)
from genie_core.room.security.certificate import client_context, load_certificate
from genie_core.room.security.challenge import Transcript, new_nonce
from genie_core.room.security.identity import Identity
from genie_core.room.server.server import RoomServer
from genie_core.room.server.setup import RoomSetup
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.websocket import tls_connect
from genie_core.sessions.log.writer import EventLog

PACE: Final = 4.0
"""Messages a second of the member who is measured; below what the room takes from one person."""

SETTLING: Final = 2.0
"""Seconds of flood before anything is measured."""

COMING_BACK: Final = 1.0
"""Seconds after which a flooder who was dropped connects again."""

WAVE: Final = 300
"""How many half-open connections are opened at a time, and closed before the next as many."""

CALMING_DOWN: Final = 10.0
"""Seconds after the flood until the host's memory is read again."""


def main(arguments: Sequence[str] = ()) -> int:
    """Measure without and with the flood, and print both."""
    args = _arguments(arguments)
    if args.role:
        asyncio.run(ROLES[args.role](args))
        return 0
    print(f"{args.speakers} speaking; {_described(args)}")
    for flood in (False, True):
        print(f"{'flood:   ' if flood else 'no flood:'} {_measure(args, flood=flood)}", flush=True)
    return 0


def _described(args: argparse.Namespace) -> str:
    if args.kind == "handshakes":
        return f"{args.rate:.0f} new TLS connections a second"
    if args.kind == "hellos":
        return f"waves of {WAVE} connections that begin TLS and stop"
    return (
        f"{args.connections} connections of {args.people} people, each with {args.rate:.0f} "
        f"frames of {args.bytes:,} bytes a second{', deeply nested' if args.nested else ''}"
    )


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks flood", description=__doc__)
    parser.add_argument("--kind", choices=FLOODS, default="frames")
    parser.add_argument("--speakers", type=int, default=1)
    parser.add_argument("--people", type=int, default=3)
    parser.add_argument("--connections", type=int, default=12, help="of all flooders together")
    parser.add_argument("--rate", type=float, default=49.0, help="frames, or connections, a second")
    parser.add_argument("--bytes", type=int, default=250_000, help="of one frame")
    parser.add_argument("--nested", action="store_true", help="frames that take long to decode")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--role", choices=ROLES, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _measure(args: argparse.Namespace, *, flood: bool) -> str:
    with tempfile.TemporaryDirectory() as folder:
        server = _start(args, "serve", folder=folder)
        port = _line(server)
        before = _memory(server, "VmRSS")
        member = _start(args, "speak", port=port)
        _line(member)  # all are in the room
        flooder = _start(args, "flood", port=port) if flood else None
        line = _line(member)
        if flooder is not None:
            assert flooder.stdin is not None  # noqa: S101 - a pipe
            flooder.stdin.close()
            line += f"; {_line(flooder)}"
        if args.kind != "frames":
            time.sleep(CALMING_DOWN)
            peak, after = _memory(server, "VmHWM"), _memory(server, "VmRSS")
            line += f"; the host took {before} MB before, {peak} MB at most, {after} MB after"
        for process in (member, server, *([flooder] if flooder is not None else [])):
            _end(process)
    return line


def _start(args: argparse.Namespace, role: str, **more: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "benchmarks", "flood", "--role", role]
    for name in ("kind", "speakers", "people", "connections", "rate", "bytes", "seconds"):
        command += [f"--{name}", str(getattr(args, name))]
    command += ["--nested"] if args.nested else []
    for name, value in more.items():
        command += [f"--{name}", value]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None  # noqa: S101 - a pipe
    while (line := process.stdout.readline()).startswith("##"):
        pass
    return line.strip()


def _memory(process: "subprocess.Popen[str]", field: str) -> int:
    """Return a field of a Linux process's status, in MB."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) // 1024
    return 0


def _end(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None  # noqa: S101 - a pipe
    assert process.stdout is not None  # noqa: S101 - a pipe
    process.stdin.close()
    try:
        process.wait(ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


# -- the processes


async def _serve(args: argparse.Namespace) -> None:
    certificate = load_certificate(args.folder / "host.pem", datetime.now(UTC))
    with EventLog.open(args.folder / "events.jsonl").log as log:
        room = RoomServer(
            [], log.append, RoomSetup("bench", "Bench", "host"), certificate=certificate
        )
        async with room:
            print((await room.listen(port=0)).port, flush=True)
            await asyncio.to_thread(sys.stdin.readline)


async def _speak(args: argparse.Namespace) -> None:
    """Say something at times, and print how long it took to come back."""
    latencies: list[int] = []
    everybody = asyncio.Barrier(args.speakers)
    await asyncio.gather(*(_speak_as(args, n, everybody, latencies) for n in range(args.speakers)))
    p50, p99 = (percentile(latencies, percent) / 1e6 for percent in (50, 99))
    print(f"p50 {p50:,.1f} ms, p99 {p99:,.1f} ms of {len(latencies)} messages")


async def _speak_as(
    args: argparse.Namespace, number: int, everybody: asyncio.Barrier, latencies: list[int]
) -> None:
    async with _member(args.port, Identity.generate(), f"ann{number}", engine=False) as link:
        if await everybody.wait() == 0:
            print("all are in the room", flush=True)
        end = time.monotonic() + SETTLING + args.seconds
        while time.monotonic() < end:
            sent = time.monotonic_ns()
            await link.send([PostMessage(str(sent), "hello")])
            await _until_said(link, str(sent))
            took = time.monotonic_ns() - sent
            if time.monotonic() > end - args.seconds:
                latencies.append(took)
            await asyncio.sleep(max(0.0, 1 / PACE - took / 1e9))


async def _until_said(link: ClientConnection, id_: str) -> int:
    while True:
        frame = await link.receive()
        if isinstance(frame, Entries):
            for event in frame.events:
                if isinstance(event.body, MessagePosted) and event.body.id == id_:
                    return event.seq


async def _flood(args: argparse.Namespace) -> None:
    await FLOODS[args.kind](args)


async def _flood_handshakes(args: argparse.Namespace) -> None:
    """Complete TLS handshakes and leave."""
    done: list[float] = []
    tasks: set[asyncio.Task[None]] = set()
    told = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    began, begun = time.monotonic(), 0
    while not told.done():
        task = asyncio.create_task(_greet_and_leave(args.port, done))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        # As many as are due by now: a sleep takes longer than told.
        begun += 1
        due = began + begun / args.rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    print(f"{len(done) / (time.monotonic() - began):,.0f} handshakes a second were completed")
    for task in list(tasks):
        task.cancel()


async def _greet_and_leave(port: int, done: list[float]) -> None:
    with suppress(OSError):
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context())
        done.append(time.monotonic())
        writer.transport.abort()


async def _flood_hellos(args: argparse.Namespace) -> None:
    """Open waves of connections, begin TLS on each, and close them."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        client_context().wrap_bio(incoming, outgoing).do_handshake()
    hello, opened = outgoing.read(), 0
    told = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    while not told.done():
        wave = [socket.socket() for _ in range(WAVE)]
        for each in wave:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", args.port))
        await asyncio.sleep(0.2)
        for each in wave:
            with suppress(OSError):  # most are refused
                each.send(hello)
        await asyncio.sleep(0.5)
        for each in wave:
            each.close()
        opened += WAVE
    print(f"{opened:,} connections were begun")


async def _flood_frames(args: argparse.Namespace) -> None:
    sent: list[int] = []
    people = [(f"flooder{each}", Identity.generate()) for each in range(args.people)]
    tasks = [
        asyncio.create_task(_flood_on(args, *people[each % len(people)], sent))
        for each in range(args.connections)
    ]
    began = time.monotonic()
    await asyncio.to_thread(sys.stdin.read)
    seconds = time.monotonic() - began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(f"the flood was {sum(sent) / seconds / 1e6:,.1f} MB a second")


async def _flood_on(
    args: argparse.Namespace, name: str, identity: Identity, sent: list[int]
) -> None:
    """Flood over one connection, and over another one each time that it ends."""
    while True:
        with suppress(RoomError, PermissionError):
            async with _member(args.port, identity, name, engine=True) as link:
                await _flood_once(args, link, sent)
        await asyncio.sleep(COMING_BACK)


async def _flood_once(args: argparse.Namespace, link: ClientConnection, sent: list[int]) -> None:
    id_ = secrets.token_hex(8)
    await link.send([PostMessage(id_, "hello")])
    number = await _until_said(link, id_)
    await link.send([Publish(id_, DecisionMade(number, "ignore"))])
    filler: Any = [[]] * (args.bytes // 3) if args.nested else "x" * args.bytes
    again = Publish(id_, ApprovalRequested(number, "a", "agent", "tool", {"a": filler}))
    reader = asyncio.create_task(_read_on(link))
    try:
        while not reader.done():
            await link.send([again])
            sent.append(args.bytes)
            await asyncio.sleep(1 / args.rate)
    finally:
        reader.cancel()


async def _read_on(link: ClientConnection) -> None:
    with suppress(ConnectionLost):
        while True:
            await link.receive()


@asynccontextmanager
async def _member(
    port: int, identity: Identity, name: str, *, engine: bool
) -> AsyncIterator[ClientConnection]:
    link = await tls_connect(Address("127.0.0.1", port), "")
    try:
        nonce, device = new_nonce(), secrets.token_hex(8)
        hello = Hello(name, engine=engine, key=identity.key, nonce=nonce, device=device)
        await link.send([hello])
        challenge = await link.receive()
        if not isinstance(challenge, Challenge):
            raise PermissionError(challenge)
        meeting = Transcript(
            challenge.room, name, identity.key, nonce, challenge.nonce, link.channel or ""
        )
        await link.send([Prove(identity.sign(meeting.encode()))])
        welcome = await link.receive()
        if not isinstance(welcome, Welcome):
            raise PermissionError(welcome)
        yield link
    finally:
        link.abort()


FLOODS: Final[dict[str, Callable[[argparse.Namespace], Coroutine[None, None, None]]]] = {
    "frames": _flood_frames,
    "handshakes": _flood_handshakes,
    "hellos": _flood_hellos,
}

ROLES: Final[dict[str, Callable[[argparse.Namespace], Coroutine[None, None, None]]]] = {
    "serve": _serve,
    "speak": _speak,
    "flood": _flood,
}
