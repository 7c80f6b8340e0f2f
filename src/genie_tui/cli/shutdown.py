"""Ending a command in good order: the signals that ask for it, and threads that hold it up."""

import asyncio
import logging
import os
import signal
import threading
from typing import Final

SIGNALS: Final = {
    signal.SIGINT: "the program was interrupted",
    signal.SIGTERM: "the program was asked to end",
    signal.SIGHUP: "the terminal was closed",
}
"""Signals that end a program in good order, and the reason for the room."""

PATIENCE: Final = 5.0
"""Seconds that leftover tasks and threads get once the room is saved and left."""


def stop_event() -> asyncio.Event:
    """Return an event that each of the signals sets."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopped.set)
    return stopped


def end_in(seconds: float, code: int = 0) -> None:
    """End the process even if a tool that was left behind keeps a thread of it."""

    def end() -> None:
        logging.getLogger(__name__).warning("something did not end in time and was left behind")
        logging.shutdown()
        os._exit(code)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
