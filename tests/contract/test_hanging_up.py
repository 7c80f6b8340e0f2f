"""A program whose terminal, or whose parent, goes away: it ends in good order and uses nothing.

Four times each on every screen: the window is closed, `make` is killed, the connection of a remote
shell is cut. Programs are forked from one that has imported everything, several at a time.
"""

import contextlib
import fcntl
import itertools
import json
import multiprocessing
import os
import pty
import select
import selectors
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

import pyte
import pytest
from tests.limits import scaled
from tests.ports import free_port

pytestmark = [pytest.mark.drill, pytest.mark.timeout(900)]

CLOSES: Final = 24
AT_ONCE: Final = 10

DEADLINE: Final = scaled(60.0)
"""Seconds within which a screen has to show, and a program to end: half of what cuts it off."""

CPU: Final = 5.0
"""Seconds of processor time that ending may take; a thread that spins takes more in `DEADLINE`."""

TICK: Final = os.sysconf("SC_CLK_TCK")

HELP: Final = b"\x1bOP"
HOST: Final = ("host", "--title", "Standup", "--name", "ann", "--port")


class Step(NamedTuple):
    """Text to wait for, and what to type when it is there."""

    seen: str
    typed: bytes = b""


class Scene(NamedTuple):
    arguments: tuple[str, ...]
    steps: tuple[Step, ...]


SCENES: Final = {
    "first start": Scene((), (Step("Your name"),)),
    "lobby": Scene(("--name", "ann"), (Step("New room"),)),
    "help over the lobby": Scene(
        ("--name", "ann"), (Step("New room", HELP), Step("Type to filter"))
    ),
    "room": Scene(HOST, (Step("online"),)),
    "dialog over the room": Scene(HOST, (Step("online", HELP), Step("Type to filter"))),
}


class Ended(NamedTuple):
    scene: str
    code: int
    cpu: float


