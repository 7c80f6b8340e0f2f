"""The real process, with real clients."""

import asyncio
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.genie_core.room.doubles import DEADLINE, Guest, participant, tls_connector
from tests.limits import scaled
from tests.ports import free_port

from genie_core.room.client.model import ConnectionState
from genie_core.room.protocol.events import MessagePosted
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.invite import read_invite
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import find_locations
from genie_serve.config import ServeConfig
from genie_serve.service import Service

NAMES = ["ann", "bob", "cyd", "dan", "eve"]


def environment(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "GENIE_HOME": str(home)}


async def with_room(home: Path, port: int) -> tuple[Path, str]:
    """Create a room; return its folder and an invite."""
    config = ServeConfig(listen="127.0.0.1", port=port)
    service = Service(config, find_locations(environment(home)))
    await service.start()
    room = await service.create("Standup")
    invite = room.invite()
    await service.stop()
    return room.saved.folder, invite


@asynccontextmanager
async def process(home: Path, *arguments: str) -> AsyncIterator[tuple[Process, str]]:
    """Run the command until it has said where it serves; kills it in the end."""
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config/serve.toml").write_text('ops = ""\n')
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "genie_tui", "serve", "--listen", "127.0.0.1", *arguments),
        stdout=PIPE,
        stderr=PIPE,
        env=environment(home),
    )
    assert running.stdout is not None
    try:
        async with asyncio.timeout(DEADLINE):
            yield running, (await running.stdout.readline()).decode()
    finally:
        if running.returncode is None:
            running.kill()
        await running.communicate()


@asynccontextmanager
async def members(invite: str) -> AsyncIterator[list[Guest]]:
    found = read_invite(invite)
    ticket = InviteSecret(found.pass_id, found.secret)
    connector = tls_connector(found.addresses[0], found.pin)
    async with AsyncExitStack() as visits:
        yield [
            await visits.enter_async_context(
                participant(connector, name, ticket=ticket, digest=found.room)
            )
            for name in NAMES
        ]


async def test_kill_during_writes_loses_nothing(
    tmp_path: Path,
) -> None:
    port = free_port()
    folder, invite = await with_room(tmp_path, port)
    async with members(invite) as guests:
        async with process(tmp_path, "--port", str(port)) as (running, _):
            for guest in guests:
                await guest.seen.online()
            for number in range(20):
                for guest in guests:
                    guest.client.messages.send(f"{guest.client.name} {number}")
            await guests[0].seen.until(lambda seen: len(seen.texts) >= 30)
            running.kill()
            await running.wait()
        async with process(tmp_path, "--port", str(port)):
            for guest in guests:
                await guest.seen.until(lambda seen: len(seen.texts) == 100)
        for guest in guests:
            assert guest.seen.events == guests[0].seen.events
            assert len({*guest.seen.texts}) == 100
            assert guest.refusal is None
    with SavedSession.load(folder).reader() as log:
        logged = [
            event.body.text for event in log.events() if isinstance(event.body, MessagePosted)
        ]
    assert logged == guests[0].seen.texts


async def test_signal_stops_while_members_wait(tmp_path: Path) -> None:
    port = free_port()
    _, invite = await with_room(tmp_path, port)
    async with members(invite) as guests:
        async with process(tmp_path, "--port", str(port)) as (running, line):
            assert f"1 room at 127.0.0.1:{port}" in line
            for guest in guests:
                await guest.seen.online()
            running.terminate()
            assert await running.wait() == 0
        for guest in guests:
            await guest.seen.until(lambda seen: seen.links[-1].state is not ConnectionState.ONLINE)
            assert guest.refusal is None


def test_what_keeps_it_from_starting_is_one_line(tmp_path: Path) -> None:
    def complaint(*arguments: str, home: Path = tmp_path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "genie_tui", "serve", *arguments],
            capture_output=True,
            text=True,
            timeout=scaled(60),
            check=False,
            env=environment(home),
        )
        assert done.returncode == 1
        assert done.stdout == ""
        return done.stderr

    missing = tmp_path / "other.toml"
    assert complaint("--config", str(missing)) == (
        f"genie-tui: there is no configuration {missing}\n"
    )
    (tmp_path / "config").mkdir()
    (tmp_path / "config/serve.toml").write_text("prot = 5\n")
    assert "serve.toml, line 1: there is no setting 'prot'" in complaint()
    (tmp_path / "data").write_text("not a folder")
    (tmp_path / "config/serve.toml").unlink()
    assert complaint("--listen", "127.0.0.1").count("\n") == 1


async def test_second_process_or_taken_port_fails(tmp_path: Path) -> None:
    port = str(free_port())
    async with process(tmp_path / "one", "--port", port):
        async with process(tmp_path / "one", "--port", str(free_port())) as (second, line):
            assert line == ""
            _, told = await second.communicate()
            assert b"another service has the rooms in" in told
            assert told.count(b"\n") == 1
        async with process(tmp_path / "two", "--port", port) as (third, line):
            assert line == ""
            _, told = await third.communicate()
            assert told.decode() == (
                f"genie-tui: 127.0.0.1:{port} is taken by another program; "
                "choose another port with --port\n"
            )


def test_it_loads_neither_a_screen_nor_an_sdk(tmp_path: Path) -> None:
    code = (
        "import sys, genie_serve.cli.serve, genie_serve.service\n"
        "print(sorted({'textual', 'rich', 'pydantic_ai', 'agents', 'openai', 'acp', 'anthropic',"
        " 'group_sense', 'mcp'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=scaled(60), check=True
    )
    assert found.stdout == "[]\n"
