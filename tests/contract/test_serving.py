"""A service as its operator sees it: a program that systemd or a container starts and stops."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.limits import scaled
from tests.ports import free_port

from genie_core.room.protocol.address import Address
from genie_core.settings.locations import find_locations
from genie_serve.service import Service
from serve_tests.test_http import ask
from serve_tests.test_metrics import scrape
from serve_tests.test_service import LOCAL, ended, is_online, joining

DEADLINE = scaled(60.0)


class Operated:
    """A service in a process of its own, with one room; `manager` hears what it tells systemd."""

    def __init__(self, home: Path, manager: socket.socket) -> None:
        self.home = home
        self.port, self.ops = free_port(), Address("127.0.0.1", free_port())
        self.manager = manager
        self.env = {**os.environ, "GENIE_HOME": str(home), "NOTIFY_SOCKET": manager.getsockname()}

    async def create_room(self) -> str:
        """Create a room; returns its invite."""
        config = replace(LOCAL, port=self.port)
        service = Service(config, find_locations({"GENIE_HOME": str(self.home)}))
        await service.start()
        invite = (await service.create("Standup")).invite()
        await service.stop()
        return invite

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[str]"]:
        config = self.home / "config" / "serve.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f'listen = "127.0.0.1"\nport = {self.port}\nops = "{self.ops}"\n')
        command = [sys.executable, "-m", "genie_tui", "serve"]
        with subprocess.Popen(
            command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    async def hear(self) -> str:
        loop = asyncio.get_running_loop()
        return (await asyncio.wait_for(loop.sock_recv(self.manager, 100), DEADLINE)).decode()

    async def probe(self) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "genie_tui", "serve", "--probe"]
        return await asyncio.to_thread(
            subprocess.run,
            command,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )


@pytest.fixture
def operated(tmp_path: Path) -> Iterator[Operated]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        yield Operated(tmp_path / "home", manager)


async def test_service_is_ready_counts_and_stops(operated: Operated) -> None:
    invite = await operated.create_room()
    with operated.running() as process:
        while (told := await operated.hear()).startswith("EXTEND_TIMEOUT_USEC="):
            pass
        assert told == "READY=1"
        assert (await ask(operated.ops, "/healthz"))[0] == 200
        ready = await operated.probe()
        assert (ready.returncode, ready.stdout) == (0, "ready\n")
        async with joining(invite, "ann") as ann, joining(invite, "bob") as bob:
            await ann.seen.online()
            ann.client.messages.send("the secret plan")
            await bob.seen.until(lambda seen: seen.texts)
            async with joining(invite, "eve", ticket=None) as eve:
                await eve.seen.until(ended)
            counted = await scrape(operated.ops)
            assert counted["genie_members"] == 2
            assert counted["genie_refusals_total no_invite"] == 1
            process.send_signal(signal.SIGTERM)
            assert await operated.hear() == "STOPPING=1"
            out, log = await asyncio.to_thread(process.communicate, timeout=DEADLINE)
            await bob.seen.until(lambda seen: not is_online(seen))
    assert process.returncode == 0
    assert out.startswith("serving 1 room at ")
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["event"] for line in lines][-2:] == ["stopping", "stopped"]
    assert {line["level"] for line in lines} == {"info"}
    for text in ("the secret plan", "Standup", invite):
        assert text not in log
    assert (await operated.probe()).returncode == 1


async def test_remote_metrics_address_is_refused(operated: Operated) -> None:
    operated.ops = Address("0.0.0.0", operated.ops.port)  # noqa: S104 - refused
    with operated.running() as process:
        _, log = await asyncio.to_thread(process.communicate, timeout=DEADLINE)
    assert process.returncode == 1
    (line,) = log.splitlines()
    assert "serve.toml, line 3: ops can't be" in line
    assert "proxy with TLS" in line
