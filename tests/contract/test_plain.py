"""A room without screens: lines typed and printed, one message, and a stream of events."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.limits import scaled

pytestmark = pytest.mark.timeout(120)


class Lines:
    """A program with a pipe at either end."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.process = started(home, *arguments)
        self.read: list[str] = []
        self._changed = threading.Condition()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.read.append(line.rstrip("\n"))
                self._changed.notify_all()

    def wait_for(self, text: str) -> str:
        with self._changed:
            assert self._changed.wait_for(lambda: any(text in each for each in self.read), 60), (
                text,
                self.read,
            )
            return next(each for each in self.read if text in each)

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """End the input, and wait for the program and its output."""
        with self.process as process:
            assert process.stdin is not None
            process.stdin.close()
            code = process.wait(60)
            self._listener.join(60)
        return code

    def stop(self) -> int:
        self.process.terminate()
        return self.end()


def started(home: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "genie_tui", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(home),
            "GENIE_HOME": str(home),
            "GENIE_LOCAL": "true",
            "LANG": "C.UTF-8",
        },
    )


def ran(home: Path, *arguments: str) -> tuple[int, str, str]:
    process = started(home, *arguments)
    out, err = process.communicate(timeout=scaled(60))
    return process.returncode, out, err


@pytest.fixture
def host(tmp_path: Path, port: int) -> Iterator[Lines]:
    (tmp_path / "work").mkdir()
    arguments = ("--name", "ann", "--port", str(port), "--workspace", str(tmp_path / "work"))
    lines = Lines(tmp_path / "ann", "host", "--title", "Standup", "--plain", *arguments)
    lines.wait_for("Standup, as ann")
    yield lines
    assert lines.stop() == 0


def test_people_talk_in_lines(host: Lines, tmp_path: Path, port: int) -> None:
    bob = Lines(tmp_path / "bob", "join", f":{port}", "--plain", "--name", "bob")
    bob.wait_for("Standup, as bob")
    host.type("hello \x1b[2J all")
    assert bob.wait_for("ann: hello").endswith("ann: hello ␛[2J all")
    bob.type("//help is not a command here")
    host.wait_for("bob: /help is not a command here")
    bob.type("/me waves")
    host.wait_for("* bob waves")
    host.wait_for("genie stayed silent")
    bob.type("/who")
    bob.wait_for("ann (host)")
    bob.type("/nonsense")
    bob.wait_for("There is no command /nonsense")
    host.type("/msg bob psst")
    bob.wait_for("ann (private, to bob): psst")
    bob.type("and this")
    assert bob.end() == 0  # what was typed is recorded before the end of the input counts
    host.wait_for("bob: and this")
    host.wait_for("bob left")


def test_only_call_number_answers_call(host: Lines, tmp_path: Path) -> None:
    host.type("@genie write buy milk to list.txt")
    asked = host.wait_for("CALL ")
    number = asked.split()[1].rstrip(":")
    assert "write_file" in asked
    host.wait_for("Argument content: buy milk")
    host.wait_for(f"Type /allow {number} ")
    for typed in ("yes", "a", "/allow", "/allow 999"):
        host.type(typed)
    host.wait_for(f"Tool calls that wait for you: {number}.")
    assert not (tmp_path / "work" / "list.txt").exists()
    host.type(f"/allow {number}")
    host.wait_for(f"Allowed write_file ({number}).")
    host.wait_for("genie to ann")
    host.wait_for(f"call {number}: allowed write_file")
    assert "buy milk" in (tmp_path / "work" / "list.txt").read_text()
    host.read.clear()
    host.type("@genie write more to other.txt")
    host.wait_for("CALL ")
    second = [each for each in host.read if each.startswith("CALL ")][-1].split()[1].rstrip(":")
    host.type(f"/deny {second} not today")
    host.wait_for(f"Denied write_file ({second}).")
    assert not (tmp_path / "work" / "other.txt").exists()


def test_script_says_and_reads_answer(host: Lines, tmp_path: Path, port: int) -> None:
    guest = ("--name", "ci")
    assert ran(tmp_path / "ci", "say", f":{port}", "the build is green", *guest)[:2] == (0, "")
    host.wait_for("ci: the build is green")
    asking = started(tmp_path / "ci", "say", f":{port}", "@genie what is 12*7?", "--answer", *guest)
    number = host.wait_for("CALL ").split()[1].rstrip(":")  # the host's agent works for a guest
    host.type(f"/allow {number}")
    out, _ = asking.communicate(timeout=scaled(60))
    assert (asking.returncode, "84" in out) == (0, True)
    code, out, err = ran(tmp_path / "ci", "say", f":{port}", "well then", "--answer", *guest)
    assert (code, out) == (1, "")
    assert "no answer" in err


def test_a_script_follows_a_room(host: Lines, tmp_path: Path, port: int) -> None:
    host.type("before")
    host.wait_for("ann: before")
    tail = Lines(tmp_path / "tail", "tail", f":{port}", "--json", "--name", "log")
    tail.wait_for("before")
    host.type("after \x1b[31m")
    line = tail.wait_for("after")
    event: dict[str, Any] = json.loads(line)
    assert (event["by"], event["body"]["text"]) == ("ann", "after \x1b[31m")
    assert (event["doubt"], event["effect"], event["hidden"]) == ("", True, False)
    assert "\x1b" not in line
    assert tail.stop() == 0


def test_host_admits_by_number(tmp_path: Path, port: int) -> None:
    arguments = ("--title", "Standup", "--plain", "--name", "ann", "--port", str(port), "--ask")
    host = Lines(tmp_path / "ann", "host", *arguments)
    host.wait_for("Standup, as ann")
    waiting = started(tmp_path / "eve", "say", f":{port}", "hello", "--name", "bob")
    first = host.wait_for("JOIN REQUEST").split()[2].rstrip(":")
    assert waiting.stderr is not None
    assert "your key in words: " in waiting.stderr.readline()
    waiting.terminate()
    waiting.communicate(timeout=scaled(60))
    assert waiting.returncode == 128 + signal.SIGTERM
    host.wait_for(f"Join request {first} of bob is over.")
    host.read.clear()
    bob = started(tmp_path / "bob", "say", f":{port}", "hello", "--name", "bob")
    second = host.wait_for("JOIN REQUEST").split()[2].rstrip(":")
    assert second != first
    host.type(f"/admit {second}")
    assert bob.communicate(timeout=scaled(60))[0] == ""
    assert bob.returncode == 0
    host.wait_for("bob: hello")
    assert host.stop() == 0


def test_a_pipe_that_is_closed_ends_a_quiet_room(host: Lines, tmp_path: Path, port: int) -> None:
    with started(tmp_path / "tail", "tail", f":{port}", "--name", "log") as tail:
        assert tail.stdout is not None
        assert tail.stdout.readline() == "[1] the room Standup was opened\n"
        tail.stdout.close()
        assert tail.wait(60) == 141
        assert tail.stderr is not None
        assert tail.stderr.read() == ""
    host.wait_for("log left")


def test_where_there_is_no_room_one_line_says_so(tmp_path: Path, port: int) -> None:
    code, out, err = ran(tmp_path / "x", "say", f":{port}", "hello", "--name", "x")
    assert (code, out) == (1, "")
    assert err.startswith("genie-tui: ")
    assert err.count("\n") == 1
