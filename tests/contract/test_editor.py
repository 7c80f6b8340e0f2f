"""The person's own editor in the terminal of a room, which goes on meanwhile."""

import os
import re
import shlex
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract import line_editor
from tests.contract.member import Member, join
from tests.contract.terminal import ALTERNATE_SCREEN_OFF, Terminal

pytestmark = pytest.mark.timeout(300)

EDITOR = "ctrl+r"
"""The key, which is free in the terminal's line mode too."""


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "a temporary folder"
    folder.mkdir()
    return folder


@pytest.fixture
def ann(tmp_path: Path, temporary: Path, port: int) -> Iterator[Terminal]:
    editor = shlex.join([sys.executable, str(Path(line_editor.__file__)), "--an", "unused option"])
    arguments = ("--title", "Standup", "--name", "ann", "--port", str(port))
    env = {"VISUAL": editor, "TMPDIR": str(temporary)}
    with Terminal("host", *arguments, home=tmp_path / "ann", env=env) as terminal:
        terminal.wait_for("Standup", "online", "idle")
        yield terminal


def open_editor(terminal: Terminal, draft: str = "") -> None:
    """Type a draft, and open the editor with it."""
    terminal.type(draft)
    if draft:
        terminal.wait_for(draft)
    terminal.press(EDITOR)
    terminal.wait_for(f"editor 600 700 has {draft + chr(10) if draft else ''!r}")


def obey(terminal: Terminal, *lines: str) -> None:
    for line in lines:
        terminal.type(f"{line}\n")


def back(terminal: Terminal, *texts: str) -> None:
    terminal.wait_for("Standup", *texts, gone="editor 600")


def since(terminal: Terminal, text: str) -> str:
    """What was written to the terminal after a text."""
    return terminal.raw.decode().rpartition(text)[2]


def test_edited_draft_is_sent_with_enter(ann: Terminal, temporary: Path) -> None:
    open_editor(ann, "a first try")
    obey(ann, r"write one\n\ttwo \u202e\n\n", "exit 0")
    back(ann, "one", "two")
    assert not list(temporary.iterdir())
    ann.type(" three")
    ann.wait_for("two ", "three")
    ann.press("enter")
    ann.wait_for("one", "three", gone="enter sends · ctrl+j new line" * 2)
    ann.press("\x1b[A")
    ann.wait_for("three")


def test_the_room_goes_on_and_writes_nothing(
    ann: Terminal, tmp_path: Path, port: int, temporary: Path
) -> None:
    open_editor(ann, "my draft")
    with Member("bob", tmp_path / "bob", join(f":{port}"), settings={"local": True}) as bob:
        bob.online()
        for number in range(40):  # more than Textual's queue of writes takes
            bob.say(f"@ann message {number}")
        bob.hears("@ann message 39")
        obey(ann, "write my new draft")
        ann.wait_for("written")
        written = since(ann, "has 'my draft\\n'")
        assert re.fullmatch(r"\s*(?:write my new draft|written|\s)*", written), written
        obey(ann, "exit 0")
        back(ann, "my new draft", "@ann message 39")
        assert not list(temporary.iterdir())


def test_edited_keys_apply_immediately(ann: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "ann" / "config" / "keys.toml"
    file.write_text("# none yet\n")
    ann.press("\x10")  # ctrl+p
    ann.wait_for("Search for commands")
    ann.type("edit keys")
    ann.wait_for("Change keys in your editor", gone="Draw the screen anew")
    ann.press("enter")
    ann.wait_for("has '# none yet\\n'")
    obey(
        ann, 'write [room]\\nactivity = "alt+a"\\n[app]\\nsettings = "f11"\\nhelp = "f11"', "exit 0"
    )
    back(ann, "keys.toml, [app] help", "alt+a activity")
    ann.press("\x1b[23~")  # f11
    ann.wait_for("Settings in")


def test_signal_keys_reach_only_editor(ann: Terminal) -> None:
    open_editor(ann)
    ann.type("\x03")
    ann.wait_for("heard SIGINT")
    ann.type("\x1a")  # ctrl+z: it goes on at once
    ann.wait_for("heard SIGCONT")
    obey(ann, "write still here", "exit 0")
    back(ann, "still here", "online")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("exit 3",), "ended with code 3"),
        (("drop", "exit 0"), "was not taken over"),
    ],
)
def test_after_a_failure_the_draft_is_as_it_was(
    ann: Terminal, temporary: Path, lines: tuple[str, ...], said: str
) -> None:
    open_editor(ann, "precious")
    obey(ann, *lines)
    back(ann, "precious", said)
    assert not list(temporary.iterdir())


