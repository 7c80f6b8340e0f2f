"""Lines that are typed, pasted or piped; a pty stands for the terminal."""

import os
import pty
import threading
from collections.abc import Iterator
from queue import Empty, Queue

import pytest
from tests.limits import scaled

from genie_tui.cli.plain.typed import typed_lines


class Typist:
    """A terminal, and the lines that were read from it."""

    def __init__(self) -> None:
        self.keyboard, self._terminal = pty.openpty()
        self.lines: Queue[str | None] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in typed_lines(self._terminal, "utf-8"):
            self.lines.put(line)
        self.lines.put(None)

    def write(self, text: str) -> None:
        os.write(self.keyboard, text.encode())

    def next(self) -> str | None:
        return self.lines.get(timeout=scaled(60))


@pytest.fixture
def typist() -> Iterator[Typist]:
    typist = Typist()
    yield typist
    typist.write("\x04")
    assert typist.next() is None


@pytest.mark.parametrize(
    "command", ["/msg bob", "/ask", "  /reply 12", "/edit 12", "/mgs bob", "/deny 3", "/MSG bob"]
)
def test_paste_stays_with_private_command(typist: Typist, command: str) -> None:
    typist.write(f"{command} one\ntwo é\n/quit\n\nfour\n")
    assert typist.next() == f"{command} one\ntwo é\n/quit\n\nfour"
    typist.write("hello all\n")
    assert typist.next() == "hello all"


def test_unfinished_paste_waits_for_newline(typist: Typist) -> None:
    typist.write("/msg bob one\ntwo\nthr")
    with pytest.raises(Empty):
        typist.lines.get(timeout=0.5)
    typist.write("ee\n")
    assert typist.next() == "/msg bob one\ntwo\nthree"
    typist.write("hello all\n")
    assert typist.next() == "hello all"


def test_lines_to_all_stay_lines(typist: Typist) -> None:
    typist.write("one\n//msg two\n/me three\n")
    assert [typist.next() for _ in range(3)] == ["one", "//msg two", "/me three"]


def test_editing_works_after_private_line(typist: Typist) -> None:
    typist.write("/msg bob one\n")
    assert typist.next() == "/msg bob one"
    typist.write("twx\x7fo\n")
    assert typist.next() == "two"


def test_a_pipe_gives_one_message_a_line() -> None:
    source, target = os.pipe()
    os.write(target, b"/msg bob one\r\ntwo\nthree")
    os.close(target)
    assert list(typed_lines(source, "utf-8")) == ["/msg bob one", "two", "three"]
    os.close(source)
