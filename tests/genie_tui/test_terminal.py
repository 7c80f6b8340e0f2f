"""What a terminal may send, as the app gets it."""

import asyncio
import logging
import os
import pty
import signal
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import ControlType, Segment
from rich.style import Style
from tests.genie_core.text.nasty import NASTY, forbidden
from tests.limits import scaled
from textual.app import App
from textual.color import Color
from textual.events import Key, Paste
from textual.message import Message

from genie_tui.terminal import HangupDriver, TerminalSafe, TerminalWatch


@pytest.fixture(autouse=True)
def own_handlers() -> Iterator[None]:
    """Leave this process as it was: a driver takes these signals for as long as it lives."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Listening(HangupDriver):
    """Reads from a pipe until a paste has come, and keeps what it reads."""

    def __init__(self, app: App[None], source: int) -> None:
        super().__init__(app)
        self.fileno = source
        self.heard: list[Message] = []

    def process_message(self, message: Message) -> None:
        self.heard.append(message)
        if isinstance(message, Paste):
            self.exit_event.set()


async def test_invalid_utf8_is_replaced() -> None:
    source, terminal = os.pipe()
    try:
        driver = Listening(App(), source)
        os.write(terminal, b"\x1b[200~caf\xe9 \xed\xa0\xbd und mehr\n\x1b[201~")
        async with asyncio.timeout(scaled(60)):
            await asyncio.to_thread(driver.run_input_thread)
    finally:
        os.close(source)
        os.close(terminal)
    (paste,) = [each for each in driver.heard if isinstance(each, Paste)]
    assert paste.text == "caf\ufffd \ufffd\ufffd\ufffd und mehr\n"


class Restarting(HangupDriver):
    """Notes how its terminal is given up and taken again."""

    def __init__(self, app: App[None]) -> None:
        super().__init__(app)
        self.steps: list[str] = []

    def suspend_application_mode(self) -> None:
        self.steps.append("suspend")

    def resume_application_mode(self) -> None:
        self.steps.append("resume")
        self._must_signal_resume = False


@pytest.fixture
def reader() -> Iterator[threading.Thread]:
    """A thread that reads as long as the test lasts."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    yield thread
    over.set()
    thread.join()


async def test_foreign_stop_restarts_one_reader(
    reader: threading.Thread,
) -> None:
    driver = Restarting(App())
    driver._key_thread = reader
    signal.raise_signal(signal.SIGCONT)
    signal.raise_signal(signal.SIGCONT)
    assert driver.steps == []  # a signal may come in the middle of anything
    await asyncio.sleep(0)
    assert driver.steps == ["suspend", "resume"] * 2


async def test_own_suspend_only_resumes() -> None:
    driver = Restarting(App())
    driver._must_signal_resume = True
    signal.raise_signal(signal.SIGCONT)
    await asyncio.sleep(0)
    assert driver.steps == ["resume"]


async def test_sigcont_spares_unused_terminal(reader: threading.Thread) -> None:
    driver = Restarting(App())
    signal.raise_signal(signal.SIGCONT)
    await asyncio.sleep(0)
    assert driver.steps == []  # before the start, and after the end
    driver._key_thread = reader
    with driver.no_automatic_restart():  # an editor has it
        signal.raise_signal(signal.SIGCONT)
        await asyncio.sleep(0)
    assert driver.steps == []


async def test_going_on_after_the_end_is_no_error() -> None:
    driver = Restarting(App())
    driver._loop = asyncio.new_event_loop()
    driver._loop.close()
    signal.raise_signal(signal.SIGCONT)
    assert driver.steps == []


