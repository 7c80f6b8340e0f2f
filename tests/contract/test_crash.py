"""Whenever a host and its members are killed, nothing is lost that anybody was shown."""

import json
import os
import random
import secrets
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import pytest
from tests.contract.member import REPOSITORY
from tests.contract.terminal import DEADLINE
from tests.ports import free_port

from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.session import SavedSession

pytestmark = [pytest.mark.drill, pytest.mark.timeout(900)]

MOMENTS: Final = 200
MEMBERS: Final = ("bob", "cleo")
HOST: Final = "ann"

VICTIMS: Final = [
    *[[HOST]] * 8,
    *[[name] for name in MEMBERS * 2],
    *[[HOST, name] for name in MEMBERS * 2],
    [*MEMBERS],
    [HOST, *MEMBERS],
]
LATEST: Final = 0.1
"""Seconds after the last start within which somebody is killed while they come in."""

MOST_NEW: Final = 60
"""Or else after so many new events."""

LIMITS: Final = dict.fromkeys(("burst", "per_second", "volume", "joins"), 100_000_000)


class Crowd:
    """Host and members, and all that anybody was told; they live in `tests.contract.nursery`."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._settings = {"local": True, "port": free_port(), "limits": LIMITS, "announce": False}
        self._runs = 0
        self._buffer = b""
        self.run: dict[str, int] = {}
        self.heard: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.saved: dict[int, str] = {}
        self.gone: set[int] = set()
        with (base / "errors").open("wb") as errors:
            self._nursery = subprocess.Popen(
                [sys.executable, "-m", "tests.contract.nursery"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": f"{REPOSITORY / 'src'}:{REPOSITORY}"},
            )
        assert self._nursery.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._nursery.stdout, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the nursery end, which ends everybody, however far it had come."""
        self._selector.close()
        self._nursery.communicate()

    def begin(self, name: str, kind: str, **opening: Any) -> None:
        """Let somebody come in."""
        self._runs += 1
        self.run[name] = self._runs
        self._command(
            begin=[
                {
                    "run": self._runs,
                    "name": name,
                    "home": str(self._base / name),
                    "kind": kind,
                    "opening": opening,
                    "settings": self._settings,
                }
            ]
        )

    def end(self, names: Iterable[str], how: str) -> None:
        """Send a signal to these, and wait until they are gone; all that they told is known then."""
        runs = [self.run[name] for name in names]
        self._command(**{how: runs})
        self.until(lambda: self.gone.issuperset(runs), f"the end of {runs}")

    def seated(self, name: str) -> str:
        """Wait until somebody is in the room; the folder of their copy."""
        run = self.run[name]
        self.until(lambda: run in self.saved, f"{name} in the room")
        return self.saved[run]

    def meet(self, names: Iterable[str]) -> None:
        """Wait until all of these have heard something that is new to all of them."""
        runs, known = [self.run[name] for name in names], max(self.heard)
        self.until(
            lambda: all(self.last.get(run, 0) > known for run in runs), "being connected again"
        )

    def until(self, there: Callable[[], object], wanted: str) -> None:
        """Listen until a condition is fulfilled."""
        end = time.monotonic() + DEADLINE
        while not there():
            self.listen(end - time.monotonic())
            if time.monotonic() > end:
                pytest.fail(f"nobody ever told of {wanted}\n{self.errors()}")

    def errors(self) -> str:
        """The end of what they wrote to standard error."""
        return (self._base / "errors").read_text(errors="replace")[-4000:]

    def listen(self, seconds: float) -> None:
        """Take in what is told, at the latest when this time is over."""
        if not self._selector.select(max(seconds, 0.0)):
            return
        assert self._nursery.stdout is not None
        fresh = os.read(self._nursery.stdout.fileno(), 1 << 16)
        assert fresh, "the nursery has ended"
        *lines, self._buffer = (self._buffer + fresh).split(b"\n")
        for line in lines:
            self._take(line.decode())

    def _take(self, line: str) -> None:
        run, what, *rest = line.split(" ", 3)
        match what:
            case "heard":
                self._hear(int(run), *map(int, rest))
            case "seated":
                self.saved[int(run)] = rest[0]
            case "gone":
                self.gone.add(int(run))
            case "failed":
                pytest.fail(f"{line}\n{self.errors()}")

    def _hear(self, run: int, seq: int, mark: int) -> None:
        assert seq == self.last.get(run, seq - 1) + 1, "somebody heard events out of order"
        assert self.heard.setdefault(seq, mark) == mark, f"two people heard another event {seq}"
        self.last[run] = seq

    def _command(self, **command: Any) -> None:
        assert self._nursery.stdin is not None
        self._nursery.stdin.write(f"{json.dumps(command)}\n".encode())
        self._nursery.stdin.flush()


