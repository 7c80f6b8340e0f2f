import sys
from pathlib import Path

import pytest

from genie_core.assistant.config import Sandbox, ToolLimits
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.assistant.tools.shell import run
from genie_core.assistant.tools.shell.command import NO_INPUT, Commands
from genie_core.assistant.tools.shell.prompts import missed_input, question_in


@pytest.mark.parametrize(
    "output",
    ["Continue? [y/N] ", "a\nb\nPassword: ", "Do you want to continue? (yes/no) ",
     "Enter passphrase for key '/x': ", "Username for 'https://a.org': ", "x\rWhich one? "],
)  # fmt: skip
def test_a_question_at_the_end_is_seen(output: str) -> None:
    assert question_in(output)
    assert missed_input(output)


@pytest.mark.parametrize(
    "output",
    ["", "done\n", "Continue? [y/N] y\n", "12 tests?\n", "Downloading:", "a: b", "100 %",
     "what is this? a test", "Password: accepted"],
)  # fmt: skip
def test_other_output_is_no_question(output: str) -> None:
    assert question_in(output) == ""


@pytest.mark.parametrize(
    "output",
    ["Traceback\nEOFError: EOF when reading a line\n", "stdin: not a tty\n",
     "sudo: a terminal is required to read the password\n", "cannot open '/dev/tty': No such device\n",
     "fatal: could not read Username for 'https://a.org': No such device or address\n"],
)  # fmt: skip
def test_missing_input_is_recognised(output: str) -> None:
    assert missed_input(output)


def test_question_precedes_traceback() -> None:
    output = (
        "Your name? Traceback (most recent call last):\n  x\nEOFError: EOF when reading a line\n"
    )
    assert missed_input(output) == "Your name?"


def tool(root: Path, seconds: float = 60.0) -> Commands:
    limits = ToolLimits(command_seconds=seconds, shell=True)  # noqa: S604 — a setting
    return Commands(Workspace.at(root), limits, Sandbox("off"))


@pytest.mark.parametrize(
    "command",
    [f"{sys.executable} -c 'input(\"Your name? \")'", "printf 'Sure? [y/N] '; read answer",
     "printf 'Password: '; read x < /dev/tty"],
)  # fmt: skip
async def test_a_command_that_wants_input_is_told_so(tmp_path: Path, command: str) -> None:
    said = await tool(tmp_path).run_command(command, "", True)
    assert "The command ended with exit code" in said
    assert NO_INPUT in said


async def test_command_waiting_on_terminal_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SILENCE", 0.5)
    code = "import pty; pty.spawn(['sh', '-c', 'printf \\\"Proceed? [y/N] \\\"; read x'])"
    said = await tool(tmp_path, 600).run_command(f'{sys.executable} -c "{code}"', "", True)
    assert "because it waited for input" in said
    assert "It asked: 'Proceed? [y/N]'." in said


async def test_silent_command_may_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SILENCE", 0.05)
    said = await tool(tmp_path).run_command(
        "printf 'Downloading: '; sleep 0.5; echo done", "", True
    )
    assert "exit code 0" in said
    assert NO_INPUT not in said
