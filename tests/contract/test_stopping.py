"""A program that others stop and let go on, as a shell's `kill -STOP` and `fg` do."""

import signal
from functools import partial
from pathlib import Path

import pytest
from tests.contract.terminal import Terminal

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_hosts")]

REPORTS_FOCUS = b"\x1b[?1004h"
"""What the program asks of a terminal once that no longer echoes nor edits what is typed."""


def set_up(terminal: Terminal, times: int, _text: str) -> bool:
    return terminal.raw.count(REPORTS_FOCUS) >= times


def test_input_after_stop_arrives_whole(tmp_path: Path, port: int) -> None:
    """Every setting up of the terminal is answered by one reader, and the screen is painted."""
    said = [f"message {number} is whole and sound" for number in range(12)]
    with Terminal(
        "host", "--title", "Standup", "--name", "alice", "--port", str(port), home=tmp_path
    ) as alice:
        alice.wait_for("Standup", "online")
        for times in range(1, 4):
            alice.signal(signal.SIGSTOP)
            alice.signal(signal.SIGCONT)
            set_up_again = partial(set_up, alice, times + 1)
            alice.wait_until(set_up_again, f"the screen set up again after stop {times}")
            alice.wait_for("Standup", "online")
        for text in said:
            alice.say(text)
        alice.wait_for(*said, gone="unsent")
        assert alice.leave() == 0
