"""Real servers of NATS on loopback, which a test can stop, kill and start again."""

import asyncio
import os
import signal
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen
from types import TracebackType
from typing import Final, Self

import msgspec

from genie_serve.config import StoreTable
from tests.limits import scaled
from tests.ports import free_port

BINARY: Final = Path(sys.executable).with_name("nats-server")
READY: Final = scaled(30.0)
"""Seconds within which servers must be ready."""

CONFIG: Final = """
server_name: {name}
listen: "127.0.0.1:{port}"
http: "127.0.0.1:{monitor}"
jetstream {{ store_dir: "{folder}", sync_interval: {sync} }}
"""
CLUSTER: Final = """
cluster {{ name: test, listen: "127.0.0.1:{own}", routes: [{others}] }}
"""


class NatsServers:
    """So many servers, in one cluster if there are several; ends those that it started.

    `extra` is added to their configuration.
    """

    def __init__(
        self, folder: Path, count: int = 1, *, sync: str = "always", extra: str = ""
    ) -> None:
        self.ports = [free_port() for _ in range(count)]
        self.monitors = [free_port() for _ in range(count)]
        routes = [free_port() for _ in range(count)]
        self._running: dict[int, Popen[bytes]] = {}
        self._folder = folder
        for number in range(count):
            text = CONFIG.format(
                name=f"n{number}",
                port=self.ports[number],
                monitor=self.monitors[number],
                folder=folder / f"n{number}",
                sync=sync,
            )
            text += extra
            if count > 1:
                others = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
                text += CLUSTER.format(own=routes[number], others=others)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"n{number}.conf").write_text(text)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def table(self, **changes: object) -> StoreTable:
        """Return the `[store]` of a service on these servers."""
        given = {
            "kind": "nats",
            "urls": tuple(f"nats://127.0.0.1:{port}" for port in self.ports),
            "monitor": tuple(f"http://127.0.0.1:{port}" for port in self.monitors),
            "replicas": len(self.ports),
            **changes,
        }
        return msgspec.convert(given, StoreTable)

    async def start(self) -> None:
        """Start those that don't run, and wait until all are ready."""
        for number in range(len(self.ports)):
            if number not in self._running:
                config = self._folder / f"n{number}.conf"
                with (self._folder / f"n{number}.log").open("ab") as log:
                    self._running[number] = Popen(
                        [BINARY, "-c", config], stdout=DEVNULL, stderr=log
                    )
        async with asyncio.timeout(READY):
            for port in self.monitors:
                while not await asyncio.to_thread(_is_ready, port):
                    await asyncio.sleep(0.05)

    def kill(self, *numbers: int) -> None:
        """Kill servers, by default all."""
        for number in numbers or list(self._running):
            process = self._running.pop(number)
            process.kill()
            process.wait()

    async def stop(self) -> None:
        """Stop all in good order."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            await asyncio.to_thread(process.wait)
        self._running.clear()

    def pause(self) -> None:
        """Stop all where they are, without closing connections."""
        for process in self._running.values():
            os.kill(process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let all go on."""
        for process in self._running.values():
            os.kill(process.pid, signal.SIGCONT)


def _is_ready(port: int) -> bool:
    with suppress(OSError):
        url = f"http://127.0.0.1:{port}/healthz"
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    return False
