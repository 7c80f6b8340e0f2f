"""Measure what a backup of a running service costs its members, and whether it is complete.

A service with rooms, whose members write at a steady rate: the time until each has its own message
back, without a backup and while one after the other is written. The last one is restored, and must
have every message that was acknowledged before it began.
"""

import argparse
import asyncio
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import EventsRecorded
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.events import MessagePosted
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.invite import read_invite
from genie_core.room.transport.websocket import tls_connect
from genie_core.settings.locations import find_locations
from genie_serve.admin.client import ask_here
from genie_serve.admin.requests import CreateInvite, CreateRoom, InviteText

PASSPHRASE = b"correct horse battery\n"


class Member:
    """Writes into a room, and notes how long each message takes to come back."""

    def __init__(self, name: str, invite: str, at: Address) -> None:
        found = read_invite(invite)
        self.echoes: list[tuple[float, float]] = []
        self.acknowledged: list[str] = []
        self._name = name
        self._sent: dict[str, float] = {}
        self._client = RoomConnection(
            partial(tls_connect, at, found.pin),
            self._deliver,
            ClientHandshake(
                name,
                ticket=InviteSecret(found.pass_id, found.secret),
                digest=found.room,
            ),
        )

    async def run(self, interval: float) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._client.run())
            tasks.create_task(self._write(interval))

    async def _write(self, interval: float) -> None:
        await asyncio.sleep(1 + interval * random.random())
        number = 0
        while True:
            text = f"{self._name} {number}"
            self._sent[text] = time.monotonic()
            self._client.messages.send(text)
            await asyncio.sleep(interval)
            number += 1

    def _deliver(self, event: object) -> None:
        if not isinstance(event, EventsRecorded):
            return
        now = time.monotonic()
        for each in event.events:
            if isinstance(each.body, MessagePosted) and each.body.text in self._sent:
                self.echoes.append((now, now - self._sent.pop(each.body.text)))
                self.acknowledged.append(each.body.text)


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks service_backup",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rooms", type=int, default=20, metavar="N")
    parser.add_argument("--members", type=int, default=3, metavar="N", help="of each room")
    parser.add_argument("--interval", type=float, default=1.0, metavar="S", help="of a member")
    parser.add_argument("--seconds", type=float, default=15.0, metavar="S", help="of each part")
    given = parser.parse_args(list(arguments))
    home = Path(tempfile.mkdtemp(prefix="genie-bench-"))
    try:
        return asyncio.run(_measure(given, home))
    finally:
        shutil.rmtree(home)


async def _measure(given: argparse.Namespace, home: Path) -> int:
    async with AsyncExitStack() as stack:
        at = await stack.enter_async_context(_serving(home / "here"))
        members = await asyncio.to_thread(_invited, given, home / "here", at)
        running = [asyncio.create_task(each.run(given.interval)) for each in members]
        stack.callback(lambda: [task.cancel() for task in running])
        await asyncio.sleep(5)
        quiet = time.monotonic()
        await asyncio.sleep(given.seconds)
        began, took, texts = time.monotonic(), list[float](), list[list[str]]()
        while time.monotonic() - began < given.seconds:
            texts, start = [[*each.acknowledged] for each in members], time.monotonic()
            await _admin(home / "here", "backup", "--force", str(home / "b.zip"))
            took.append(time.monotonic() - start)
        ended = time.monotonic()
    print(f"{len(members)} members in {given.rooms} rooms, one message each {given.interval} s\n")
    _print_echoes("without a backup", members, quiet, began)
    _print_echoes("during backups", members, began, ended)
    size = (await asyncio.to_thread((home / "b.zip").stat)).st_size
    print(f"{len(took)} backups of {size:,} bytes, {min(took):.2f} to {max(took):.2f} s each")
    await _admin(home / "there", "restore", str(home / "b.zip"))
    said = await asyncio.to_thread(_said, home / "there")
    lost = sum(text not in said for each in texts for text in each)
    print(f"acknowledged before the last one and not in it: {lost} of {sum(map(len, texts)):,}")
    return 1 if lost else 0


def _said(home: Path) -> set[str]:
    """Return the texts in all logs."""
    logs = b"".join(each.read_bytes() for each in home.glob("data/sessions/*/events.jsonl"))
    return {each.decode() for each in re.findall(rb'"text":"([^"]*)"', logs)}


def _invited(given: argparse.Namespace, home: Path, at: Address) -> list[Member]:
    locations, members = find_locations({"GENIE_HOME": str(home)}), list[Member]()
    for number in range(given.rooms):
        ask_here(locations, CreateRoom(f"Room {number}"))
        invite = cast("InviteText", ask_here(locations, CreateInvite(f"Room {number}")))
        names = [f"m{number}x{each}" for each in range(given.members)]
        members += [Member(name, invite.invite, at) for name in names]
    return members


@asynccontextmanager
async def _serving(home: Path) -> AsyncIterator[Address]:
    """Run a service in a process of its own, at any free port."""
    (home / "config").mkdir(parents=True)
    (home / "config/serve.toml").write_text('listen = "127.0.0.1"\nport = 0\nops = ""\n')
    process = await _started(home, "serve", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        line = (await cast("asyncio.StreamReader", process.stdout).readline()).decode()
        found = re.search(r"at ([0-9.]+:[0-9]+)", line)
        if found is None:
            raise SystemExit(f"the service did not start: {line}")
        yield parse_address(found[1])
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _admin(home: Path, *arguments: str) -> None:
    process = await _started(
        home, "admin", *arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    await process.communicate(PASSPHRASE)
    if process.returncode:
        raise SystemExit(f"genie-tui admin {' '.join(arguments)} failed")


async def _started(home: Path, *arguments: str, **streams: Any) -> asyncio.subprocess.Process:
    environment = {**os.environ, "GENIE_HOME": str(home)}
    environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    command = (sys.executable, "-m", "genie_tui", *arguments)
    return await asyncio.create_subprocess_exec(*command, env=environment, **streams)


def _print_echoes(label: str, members: Sequence[Member], start: float, end: float) -> None:
    took = sorted(each for one in members for at, each in one.echoes if start <= at < end)
    p50, p99 = (took[int(len(took) * share)] * 1000 for share in (0.5, 0.99))
    print(f"{label:20}{len(took):>7,} messages   p50 {p50:7.1f} ms   p99 {p99:7.1f} ms")
