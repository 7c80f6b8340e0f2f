"""Measure guests in a browser: memory of the gateway per visitor, and delay of a message.

The gateway is a process of its own before a room in this one; visitors are WebSockets without a
browser. A guest at a terminal of their own, which is what a terminal in a browser would be, is
measured beside it.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from urllib.request import Request, urlopen

from websockets.asyncio.client import ClientConnection, connect

from benchmarks.memory import Memory
from benchmarks.terminal import at_terminal
from genie_core.room.client.events import RoomEvent
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import NewRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.limits import Limits
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_serve.web.gateway import ENTRIES, ENTRIES_PER_SECOND

SETTLING = 3.0
"""Seconds after which a program at a terminal has drawn its first screen."""


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks web",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--visitors", type=int, default=40, metavar="N")
    parser.add_argument("--messages", type=int, default=200, metavar="N")
    options = parser.parse_args(list(arguments))
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(_measure(Path(home), options.visitors, options.messages))
    return 0


async def _measure(home: Path, visitors: int, messages: int) -> None:
    places = Locations(home / "config", home / "data", home / "log")
    limits = Limits(burst=10_000, per_second=1_000)
    opener = RoomOpener("ann", Settings(local=True, announce=False, limits=limits), places)
    ann = await opener.enter(NewRoom("Standup"), _ignore)
    process = await asyncio.to_thread(_gateway, home, ann.hosting.address)
    try:
        link = await asyncio.to_thread(_link_of, process)
        before = Memory.of(process.pid)
        tabs = []
        for number in range(visitors):
            tabs.append(await _visitor(link, f"guest-{number}"))
            await asyncio.sleep(1 / ENTRIES_PER_SECOND if number > ENTRIES / 2 else 0)
        await asyncio.gather(*(_until(tab, "ann") for tab in tabs))
        after = Memory.of(process.pid)
        print(f"gateway, no visitor:      {before}")
        print(f"gateway, {visitors} visitors:     {after}")
        print(f"per visitor:              {(after.uss - before.uss) / visitors:.2f} MB USS")
        delays = await _delays(ann, tabs, messages)
        print(f"gateway, after {messages} messages: {Memory.of(process.pid)}")
        cuts = quantiles(delays, n=100)
        print(
            f"message to all {visitors} tabs: p50 {cuts[49] * 1e3:.0f} ms, p99 {cuts[98] * 1e3:.0f} ms"
        )
        for tab in tabs:
            await tab.close()
    finally:
        process.terminate()
        process.wait()
    await asyncio.to_thread(_at_terminal, home, ann.hosting.address)
    await ann.leave()


def _ignore(event: RoomEvent) -> None:
    """Show nothing."""


def _gateway(home: Path, address: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "genie_tui", "web", address],
        stdout=subprocess.PIPE,
        text=True,
        env={"GENIE_HOME": str(home / "web")},
    )


def _link_of(process: "subprocess.Popen[str]") -> str:
    return next(line.strip() for line in process.stdout or () if line.startswith("http"))


async def _visitor(link: str, name: str) -> ClientConnection:
    """Join as a page does; returns its tab."""
    base, _, rest = link.partition("/#")
    id_, _, secret = rest.partition(".")
    request = Request(  # noqa: S310 - an address of this machine
        f"{base}/v/{id_}/enter",
        json.dumps({"secret": secret, "name": name}).encode(),
        {"content-type": "application/json", "origin": base},
    )
    cookie = (await asyncio.to_thread(_cookie_of, request)).partition(";")[0]
    address = f"{base.replace('http', 'ws', 1)}/v/{id_}/socket"
    return await connect(
        address, additional_headers={"cookie": cookie, "origin": base}, proxy=None, max_size=None
    )


def _cookie_of(request: Request) -> str:
    with urlopen(request) as answer:  # noqa: S310 - an address of this machine
        return str(answer.headers["set-cookie"])


async def _until(tab: ClientConnection, text: str) -> float:
    """Receive until an update has a text; returns the time."""
    while text not in str(await tab.recv()):
        pass
    return time.perf_counter()


async def _delays(ann: JoinedRoom, tabs: list[ClientConnection], messages: int) -> list[float]:
    """Post one message after the other; return the seconds until each was at all tabs."""
    delays = []
    for number in range(messages):
        text, began = f"message-{number}-", time.perf_counter()
        ann.messages.send(text)
        delays.append(max(await asyncio.gather(*(_until(tab, text) for tab in tabs))) - began)
        await asyncio.sleep(0.05)
    return delays


def _at_terminal(home: Path, address: str) -> None:
    env = {"GENIE_HOME": str(home / "guest"), "GENIE_LOCAL": "true"}
    (home / "guest" / "data").mkdir(parents=True)
    (home / "guest" / "data" / "first-start-done").touch()
    join = ["-m", "genie_tui", "join", address, "--guest", "--name", "guest-t"]
    with at_terminal(join, env, columns=120, rows=40) as terminal:
        time.sleep(SETTLING)
        print(f"a guest at a terminal:    {Memory.of(terminal.process.pid)}")