class HostsLog:
    """The host's log as it was found each time, compared with what people have heard."""

    def __init__(self, path: Path, crowd: Crowd) -> None:
        self._path = path
        self._crowd = crowd
        self._data = b""
        self._marks: list[int] = []
        self._compared = 0
        self._latest: dict[str, tuple[int, int]] = {}

    def check(self) -> None:
        """See that all that anybody has heard is there, in order, once. Only when nobody writes."""
        data = _whole_lines(self._path)
        assert data.startswith(self._data), "what was there has changed"
        for line in data[len(self._data) :].splitlines():
            self._take(msgspec.json.decode(line, type=Event))
        self._data = data
        heard = self._crowd.heard
        while self._compared < len(heard):
            self._compared += 1
            assert heard[self._compared] == self._marks[self._compared - 1], self._compared

    def holds(self, copy: Path) -> bool:
        """Whether somebody's copy is a beginning of this log. The host may write meanwhile."""
        begins = _whole_lines(copy)
        return self._path.read_bytes().startswith(begins)

    def _take(self, event: Event) -> None:
        assert event.seq == len(self._marks) + 1
        self._marks.append(event_mark(event))
        if isinstance(event.body, MessagePosted):
            run, number = map(int, event.body.text.split()[:2])
            before = self._latest.get(event.by, (0, 0))
            assert before < (run, number), "a message is there twice, or before an earlier one"
            assert number == 1 or before == (run, number - 1), "a message was passed over"
            self._latest[event.by] = (run, number)


def _whole_lines(path: Path) -> bytes:
    data = path.read_bytes()
    return data[: data.rfind(b"\n") + 1]


def strike(crowd: Crowd, chance: random.Random) -> list[str]:
    """Kill somebody at some moment; tell whom."""
    victims = chance.choice(VICTIMS)
    if chance.random() < 0.4:
        moment = time.monotonic() + chance.uniform(0, LATEST)
        while (left := moment - time.monotonic()) > 0:
            crowd.listen(left)
    else:
        wanted = len(crowd.heard) + chance.randrange(MOST_NEW)
        crowd.until(lambda: len(crowd.heard) >= wanted, "anything new")
    crowd.end(victims, "SIGKILL")
    return victims


@pytest.mark.timeout(300)
def test_shown_messages_survive_any_crash(tmp_path: Path, drills: Callable[[int], int]) -> None:
    """GENIE_CRASH_SEED gives other victims and moments; "any" is another one each time."""
    given = os.environ.get("GENIE_CRASH_SEED", "1")
    seed = secrets.randbelow(1_000_000) if given == "any" else int(given)
    sys.stdout.write(f"GENIE_CRASH_SEED={seed}\n")
    chance = random.Random(seed)
    with Crowd(tmp_path) as crowd:
        crowd.begin(HOST, "new", title="Crash")
        room = crowd.seated(HOST)
        sessions = {name: tmp_path / name / "data" / "sessions" for name in (HOST, *MEMBERS)}
        log = HostsLog(sessions[HOST] / room / "events.jsonl", crowd)
        address = SavedSession.load(sessions[HOST] / room).metadata.address
        for name in MEMBERS:
            crowd.begin(name, "join", way=address, guest=True)
        copies = {name: sessions[name] / crowd.seated(name) for name in MEMBERS}
        for _ in range(drills(MOMENTS)):
            victims = strike(crowd, chance)
            if HOST in victims:
                log.check()
            for name in victims:
                if name == HOST:
                    crowd.begin(HOST, "resume", id=room)
                else:
                    assert log.holds(copies[name] / "events.jsonl")
                    crowd.begin(name, "rejoin", id=copies[name].name, guest=True, patient=True)
        for name in (*MEMBERS, HOST):
            crowd.seated(name)
        crowd.meet(crowd.run)
        crowd.end(MEMBERS, "SIGTERM")
        crowd.end([HOST], "SIGTERM")
        log.check()
        for name in MEMBERS:
            assert log.holds(copies[name] / "events.jsonl")
            heard = crowd.last[crowd.run[name]]
            assert (copies[name] / "events.jsonl").read_bytes().count(b"\n") >= heard
        assert "Traceback" not in crowd.errors()
    with SavedSession.load(sessions[HOST] / room).reader() as reader:
        assert reader.problems == []
        assert reader.head >= max(crowd.heard)
        assert isinstance(reader.state(), RoomState)
