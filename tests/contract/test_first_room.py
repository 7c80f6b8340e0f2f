"""A host and two people who join, each in a terminal of their own, from hello to resume."""

import json
import signal
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.contract.terminal import Terminal

pytestmark = pytest.mark.timeout(300)

CARD = "a allow once"
EMPTY_COMPOSER = "Write a message"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "notes.txt").write_text("the launch is on friday\n")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def host(home: Path, port: int, workspace: Path) -> Iterator[Terminal]:
    arguments = ["--title", "Standup", "--name", "ann", "--port", str(port)]
    with Terminal("host", *arguments, "--workspace", str(workspace), home=home) as terminal:
        terminal.wait_for("Standup", f"127.0.0.1:{port}", "offline helper", "idle")
        yield terminal


def join(port: int, name: str, home: Path, *more: str) -> Terminal:
    terminal = Terminal("join", f"127.0.0.1:{port}", "--name", name, *more, home=home)
    terminal.wait_for("Standup", "online", "ann")
    return terminal


def events(home: Path) -> list[dict[str, Any]]:
    """The host's log as it is on disk, up to what is being written."""
    (folder,) = [path for path in (home / "data" / "sessions").iterdir() if "@" not in path.name]
    written = (folder / "events.jsonl").read_text()
    return [json.loads(line) for line in written[: written.rfind("\n") + 1].splitlines()]


def bodies(home: Path, kind: str) -> list[dict[str, Any]]:
    return [event["body"] for event in events(home) if event["body"]["type"] == kind]


def denials(home: Path) -> list[dict[str, Any]]:
    return [body for body in bodies(home, "settled") if body["outcome"] == "denied"]


def answer(terminal: Terminal, *keys: str) -> None:
    """Go to the oldest card, wait until it takes keys, choose with one, and confirm."""
    terminal.press("ctrl+g")
    terminal.wait_for(CARD, gone="one moment")
    terminal.press(*keys)
    terminal.wait_for("s it · esc back", gone="… enter")
    terminal.press("enter")


