"""What a terminal may send, as the app gets it."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest
from textual.app import App
from textual.events import Paste
from textual.message import Message

from genie_tui.driver import HangupDriver


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


async def test_what_is_no_utf_8_is_read_as_such_and_ends_nothing() -> None:
    source, terminal = os.pipe()
    try:
        driver = Listening(App(), source)
        os.write(terminal, b"\x1b[200~caf\xe9 \xed\xa0\xbd und mehr\n\x1b[201~")
        async with asyncio.timeout(60):
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


async def test_whoever_was_stopped_by_others_sets_the_terminal_up_with_one_reader(
    reader: threading.Thread,
) -> None:
    driver = Restarting(App())
    driver._key_thread = reader
    signal.raise_signal(signal.SIGCONT)
    signal.raise_signal(signal.SIGCONT)
    assert driver.steps == []  # a signal may come in the middle of anything
    await asyncio.sleep(0)
    assert driver.steps == ["suspend", "resume"] * 2


async def test_whoever_has_stopped_itself_takes_the_terminal_again() -> None:
    driver = Restarting(App())
    driver._must_signal_resume = True
    signal.raise_signal(signal.SIGCONT)
    await asyncio.sleep(0)
    assert driver.steps == ["resume"]


async def test_going_on_takes_no_terminal_that_is_not_in_use(reader: threading.Thread) -> None:
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
