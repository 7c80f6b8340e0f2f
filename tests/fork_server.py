"""Start the Python programs of tests as forks of a process that has imported what they import.

A program spends most of its first second on imports, and tests start hundreds of programs. Each
test process keeps one fork server, as `multiprocessing` does, but for whole programs: their
arguments, environment, folder, standard streams, session and network are those that
`subprocess.Popen` was given, and they are children of the test process like any other.

Programs with options for the interpreter start for real, and so does code that looks at the loaded
modules. `--no-fork-server` starts all of them for real; so does a system other than Linux.
"""

import ctypes
import fcntl
import gc
import importlib
import os
import pickle
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

REPOSITORY: Final = Path(__file__).parents[1]

PRELOADED: Final = (
    "acp",
    "agents",
    "agents.mcp",
    "fastmcp",
    "genie_bridges.acp.agent",
    "genie_bridges.cli.acp",
    "genie_bridges.cli.mcp",
    "genie_bridges.mcp.member",
    "genie_core.agent.provider.acp",
    "genie_core.agent.provider.openai",
    "genie_core.agent.provider.pydantic_ai",
    "genie_serve.cli.options",
    "genie_tui.cli.main",
    "genie_tui.app",
    "genie_tui.screens.lobby",
    "genie_tui.screens.room",
    "openai",
    "pydantic_ai.models.openai",
    "tests.contract.seated",
    "tests.contract.terminal",
)
"""What most programs import, sooner or later."""

LARGEST: Final = 100_000
"""Bytes of a request; a program with more arguments or a larger environment starts for real."""

ANSWERS: Final = 100
"""Bytes that an answer, a process id, never has."""

MOST_DESCRIPTORS: Final = 20
HIGH: Final = 100
"""From this number on there are no descriptors but for a moment."""

OWN: Final = {"examples", "genie_tui", "tests"}
"""Packages whose modules are programs."""

REAL: Final = {"PYTHONWARNINGS", "PYTHONPROFILEIMPORTTIME"}
"""A program with one of these in its environment starts for real."""

PR_SET_CHILD_SUBREAPER: Final = 36
CLONE_NEWNET: Final = 0x40000000
NETWORK: Final = "/proc/thread-self/ns/net"

_execute_child = subprocess.Popen._execute_child  # type: ignore[attr-defined]  # typeshed lacks it
_libc = ctypes.CDLL(None, use_errno=True)


class Program(msgspec.Struct):
    """What a fork becomes."""

    arguments: list[str]
    """Those after the interpreter: `-m` and a module, `-c` and code, or a file; then its own."""
    folder: str
    environment: dict[str, str]
    passed: list[int]
    """Numbers of descriptors beside the standard streams."""
    is_session_leader: bool
    prepare: bytes
    """A pickled function to call first."""