def test_killed_editor_restores_terminal(ann: Terminal, temporary: Path) -> None:
    before = ann.mode
    open_editor(ann, "precious")
    obey(ann, "write saved before it died", "rescue")
    ann.wait_for("written", "kept beside")
    assert ann.mode[3] & termios.ICANON
    obey(ann, "raw")
    ann.wait_for("set raw")
    os.kill(os.tcgetpgrp(ann.descriptor), signal.SIGKILL)
    back(ann, "precious", "was ended by SIGKILL", "↑ brings back")
    (folder,) = temporary.iterdir()
    assert (folder / "draft.md.save").read_text() == "rescued"
    assert ann.mode == before
    ann.press("\x1b[A")
    ann.wait_for("saved before it died")
    assert ann.leave() == 0
    assert ann.mode[3] & termios.ICANON


def test_an_editor_that_is_not_there_is_named(tmp_path: Path, port: int) -> None:
    arguments = ("--title", "Standup", "--name", "ann", "--port", str(port))
    for env, said in (
        ({"EDITOR": "/nowhere/ed -n"}, "/nowhere/ed"),
        ({"EDITOR": "'nano"}, "quotation"),
        ({"PATH": "/nowhere"}, "the one that"),
    ):
        with Terminal("host", *arguments, home=tmp_path, env=env) as ann:
            ann.wait_for("Standup", "online")
            ann.say("/editor some text")
            ann.wait_for("some text", "No editor was opened", said)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_suspends_with_saved_draft(
    ann: Terminal, tmp_path: Path, temporary: Path, port: int, number: signal.Signals
) -> None:
    open_editor(ann, "an old draft")
    obey(ann, "write saved in the editor")
    ann.wait_for("written")
    ann.signal(number)
    assert ann.exit_code() == 0
    assert ann.mode[3] & termios.ICANON
    assert ann.raw.rstrip().rpartition(ALTERNATE_SCREEN_OFF)[0]
    assert not list(temporary.iterdir())
    with Terminal("resume", "--port", str(port), home=tmp_path / "ann") as again:
        again.wait_for("Standup", "saved in the editor")


def test_closed_window_keeps_saved_draft(ann: Terminal, tmp_path: Path, port: int) -> None:
    open_editor(ann, "an old draft")
    obey(ann, "write saved in the editor")
    ann.wait_for("written")
    ann.close()
    assert ann.exit_code() == 0
    with Terminal("resume", "--port", str(port), home=tmp_path / "ann") as again:
        again.wait_for("Standup", "saved in the editor")


def test_killed_program_keeps_draft(ann: Terminal, tmp_path: Path, port: int) -> None:
    open_editor(ann, "an old draft")
    views = (tmp_path / "ann").rglob
    ann.wait_until(
        lambda _: any("an old draft" in each.read_text() for each in views("view.json")),
        "the draft on the disk",
    )
    ann.process.kill()
    ann.process.wait()
    with Terminal("resume", "--port", str(port), home=tmp_path / "ann") as again:
        again.wait_for("Standup", "an old draft")


def test_continued_program_resumes_editor(ann: Terminal) -> None:
    open_editor(ann)
    ann.signal(signal.SIGSTOP)
    ann.signal(signal.SIGCONT)
    ann.wait_for("heard SIGCONT")
    obey(ann, "write and on", "exit 0")
    back(ann, "and on")