class Program:
    """`genie-tui` in a terminal, below as many other processes as stand between them."""

    def __init__(self, scene: str, home: Path, way: str) -> None:
        home.mkdir(parents=True)
        self.scene = scene
        self._steps = list(SCENES[scene].steps)
        self._result = home / "result.json"
        self._screen = pyte.Screen(120, 40)
        self._stream = pyte.ByteStream(self._screen)
        self._typed = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        context = multiprocessing.get_context("forkserver")
        own = SCENES[scene].arguments
        if own is HOST:
            own = (*own, str(free_port()))
        arguments = (os.ttyname(slave), own, str(home), way)
        self._outermost = context.Process(target=_in_terminal, args=arguments)
        self._outermost.start()
        self._slave = slave
        self._pids: dict[str, int] = {}

    @property
    def ready(self) -> bool:
        return not self._steps

    @property
    def text(self) -> str:
        """Its name, and what is on its screen."""
        return "\n".join([self.scene, *(line.rstrip() for line in self._screen.display)])

    def read(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.feed(os.read(self.master, 65536))
            if self._slave >= 0:  # it has opened the terminal
                os.close(self._slave)
                self._slave = -1
        if self._steps and any(self._steps[0].seen in line for line in self._screen.display):
            self._typed = self._steps.pop(0).typed
            os.write(self.master, self._typed)

    def ask_again(self) -> None:
        """Press the key for help once more: a screen that is still being made takes none."""
        if self._steps and self._typed == HELP:
            os.write(self.master, HELP)

    def vanish(self, way: str) -> None:
        """Take the terminal or the parent away."""
        self._pids = json.loads((self._result.parent / "pids.json").read_text())
        self._cpu_before = _cpu_of(self._pids["program"])
        if way == "make":
            os.kill(self._pids["make"], signal.SIGKILL)
        else:
            self.hang_up()

    def hang_up(self) -> None:
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    @property
    def goes_on(self) -> bool:
        """Whether it has not ended yet; what it writes to a terminal that is left is read."""
        if self.master >= 0 and select.select([self.master], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                os.read(self.master, 65536)
        return not self._result.exists() and _is_alive(self._pids["program"])

    @property
    def ending(self) -> Ended:
        assert self._result.exists(), f"{self.scene}: the program was killed"
        code, cpu = json.loads(self._result.read_text())
        return Ended(self.scene, code, cpu - self._cpu_before)

    def kill(self) -> None:
        for pid in self._pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._outermost.is_alive():
            self._outermost.kill()
        self.hang_up()
        if self._slave >= 0:
            os.close(self._slave)
        self._outermost.join(DEADLINE)
        self._outermost.close()


def _in_terminal(terminal: str, arguments: Iterable[str], home: str, way: str) -> None:
    """Be the outermost process in a terminal, with the program in this one or below it."""
    os.setsid()
    descriptor = os.open(terminal, os.O_RDWR)
    for standard in range(3):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    # Those of a process that was forked for tasks are closed, or somewhere else.
    for number, (name, mode) in enumerate([("stdin", "r"), ("stdout", "w"), ("stderr", "w")]):
        stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
        vars(sys).update({name: stream, f"__{name}__": stream})
    pids = {}
    if way != "window":  # a shell, which gives the terminal to what it runs
        shell, job = os.getpid(), os.fork()
        if job:
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            with contextlib.suppress(OSError):
                os.setpgid(job, job)
            os.tcsetpgrp(0, job)
            os.waitpid(job, 0)
            if way == "make":
                time.sleep(DEADLINE)  # the terminal and its shell stay
            os._exit(0)
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        pids["shell"] = shell
    if way == "make":
        make, program = os.getpid(), os.fork()
        if program:
            os.waitpid(program, 0)
            os._exit(0)
        pids["make"] = make
    pids["program"] = os.getpid()
    _run(Path(home), list(arguments), pids)


def _run(home: Path, arguments: list[str], pids: dict[str, int]) -> None:
    from genie_tui.__main__ import run

    os.environ.update(
        COLUMNS="120",
        LINES="40",
        HOME=str(home),
        GENIE_HOME=str(home),
        GENIE_WORKSPACE=str(home / "desk"),
        GENIE_LOCAL="true",
        TERM="xterm-256color",
    )
    (home / "desk").mkdir(exist_ok=True)
    (home / "data").mkdir(parents=True, exist_ok=True)
    if arguments:
        (home / "data" / "first-start-done").touch()
    sys.argv = ["genie-tui", *arguments]
    (home / "pids.json").write_text(json.dumps(pids))
    code = run()
    part = home / "result.part"
    part.write_text(json.dumps([code, time.process_time()]))
    part.rename(home / "result.json")
    os._exit(code)


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait_until_ready(programs: list[Program]) -> None:
    until = time.monotonic() + 2 * DEADLINE
    with selectors.DefaultSelector() as selector:
        for program in programs:
            selector.register(program.master, selectors.EVENT_READ, program)
        while not all(program.ready for program in programs):
            late = [program.text for program in programs if not program.ready]
            assert time.monotonic() < until, "never ready:\n" + "\n".join(late)
            if ready := selector.select(1.0):
                for key, _ in ready:
                    key.data.read()
            else:
                for program in programs:
                    program.ask_again()


def _wait_until_ended(programs: list[Program]) -> None:
    until = time.monotonic() + DEADLINE
    while late := [program.scene for program in programs if program.goes_on]:
        assert time.monotonic() < until, f"never ended: {late}"
        time.sleep(0.05)


@pytest.fixture(scope="module", autouse=True)
def _forked_from_one_that_has_imported_everything() -> None:
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["genie_tui.cli.main", "genie_tui.cli.start", "genie_tui.app", "genie_core.assistant.build"]
    )


@pytest.mark.parametrize("way", ["window", "make", "remote shell"])
def test_lost_terminal_ends_program(way: str, tmp_path: Path, drills: Callable[[int], int]) -> None:
    closes = drills(CLOSES)
    scenes = itertools.islice(itertools.cycle(SCENES), closes)
    numbered = [(scene, tmp_path / str(number)) for number, scene in enumerate(scenes)]
    endings = []
    for start in range(0, closes, AT_ONCE):
        programs = [Program(*each, way) for each in numbered[start : start + AT_ONCE]]
        try:
            _wait_until_ready(programs)
            for program in programs:
                program.vanish(way)
            _wait_until_ended(programs)
            endings += [program.ending for program in programs]
        finally:
            for program in programs:
                program.kill()
    assert len(endings) == closes
    assert [each for each in endings if each.code != 0 or each.cpu > CPU] == []
