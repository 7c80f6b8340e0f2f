"""The process of an agent program: found, started, watched and ended."""

import asyncio
import contextvars
import logging
import os
import shlex
import shutil
import signal
import tempfile
from asyncio import Task
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.schema import (
    ClientCapabilities,
    Implementation,
    InitializeRequest,
    InitializeResponse,
)
from pydantic import BaseModel, ValidationError

from genie_core.agent.provider.acp.errors import AgentProgramFailed, ProgramTrouble
from genie_core.agent.provider.acp.transport import LONGEST_LINE, LineTransport
from genie_core.agent.provider.stderr import ErrorLog
from genie_core.errors import summary
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import in_thread

log = logging.getLogger(__name__)

PROTOCOL_VERSION: Final = 1

START_SECONDS: Final = 90.0
"""Seconds that a program may take to answer each request of its start."""

END_SECONDS: Final = 2.0
"""Seconds between SIGTERM and SIGKILL, and for the last output of an ended program."""

KILLED_SECONDS: Final = 20.0
"""Seconds at most until a killed program is known to have ended, even on a busy machine."""

_PASSED: Final = (
    *("HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TZ", "TERM", "COLORTERM"),
    *("LANG", "LANGUAGE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
_PASSED_PREFIXES: Final = ("LC_", "XDG_")

_LOGIN_REQUIRED: Final = -32000

Answer = TypeVar("Answer", bound=BaseModel)

Handler: TypeAlias = Callable[[str, Any, bool], Awaitable[Any]]
"""Handles a request or notification of the program: method, parameters, whether it is the latter."""


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """A command that speaks ACP over stdio. `command` has the program and its arguments.

    `env` is added to the part of our environment that is passed on. `install` and `login` tell the
    owner how to install the program and how to log in, and `setting` names where the command is
    set. `modes` are ids of modes in which it asks before it acts, the best one first.

    `confine` returns the words to put before the command so that it runs in a sandbox, for the
    folder in which it works and paths that it has to see. It may block, and raises `ValueError`
    with the reason if there is no sandbox.
    """

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    install: str = ""
    login: str = ""
    setting: str = ""
    modes: tuple[str, ...] = ()
    confine: Callable[[Path, Sequence[Path]], Sequence[str]] | None = None

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return Path(self.command[0]).name if self.command else ""

    def failed(self, kind: ProgramTrouble, detail: str = "") -> AgentProgramFailed:
        return AgentProgramFailed(
            kind,
            shlex.join(self.command),
            detail,
            install=self.install,
            login=self.login,
            setting=self.setting,
        )

    def environment(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the variables that the program gets: no key or token unless it is in `env`."""
        passed = {
            name: value
            for name, value in environ.items()
            if name in _PASSED or name.startswith(_PASSED_PREFIXES)
        }
        return {**passed, **self.env}

    def path(self, environ: Mapping[str, str]) -> str:
        """Return the absolute path of the program. Raises `AgentProgramFailed`."""
        if not self.command or not self.command[0].strip():
            raise self.failed("missing", "its command is empty")
        word = os.path.expanduser(self.command[0])  # noqa: PTH111 - "~" alone, the rest stays as it is
        found = shutil.which(word, path=environ.get("PATH"))
        if found is None:
            exists = os.sep in word and Path(word).is_file()
            raise self.failed("start" if exists else "missing", "it is no program" * exists)
        return os.path.abspath(found)  # noqa: PTH100 - a link to a program keeps its name


class AgentProcess:
    """One running program and the connection to it.

    It works in `folder`, or in an empty folder of its own. `handler` gets the program's requests.
    `shown` are paths that it sees also in a sandbox.
    """

    def __init__(
        self,
        program: AgentProgram,
        folder: Path | None,
        handler: Handler,
        *,
        start_seconds: float = START_SECONDS,
        longest_line: int = LONGEST_LINE,
        shown: Sequence[Path] = (),
    ) -> None:
        self.program = program
        self._shown = shown
        self.info = InitializeResponse(protocol_version=PROTOCOL_VERSION)
        self._temporary = None if folder else tempfile.TemporaryDirectory(prefix="genie-agent-")
        self.folder = str(folder or (self._temporary.name if self._temporary else ""))
        self._handler = handler
        self._start_seconds = start_seconds
        self._longest_line = longest_line
        self._pipes: asyncio.SubprocessTransport | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._transport: LineTransport | None = None
        self._connection: Connection | None = None
        self._errors = ErrorLog(f"agent program {program.name}")
        self._killed = False

    @property
    def running(self) -> bool:
        """Whether the program runs and listens."""
        transport = self._transport
        return (
            not self._killed
            and self._process is not None
            and self._process.returncode is None
            and transport is not None
            and not transport.problem
            and self._process.stdout is not None
            and not self._process.stdout.at_eof()
        )

    @property
    def pid(self) -> int:
        """The process id, which is that of its group, too; 0 if it did not start."""
        return self._process.pid if self._process else 0

    async def start(self, capabilities: ClientCapabilities) -> None:
        """Start the program and agree on the protocol. Raises `AgentProgramFailed`."""
        try:
            await self._spawn()
            asked = InitializeRequest(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=capabilities,
                client_info=Implementation(name="genie-tui", title="Genie TUI", version="1"),
            )
            self.info = await self.request_within("initialize", asked, InitializeResponse)
            self._check_version()
        except BaseException:
            self.kill()
            await self.close()
            raise

    def _check_version(self) -> None:
        if self.info.protocol_version != PROTOCOL_VERSION:
            raise self.program.failed("version", f"version {self.info.protocol_version}")

    async def request_within(self, method: str, params: BaseModel, kind: type[Answer]) -> Answer:
        """Send a request of the start, which must be answered within `start_seconds`."""
        work = start_task(self.request(method, params))
        try:
            await asyncio.wait({work}, timeout=self._start_seconds)
            if not work.done():
                seconds = f"no answer to {method} within {self._start_seconds:g} s"
                raise self.program.failed("hang", self._with_last_line(seconds))
            return kind.model_validate(work.result())
        except ValidationError as error:
            raise self.program.failed("answer", f"to {method}: {_first_fault(error)}") from error
        finally:
            work.cancel()

    async def request(self, method: str, params: BaseModel) -> dict[str, Any]:
        """Send a request and return its result. Raises `AgentProgramFailed`."""
        if self._connection is None:
            raise self.program.failed("ended")
        plain = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        try:
            result = await self._connection.send_request(method, plain)
        except OSError as error:  # a ConnectionError, or a pipe that is closed
            raise await self._ended() from error
        except RequestError as error:
            kind: ProgramTrouble = "login" if error.code == _LOGIN_REQUIRED else "request"
            raise self.program.failed(kind, self._with_login(kind, _detail(error))) from error
        return result if isinstance(result, dict) else {}

    async def notify(self, method: str, params: BaseModel) -> None:
        """Send a notification; does nothing if the program has ended."""
        if self._connection is not None:
            with suppress(OSError):
                plain = params.model_dump(mode="json", by_alias=True, exclude_none=True)
                await self._connection.send_notification(method, plain)

    def kill(self) -> None:
        """Kill the program and all processes of its group."""
        self._killed = True
        self._signal(signal.SIGKILL)

    async def close(self) -> None:
        """End the program and its group; asks first, then kills. Safe to call again."""
        process, pipes = self._process, self._pipes
        try:
            if process is not None and process.returncode is None:
                if process.stdin is not None:
                    process.stdin.close()
                self._signal(signal.SIGTERM)
                await _within(END_SECONDS, process.wait())
        finally:
            self._signal(signal.SIGKILL)  # remaining processes of its group
            if self._temporary is not None:
                self._temporary.cleanup()
        if process is not None:
            await _within(KILLED_SECONDS, process.wait())
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(OSError):
                await connection.close()
        self._errors.close()
        if pipes is not None:
            pipes.close()
            await asyncio.sleep(0)  # for the callbacks that close its pipes

    async def _spawn(self) -> None:
        env = self.program.environment()
        words = [self.program.path(env), *self.program.command[1:]]
        if before := await self._confined(Path(words[0])):
            words = [*before, *words]
            env.pop("TMPDIR", None)  # the named file is not there
        starting = start_task(self._execute(words, env), name=f"start of {self.program.name}")
        try:
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The process may be there already: cancelled, asyncio would kill it, but not its group.
            await asyncio.wait({starting}, timeout=END_SECONDS)
            raise
        except (OSError, ValueError) as error:
            raise self.program.failed("start", summary(error)) from error
        assert process.stdin and process.stdout  # noqa: PT018, S101 - they are pipes
        name = self.program.name
        self._transport = LineTransport(name, process.stdout, process.stdin, self._longest_line)
        # Its tasks outlive the run that starts it, and must not report to that one.
        empty = contextvars.Context()
        self._connection = empty.run(Connection, self._handler, self._transport)

    async def _execute(
        self, words: Sequence[str], env: dict[str, str]
    ) -> asyncio.subprocess.Process:
        # as asyncio.create_subprocess_exec, which gives no access to the transport
        loop = asyncio.get_running_loop()
        self._pipes, protocol = await loop.subprocess_exec(
            lambda: asyncio.subprocess.SubprocessStreamProtocol(2**16, loop),
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors.open(),
            cwd=self.folder,
            env=env,
            start_new_session=True,
        )
        self._process = asyncio.subprocess.Process(self._pipes, protocol, loop)
        return self._process

    async def _confined(self, path: Path) -> Sequence[str]:
        confine = self.program.confine
        if confine is None:
            return ()

        def words() -> Sequence[str]:
            return confine(Path(self.folder).resolve(), (*_parts_of(path), *self._shown))

        try:
            return await in_thread(words)
        except ValueError as error:
            raise self.program.failed("sandbox", str(error)) from error

    async def _ended(self) -> AgentProgramFailed:
        """Return the error for a connection that broke off."""
        process, transport = self._process, self._transport
        if transport is not None and transport.problem:
            self.kill()
            return self.program.failed("flood", transport.problem)
        code = None
        if process is not None:
            await _within(END_SECONDS, process.wait())
            code = process.returncode
        self.kill()
        self._errors.close()  # with its last line, also one without an end
        how = _exit(code) if code is not None else "it closed its output"
        return self.program.failed("ended", self._with_last_line(how))

    def _with_last_line(self, text: str) -> str:
        last = self._errors.last_line
        return f"{text}; its last words: {last}" if last else text

    def _with_login(self, kind: ProgramTrouble, detail: str) -> str:
        if kind != "login":
            return detail
        ways = [each.name for each in self.info.auth_methods or []]
        return f"{detail} (it offers: {', '.join(ways)})" if ways else detail

    def _signal(self, number: signal.Signals) -> None:
        if self.pid:
            with suppress(OSError):
                os.killpg(self.pid, number)


async def _within(seconds: float, work: Awaitable[Any]) -> None:
    """Wait for work, at most for some seconds; leave it running then."""
    task = work if isinstance(work, Task) else start_task(_awaited(work))
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if task is not work and not task.done():
            task.cancel()


async def _awaited(work: Awaitable[Any]) -> None:
    await work


def _exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


def _detail(error: RequestError) -> str:
    """Return an error's message with the text of its data."""
    data = error.data
    if isinstance(data, dict):
        data = next((data[key] for key in ("details", "message", "error") if key in data), None)
    more = data if isinstance(data, str) and data not in str(error) else ""
    return f"{error}: {more}" if more else str(error)


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


def _parts_of(path: Path) -> Iterator[Path]:
    """Yield a program's files: where links lead to, and the packages beside it if npm has put it."""
    real = path.resolve()
    yield from (path, real)
    packages = [each for each in real.parents if each.name == "node_modules"]
    yield from packages[-1:]