@pytest.fixture
def hung_up(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when the process would get the signal of a closed terminal."""
    told = threading.Event()
    monkeypatch.setattr("genie_tui.terminal.hang_up", told.set)
    return told


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """The two ends of a pseudo-terminal; the first may be closed."""
    master, slave = pty.openpty()
    yield master, slave
    for descriptor in (master, slave):
        with suppress(OSError):
            os.close(descriptor)


async def test_end_of_input_hangs_up(hung_up: threading.Event) -> None:
    source, writer = os.pipe()
    os.write(writer, b"abc")
    os.close(writer)
    driver = Listening(App(), source)
    try:
        async with asyncio.timeout(scaled(60)):
            await asyncio.to_thread(driver.run_input_thread)
    finally:
        os.close(source)
    assert hung_up.is_set()
    assert [each.character for each in driver.heard if isinstance(each, Key)] == list("abc")


async def test_enter_typed_before_start_is_enter(terminal: tuple[int, int]) -> None:
    master, slave = terminal
    driver = Listening(App(), slave)
    driver.attrs_before = termios.tcgetattr(slave)
    os.write(master, b"/msg bob hi\rmore\x1b[200~\x1b[201~")
    tty.setraw(slave, termios.TCSANOW)
    async with asyncio.timeout(60):
        await asyncio.to_thread(driver.run_input_thread)
    keys = [each.key for each in driver.heard if isinstance(each, Key)]
    assert keys[len("/msg bob hi") :] == ["enter", *"more"]


async def test_end_of_terminal_hangs_up(
    terminal: tuple[int, int], hung_up: threading.Event
) -> None:
    master, slave = terminal
    os.close(master)
    async with asyncio.timeout(scaled(60)):
        await asyncio.to_thread(Listening(App(), slave).run_input_thread)
    assert hung_up.is_set()


def test_lost_terminal_is_noticed_unread(
    terminal: tuple[int, int], hung_up: threading.Event
) -> None:
    master, slave = terminal
    with TerminalWatch(slave):
        os.write(master, b"typed")
        assert not hung_up.is_set()
        os.close(master)
        assert hung_up.wait(60)


def test_a_parent_that_goes_away_is_noticed(
    terminal: tuple[int, int], hung_up: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TerminalWatch(terminal[1]):
        assert not hung_up.is_set()
        monkeypatch.setattr(os, "getppid", lambda: 1)
        assert hung_up.wait(60)


def test_hanging_program_is_cut_off(
    terminal: tuple[int, int], hung_up: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off = threading.Event()
    monkeypatch.setattr(os, "_exit", lambda _: cut_off.set())
    monkeypatch.setattr(logging, "shutdown", lambda: None)
    master, slave = terminal
    with TerminalWatch(slave, last_resort=0.01):
        os.close(master)
        assert hung_up.wait(60)
        assert cut_off.wait(60)


def scrub(*segments: Segment) -> list[Segment]:
    return TerminalSafe().apply(list(segments), Color(0, 0, 0))


@given(st.text(NASTY | st.characters(exclude_categories=())))
def test_the_second_wall_keeps_the_width(text: str) -> None:
    [segment] = scrub(Segment(text))
    assert not {c for c in segment.text if forbidden(c) or c == "\n"} - {"\u200d"}
    if not any(ord(c) in (0x200D, 0xFE0E, 0xFE0F) or 0x1F3FB <= ord(c) <= 0x1F3FF for c in text):
        assert segment.cell_length == sum(cell_len(c) for c in text)


def test_the_second_wall_leaves_good_lines_alone() -> None:
    line = [Segment("plain 日本 👩", Style(bold=True))]
    assert TerminalSafe().apply(line, Color(0, 0, 0)) is line
    family = Segment("👩‍👩‍👧", Style(bold=True))
    assert scrub(family) == [family]


def test_scrub_keeps_terminal_controls() -> None:
    control = Segment("\x1b[2J", None, [(ControlType.CLEAR,)])
    assert scrub(control, Segment("\x1b"))[0] is control


def test_scrub_drops_self_ending_link() -> None:
    [segment] = scrub(Segment("here", Style(link="https://x\x1b\\\x1b[2J", bold=True)))
    assert segment.style is not None
    assert segment.style.link is None
    assert segment.style.bold
