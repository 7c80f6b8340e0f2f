"""What a terminal may send, as the app gets it."""

import asyncio
import os

from textual.app import App
from textual.events import Paste
from textual.message import Message

from genie_tui.driver import HangupDriver


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