class ForkServer:
    """The process that forks; it starts with the first program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def fork(self, request: bytes, descriptors: Sequence[int]) -> int:
        """Start a program; returns its process id. It is a child of this process."""
        with self._lock:
            connection = self._socket or self._start()
            # The fork's parent ends at once, and this process takes its place.
            _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
            try:
                socket.send_fds(connection, [request], descriptors)
                return int(connection.recv(ANSWERS))
            finally:
                _libc.prctl(PR_SET_CHILD_SUBREAPER, 0)

    def close(self) -> None:
        """End the server; programs that it has started go on."""
        if self._socket is not None:
            self._socket.close()
            self._process.wait()

    def _start(self) -> socket.socket:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.fork_server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            )
        return self._socket


@contextmanager
def forked_programs() -> Iterator[None]:
    """Let `subprocess.Popen` start programs of Python by a fork server."""
    server = ForkServer()

    def execute_child(popen: Any, *given: Any) -> None:
        program = _program(*given)
        request = msgspec.json.encode(program)
        if program is None or len(request) > LARGEST:
            _execute_child(popen, *given)
            return
        pipes = given[10:16]
        ends = pipes[0], pipes[3], pipes[5]
        streams = [own if end == -1 else end for own, end in enumerate(ends)]
        with Path(NETWORK).open() as network:
            popen.pid = server.fork(request, [network.fileno(), *streams, *program.passed])
        popen._child_created = True
        popen._close_pipe_fds(*pipes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "_execute_child", execute_child)
        yield
    server.close()


def _program(
    args: Any,
    executable: Any,
    preexec_fn: Callable[[], object] | None,
    _close_fds: bool,
    pass_fds: Sequence[int],
    cwd: Any,
    env: Mapping[str, str] | None,
    _startupinfo: Any,
    _creationflags: int,
    shell: bool,
    *rest: Any,
) -> Program | None:
    """The program that `Popen` was asked for; None if it has to start for real."""
    changed = rest[7:]  # group, groups, user, umask, session, process group
    environment = dict(os.environ if env is None else env)
    if (
        executable is not None
        or shell
        or isinstance(args, str | bytes)
        or changed[:4] != (None, None, None, -1)
        or changed[5] != -1
        or not _is_forkable(words := [os.fspath(word) for word in args])
        or REAL & environment.keys()
    ):
        return None
    try:
        prepare = pickle.dumps(preexec_fn)
    except (AttributeError, pickle.PicklingError):
        return None
    folder = Path.cwd() if cwd is None else Path(cwd)
    if not folder.is_dir():
        return None
    return Program(words[1:], str(folder), environment, list(pass_fds), changed[4], prepare)


def _is_forkable(words: Sequence[str]) -> bool:
    if len(words) < 2 or words[0] != sys.executable:
        return False
    match words[1:]:
        case ["-m", module, *_]:
            return module.split(".")[0] in OWN
        case ["-c", code, *_]:
            return "modules" not in code
        case [file, *_]:
            return file.endswith(".py")
    return False


# -- in the server


def serve(connection: socket.socket) -> None:
    """Fork for each request until there are none."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, LARGEST, MOST_DESCRIPTORS)
        if not request:
            return
        answer, to_answer = os.pipe()
        adopted, go_on = os.pipe()
        if (parent := os.fork()) == 0:
            if child := os.fork():
                os.write(to_answer, str(child).encode())
                os._exit(0)
            os.close(go_on)
            os.read(adopted, 1)  # returns once the server has closed its end
            _become(msgspec.json.decode(request, type=Program), descriptors)
            return
        os.waitpid(parent, 0)
        connection.send(os.read(answer, ANSWERS))
        for descriptor in (*descriptors, answer, to_answer, adopted, go_on):
            os.close(descriptor)


def _become(program: Program, descriptors: Sequence[int]) -> None:
    """Run a program in this process, which is a fork of the server."""
    _take(program, descriptors)
    os.environ.clear()
    os.environ.update(program.environment)
    time.tzset()
    os.chdir(program.folder)
    if program.is_session_leader:
        os.setsid()
    if prepare := pickle.loads(program.prepare):  # noqa: S301 - of the test process
        prepare()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # an interpreter that starts sets its own
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.dont_write_bytecode = bool(program.environment.get("PYTHONDONTWRITEBYTECODE"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    _run(program.arguments, program.environment.get("PYTHONPATH", ""))


def _take(program: Program, descriptors: Sequence[int]) -> None:
    """Give the descriptors their numbers, and move to the network of the first of them."""
    network, *others = (fcntl.fcntl(each, fcntl.F_DUPFD, HIGH) for each in descriptors)
    os.closerange(0, HIGH)
    if not os.path.sameopenfile(network, os.open(NETWORK, os.O_RDONLY)):
        _libc.setns(network, CLONE_NEWNET)
    os.close(0)
    for number, descriptor in zip((0, 1, 2, *program.passed), others, strict=True):
        os.dup2(descriptor, number)
    os.closerange(HIGH, HIGH + MOST_DESCRIPTORS)


def _stream(number: int) -> TextIOWrapper:
    """A standard stream as Python makes it."""
    buffered: Any = os.fdopen(number, "wb" if number else "rb", closefd=False)
    errors = "backslashreplace" if number == 2 else "strict"
    at_each_line = number == 2 or (number == 1 and buffered.isatty())
    return TextIOWrapper(buffered, "utf-8", errors, line_buffering=at_each_line)


def _run(arguments: Sequence[str], path: str) -> None:
    """Run what follows the interpreter on a command line."""
    sys.path[:] = [*filter(None, path.split(os.pathsep)), *sys.path[1:]]
    match arguments:
        case ["-m", module, *own]:
            sys.path.insert(0, str(Path.cwd()))
            sys.argv = [module, *own]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *own]:
            sys.path.insert(0, "")
            sys.argv = ["-c", *own]
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), vars(main))  # noqa: S102 - as `python -c` does
        case [file, *own]:
            sys.path.insert(0, str(Path(file).parent.resolve()))
            sys.argv = [file, *own]
            runpy.run_path(file, run_name="__main__")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
