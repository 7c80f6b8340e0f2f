"""A real PostgreSQL on a loopback port, and a line to it that a test can cut."""

import asyncio
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from genie_core.runtime.tasks import start_task
from genie_serve.config import StoreTable
from tests.limits import scaled
from tests.ports import free_port

USERS: Final = ("postgres", "nobody")
"""PostgreSQL refuses to run as root, so one of these runs it then."""

DEADLINE: Final = scaled(60.0)


class PostgresServer:
    """A server in a folder of its own; all settings are PostgreSQL's defaults."""

    def __init__(self, programs: Path, folder: Path, user: str | None) -> None:
        self._programs = programs
        self._folder = folder
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None
        self.port: Final = free_port()
        self.password = secrets.token_hex(16)
        if user is not None:
            shutil.chown(folder, user)

    def initialise(self) -> None:
        """Make its database."""
        password = self.keep("password", self.password.encode())
        options = ("--no-sync", "-U", "genie", "-A", "scram-sha-256", "--pwfile", str(password))
        self._run("initdb", "-D", str(self._folder / "data"), "-E", "UTF8", "--locale=C", *options)

    def follow(self, primary: "PostgresServer") -> None:
        """Copy the database of another server, to be its standby."""
        self.password = primary.password
        self._run("pg_basebackup", "-D", str(self._folder / "data"), "-R", "-d", primary.url)

    @property
    def url(self) -> str:
        return self.address(self.port)

    def table(self) -> StoreTable:
        """Return the part of a configuration that names this server."""
        return StoreTable("postgres", (self.url,), replicas=1)

    def address(self, port: int) -> str:
        return f"postgresql://genie:{self.password}@127.0.0.1:{port}/postgres"

    def start(self, *options: str) -> None:
        """Start it, and wait until it answers."""
        sockets = ("-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1")
        command = (str(self._programs / "postgres"), "-D", str(self._folder / "data"))
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                (*command, "-p", str(self.port), *sockets, *options),
                stdout=log,
                stderr=log,
                cwd=self._folder,
                user=self._user,
                extra_groups=[] if self._user else None,
            )
        ready = (str(self._programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(self.port))
        for _ in range(1_000):
            if self._process.poll() is not None:
                break
            if subprocess.run((*ready, "-t", "5"), stdout=subprocess.DEVNULL).returncode == 0:
                return
        raise RuntimeError((self._folder / "log").read_text()[-2_000:])

    def keep(self, name: str, content: bytes) -> Path:
        """Write a file that only the server can read, and return its path."""
        path = self._folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        if self._user is not None:
            shutil.chown(path, self._user)
        return path

    def stop(self) -> None:
        """End it in good order, whatever is connected."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it as a crash does: its processes write nothing more."""
        self._end(signal.SIGQUIT)

    def restart(self, *options: str) -> None:
        self.stop()
        self.start(*options)

    def sql(self, statement: str) -> str:
        """Run a statement, also one that may not be in a transaction."""
        command = (str(self._programs / "psql"), "-XAtq", "-d", self.url, "-c", statement)
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def _end(self, by: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(by)
            process.wait(DEADLINE)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            (str(self._programs / program), *arguments),
            cwd=self._folder,
            user=self._user,
            extra_groups=[] if self._user else None,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2_000:])


@contextmanager
def running_postgres(primary: PostgresServer | None = None) -> Iterator[PostgresServer]:
    """Run a server, or the standby of another one, or skip the tests and say why.

    Its folder is not in `tmp_path`, which no other user may enter.
    """
    if (programs := _programs()) is None:
        pytest.skip("there is no PostgreSQL on this machine")
    user = _user()
    with tempfile.TemporaryDirectory(prefix="genie-postgres-") as folder:
        server = PostgresServer(programs, Path(folder), user)
        try:
            if primary is None:
                server.initialise()
            else:
                server.follow(primary)
            server.start()
            yield server
        finally:
            server.stop()


class Line:
    """Passes bytes on to a server; `url` is the server's at the other end of the line.

    While it is `cut`, no connection stands. While it is `deaf`, what is sent to the server arrives,
    but its answers are held back.
    """

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._listener: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._hearing = asyncio.Event()
        self._hearing.set()
        self._cut = False
        self.swallowed = asyncio.Event()

    @property
    def url(self) -> str:
        assert self._listener is not None
        return self._server.address(self._listener.sockets[0].getsockname()[1])

    @asynccontextmanager
    async def stretched(self) -> AsyncIterator["Line"]:
        self._cut = False
        self._listener = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        try:
            yield self
        finally:
            self._hearing.set()
            self._listener.close()
            self._cut = True
            self.break_off()
            while self._tasks:
                await asyncio.wait(self._tasks)

    @asynccontextmanager
    async def cut(self) -> AsyncIterator[None]:
        """Break all connections, and let none through in the block."""
        self._cut = True
        self.break_off()
        try:
            yield
        finally:
            self._cut = False

    @asynccontextmanager
    async def deaf(self) -> AsyncIterator[None]:
        """Hold back answers in the block; at its end the connections break without them.

        `swallowed` is set at the first answer.
        """
        self.swallowed.clear()
        self._hearing.clear()
        try:
            yield
        finally:
            self.break_off()
            self._hearing.set()

    def break_off(self) -> None:
        """Break all connections, as a router does that was switched off."""
        for writer in self._open:
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        ends = (writer, far_writer)
        self._open.update(ends)
        there = start_task(self._pass(reader, far_writer))
        here = start_task(self._pass(far_reader, writer, answers=True))
        await asyncio.wait([there, here], return_when=asyncio.FIRST_COMPLETED)
        for each in ends:
            each.transport.abort()
        await asyncio.wait([there, here])
        self._open.difference_update(ends)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool = False
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                if answers and not self._hearing.is_set():
                    self.swallowed.set()
                    await self._hearing.wait()
                    return
                writer.write(data)
                await writer.drain()


def _programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, those of the latest version."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((each.parent for each in versions), key=lambda each: each.parent.name, default=None)


def _user() -> str | None:
    """Return the user who runs the server, None for the one who runs the tests."""
    if os.geteuid():
        return None
    for name in USERS:
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    pytest.skip("PostgreSQL refuses to run as root, and there is no user for it")
