"""People without a screen, each a real process, for tests that count what arrives."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.contract.terminal import DEADLINE

REPOSITORY: Final = Path(__file__).parents[2]

Line = dict[str, Any]


def new(title: str = "Standup") -> Line:
    return {"kind": "new", "title": title}


def join(way: str) -> Line:
    return {"kind": "join", "way": way}


def visit(way: str) -> Line:
    """Join as a guest, whom the host's engine serves."""
    return {"kind": "join", "way": way, "guest": True}


def rejoin(id_: str) -> Line:
    return {"kind": "rejoin", "id": id_}


def resume(id_: str = "", *, force: bool = False) -> Line:
    return {"kind": "resume", "id": id_, "force": force}


class Member:
    """A person in a process of their own (`tests.contract.seated`), with their files in `home`.

    A thread takes in what the process tells. `only` is the one address at which their network
    finds the host, and `hurried` lets them try again at once where it can't be reached. `prefix` is
    a command to run the process with.
    """

    def __init__(
        self,
        name: str,
        home: Path,
        opening: Line,
        *,
        settings: Line | None = None,
        only: str = "",
        hurried: bool = False,
        prefix: Sequence[str] = (),
    ) -> None:
        self.name: Final = name
        self.home: Final = home
        self.lines: list[Line] = []
        self._errors: list[str] = []
        self._changed = threading.Condition()
        self._number = 0
        told = {
            "name": name,
            "home": str(home),
            "opening": opening,
            "settings": {"announce": False, **(settings or {})},
            "only": only,
            "hurried": hurried,
        }
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "tests.contract.seated", json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": f"{REPOSITORY / 'src'}:{REPOSITORY}"},
        )
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    # -- what they hear

    def wait_until(self, there: Callable[[], object], wanted: str) -> None:
        """Wait until a condition over what they have told is fulfilled."""
        end = time.monotonic() + DEADLINE
        with self._changed:
            while not there():
                left = end - time.monotonic()
                ended = not self._readers[0].is_alive()
                if left <= 0 or (ended and not there()):
                    why = f"the process ended with {self.process.poll()}" if ended else "in time"
                    tail = "\n".join(map(str, self.lines[-30:]))
                    errors = "".join(self._errors[-30:])
                    raise AssertionError(
                        f"{self.name} never told of {wanted} ({why}):\n{tail}\n{errors}"
                    )
                self._changed.wait(min(left, 0.5))

    def wait_for(self, on: str, *, after: int = 0, **fields: Any) -> Line:
        """Wait for a line of this kind with these fields, among those from number `after` on.

        A text need only be a part of the field's text.
        """

        def found() -> Line | None:
            lines = self.lines[after:]
            return next((each for each in lines if each["on"] == on and _fits(each, fields)), None)

        self.wait_until(found, f"{on} {fields}")
        line = found()
        assert line is not None
        return line

    def seated(self, after: int = 0) -> Line:
        return self.wait_for("seated", after=after)

    def refused(self) -> str:
        """Wait until it is told why they are not let in."""
        text: str = self.wait_for("refused")["text"]
        assert self.process.wait(DEADLINE) == 0
        return text

    def hears(self, *texts: str) -> None:
        self.wait_until(lambda: set(texts) <= set(self.texts), f"messages {texts}")

    def online(self, after: int = 0) -> None:
        self.wait_for("link", after=after, link="online")

    def back_online(self, after: int) -> None:
        """Wait until their connection has ended, and until there is one again after that."""

        def back() -> bool:
            links = [line["link"] for line in self.lines[after:] if line["on"] == "link"]
            return "retrying" in links and "online" in links[links.index("retrying") :]

        self.wait_until(back, "being connected again")

    def meets(self, *names: str) -> None:
        """Wait until they have heard that these came in, be it themselves."""
        self.wait_until(lambda: set(names) <= self._met, f"{names} coming in")

    def follows(self, host: str) -> None:
        """Wait until they have heard that this person hosts."""

        def hosted() -> bool:
            hosts = [body["host"] for body in self.bodies("hosted")]
            return hosts[-1:] == [host]

        self.wait_until(hosted, f"{host} hosting")

    def all(self, on: str) -> list[Line]:
        return [line for line in list(self.lines) if line["on"] == on]

    @property
    def events(self) -> list[Line]:
        """What they have heard in the seat that they have now, which tells all from the start."""
        lines = list(self.lines)
        moves = [number for number, line in enumerate(lines) if line["on"] == "goes on"]
        return [line for line in lines[max(moves, default=0) :] if line["on"] == "event"]

    def bodies(self, kind: str) -> list[Line]:
        return [each["body"] for each in self.events if each["body"]["type"] == kind]

    @property
    def texts(self) -> list[str]:
        """The texts of all messages, brought back ones included, in the order of the log."""
        return [body["text"] for body in map(_original, self.events) if "text" in body]

    @property
    def _met(self) -> set[str]:
        return {line["by"] for line in self.events if line["body"]["type"] == "joined"}

    @property
    def is_gapless(self) -> bool:
        """Whether they have heard every event, once and in order."""
        sequence = [line["seq"] for line in self.events]
        return sequence == list(range(1, len(sequence) + 1))

    @property
    def now(self) -> int:
        """How many lines there are; what comes `after` this has not happened yet."""
        return len(self.lines)

    # -- what they do

    def do(self, command: str, **fields: Any) -> Any:
        """Carry out a command, and return what came of it."""
        reply = self.wait_for("reply", number=self.begin(command, **fields))
        assert "error" not in reply, reply["error"]
        return reply["result"]

    def begin(self, command: str, **fields: Any) -> int:
        """Give a command without waiting for anything."""
        self._number += 1
        line = json.dumps({"number": self._number, "do": command, **fields})
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        return self._number

    def say(self, *texts: str) -> None:
        for text in texts:
            self.begin("say", text=text)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def leave(self) -> None:
        """Leave in good order, and wait for the end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(DEADLINE)
        assert code == 0, "".join(self._errors)

    def kill(self) -> None:
        """End the process with SIGKILL if it still runs, and clean up."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        for reader in self._readers:
            reader.join(DEADLINE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:  # a command that nobody has read
                    continue

    @property
    def log(self) -> list[Line]:
        """Their log on disk, up to what is being written: the host's own, or the copy."""
        (folder,) = [path for path in self.sessions if "~" not in path.name]
        *written, _ = (folder / "events.jsonl").read_text().split("\n")
        return [json.loads(line) for line in written]

    @property
    def texts_on_disk(self) -> list[str]:
        return [each["body"]["text"] for each in self.log if each["body"]["type"] == "said"]

    @property
    def sessions(self) -> list[Path]:
        return sorted((self.home / "data" / "sessions").iterdir())

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            with self._changed:
                self.lines.append(json.loads(raw))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            self._errors.append(raw.decode(errors="replace"))


def _fits(line: Line, fields: Line) -> bool:
    return all(_is(line.get(key), value) for key, value in fields.items())


def _is(found: object, wanted: object) -> bool:
    if isinstance(found, str) and isinstance(wanted, str):
        return wanted in found
    return found == wanted


def _original(line: Line) -> Line:
    body: Line = line["body"]
    inner = body["event"]["body"] if body["type"] == "recovered" else body
    return inner if inner["type"] == "said" else {}