def test_from_hello_to_resume(host: Terminal, home: Path, port: int, tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    desk.mkdir()
    with (
        join(port, "ben", home, "--workspace", str(desk)) as ben,
        join(port, "cleo", home, "--guest") as cleo,
    ):
        host.wait_for("ben", "cleo")

        # Ordinary talk: everybody sees it, and why no agent spoke.
        host.say("good morning everybody")
        for terminal in (host, ben, cleo):
            terminal.wait_for("good morning everybody", "stayed silent")

        # What changes nothing is done at once, and the activity list says by what it was allowed.
        ben.wait_for("ben", "idle")
        ben.say("@genie what is 12*7?")
        for terminal in (host, ben, cleo):
            terminal.wait_for("12*7 = 84")
        # What is being written is seen before it is on disk.
        host.wait_until(lambda _: bodies(home, "settled") != [], "what was allowed on disk")
        (allowed,) = bodies(home, "settled")
        assert (allowed["outcome"], allowed["how"]) == ("approved", "rule")
        ben.wait_for("allowed calculate by rule", EMPTY_COMPOSER)

        # Of the rest, a member's own engine asks the member, and nobody else.
        ben.say("@genie write buy milk to notes.md")
        ben.wait_for("1 approval")
        assert "1 approval" not in host.text
        assert not (desk / "notes.md").exists()
        answer(ben, "a")
        for terminal in (host, ben, cleo):
            terminal.wait_for("Wrote the new file notes.md")
        assert (desk / "notes.md").read_text() == "buy milk\n"

        # A guest's agent runs at the host, so the host is asked, and may say no.
        cleo.say("@genie run ls")
        host.wait_for("1 approval")
        assert "1 approval" not in cleo.text
        answer(host, "r")
        host.wait_for("Reason, in one sentence")
        host.type("not while we plan")
        host.wait_for("with the reason “not while we plan”")
        host.press("enter")
        cleo.wait_for("not while we plan")
        host.wait_for("not while we plan", gone="1 approval")
        host.wait_until(lambda _: denials(home) != [], "the denial on disk")
        (denied,) = denials(home)
        assert denied["reason"] == "not while we plan"

        # The host dies in the middle of a conversation, with a question open.
        host.press("esc")
        host.say("@genie run cat notes.txt")
        host.wait_for("1 approval")
        for number in range(5):
            ben.say(f"note number {number}")
            # Not in the composer any more, and not marked: so the host has it on disk.
            ben.wait_for(f"note number {number}", EMPTY_COMPOSER, gone="unsent")
        acknowledged = [f"note number {number}" for number in range(5)]
        host.kill()
        ben.wait_for("reconnecting")

        with Terminal("resume", "--name", "ann", "--port", str(port), home=home) as resumed:
            resumed.wait_for("Standup", "1 approval", "offline helper")
            said = [body["text"] for body in bodies(home, "said")]
            assert [text for text in said if text in acknowledged] == acknowledged
            for text in acknowledged:
                resumed.wait_for(text)

            # What nobody had answered is a proposal now; ben is back without doing anything.
            resumed.press("ctrl+g")
            resumed.wait_for("from before", "notes.txt")
            ben.wait_for("online", gone="reconnecting")
            resumed.press("esc")
            ben.say("still here")
            resumed.wait_for("still here")
            assert [body["text"] for body in bodies(home, "said")].count("still here") == 1

            assert resumed.leave() == 0
            assert "genie-tui resume" in resumed.left_behind[-1]
        assert events(home)[-1]["body"]["type"] == "suspended"
        assert [event["seq"] for event in events(home)] == list(range(1, len(events(home)) + 1))


def test_grant_after_pause_runs_once(
    host: Terminal, home: Path, port: int, workspace: Path
) -> None:
    host.say("@genie run cat notes.txt")
    host.wait_for("1 approval")
    assert host.leave() == 0
    assert [body["outcome"] for body in bodies(home, "settled")] == ["parked"]

    arguments = ["--name", "ann", "--port", str(port), "--workspace", str(workspace)]
    with Terminal("resume", *arguments, home=home) as resumed:
        resumed.wait_for("1 approval", "idle", gone="loading engine")
        answer(resumed, "a")
        resumed.wait_for("the launch is on friday", gone="1 approval")
        resumed.wait_until(lambda _: len(bodies(home, "answered")) == 1, "one answer on disk")


def test_typing_answers_no_new_approval(host: Terminal, home: Path, port: int) -> None:
    with join(port, "cleo", home, "--guest") as cleo:
        host.wait_for("cleo")
        host.type("draft ")
        for _ in range(3):
            cleo.say("@genie run ls")
            host.paste("aaaa\n")
            host.type("aasd ")
        host.wait_for("3 approvals")
        host.wait_for("draft aaaa")
        assert "settled" not in {event["body"]["type"] for event in events(home)}
        assert "said" not in {
            event["body"]["type"] for event in events(home) if event["by"] == "ann"
        }


def test_widened_window_is_redrawn(host: Terminal) -> None:
    corner = "╮"  # of the composer, which nothing else draws again
    host.wait_for(corner)
    host.lose_columns(40)
    host.wait_for(corner)


@pytest.mark.parametrize("way", ["sigterm", "sigterms", "sigint", "closed terminal"])
def test_ending_from_outside_is_a_suspend(host: Terminal, home: Path, way: str) -> None:
    host.say("@genie run ls")
    host.wait_for("1 approval")
    if way == "closed terminal":
        host.close()
    for _ in range(10 if way == "sigterms" else 1):
        if way != "closed terminal" and host.process.poll() is None:
            host.signal(signal.SIGINT if way == "sigint" else signal.SIGTERM)
    assert host.exit_code() == 0
    assert [body["outcome"] for body in bodies(home, "settled")] == ["parked"]
    assert events(home)[-1]["body"]["type"] == "suspended"


def test_what_keeps_somebody_out_is_one_line(
    host: Terminal, home: Path, port: int, tmp_path: Path
) -> None:
    def line(*arguments: str, home: Path = home) -> str:
        with Terminal(*arguments, home=home, columns=200) as terminal:
            assert terminal.exit_code() != 0
            (only,) = terminal.left_behind
            return only

    another = tmp_path / "another ann"
    assert "host's name" in line("join", f"127.0.0.1:{port}", "--name", "ann", home=another)
    assert "genie" in line("join", f"127.0.0.1:{port}", "--name", "genie")
    assert "name" in line("join", f"127.0.0.1:{port}", "--name", "")
    assert "can't reach" in line("join", "127.0.0.1:1", "--name", "ben")
    assert "invite" in line("join", "192.0.2.1:7654", "--name", "ben")
    assert "taken" in line("host", "--port", str(port), "--name", "ben")
    assert "ANTHROPIC_API_KEY" in line("host", "--model", "anthropic:claude", "--name", "ben")
    assert "no saved room" in line("resume", "nothing-like-it", "--name", "ben")


@pytest.mark.parametrize("way", ["ctrl+q", "sigterm"])
def test_exit_during_opening_is_clean(home: Path, way: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with Terminal("join", address, "--name", "ben", home=home) as terminal:
            terminal.wait_for("opening")
            if way == "ctrl+q":
                terminal.press("ctrl+q")
            else:
                terminal.process.terminate()
            assert terminal.exit_code() == 0
            assert terminal.left_behind == []


def test_small_terminal_fails_in_one_line(home: Path) -> None:
    with Terminal("host", home=home, columns=40, rows=10) as terminal:
        assert terminal.exit_code() == 1
        assert "at least 40×16" in terminal.text.replace("\n", "")


def is_written_or_can_not_be(number: int, screen: str) -> bool:
    said = f"may not {number}" in screen and EMPTY_COMPOSER in screen
    return said and ("unsent" not in screen or "can't write to its disk" in screen)


def test_full_disk_keeps_acknowledgement(home: Path, port: int) -> None:
    arguments = ["host", "--title", "Standup", "--name", "ann", "--port", str(port)]
    with Terminal(*arguments, home=home, largest_file=8_000) as host:
        host.wait_for("Standup", "online", gone="loading engine")
        host.say("this one fits")
        host.wait_for("this one fits", "stayed silent", EMPTY_COMPOSER, gone="unsent")
        # One by one: what comes at once is written whole or not at all, and nothing that is unsent
        # may be too much for the file in which it is kept.
        for number in range(12):
            host.type(f"and this one may not {number} ")
            host.paste("x" * 600)
            host.press("enter")
            host.wait_until(partial(is_written_or_can_not_be, number), f"what becomes of {number}")
        host.wait_for("unsent", "can't write to its disk")
        assert host.leave() == 1
        told = "".join(host.left_behind).replace(" ", "")  # which breaking lines takes away
        assert told.startswith("genie-tui:lefttheroom,but")
        assert "ofyourmessagesgooutwhenyouareback" in told
    written = [body["text"] for body in bodies(home, "said")]
    assert written[0] == "this one fits"
    assert len(written) < 13

    with Terminal("resume", "--name", "ann", "--port", str(port), home=home) as resumed:
        resumed.wait_for("Standup", "online")
        resumed.say("@genie what is 2+2?")
        resumed.wait_for("2+2 = 4")
    said = [body["text"] for body in bodies(home, "said")]
    assert said[: len(written)] == written
    assert [text.split()[5] for text in said[1:-1]] == [str(number) for number in range(12)]
    assert said[-1] == "@genie what is 2+2?"


def test_a_new_person_sets_up_once(home: Path) -> None:
    with Terminal(home=home, is_new=True) as terminal:
        terminal.wait_for("Your name", "Who answers", "Workspace", "no model")
        terminal.type("\x15ann")
        terminal.wait_for("Your name      ann")
        terminal.press("\x13")  # ctrl+s
        terminal.wait_for("you are ann", "New room")
        terminal.press("ctrl+q")
        terminal.process.wait(30)
    assert 'name = "ann"' in (home / "config" / "settings.toml").read_text()
    with Terminal(home=home, is_new=True) as terminal:
        terminal.wait_for("you are ann", "New room")
