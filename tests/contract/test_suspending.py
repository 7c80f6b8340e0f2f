"""A room that is suspended while an agent works, and a program that is killed while one writes."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.contract.terminal import Terminal

from genie_core.sessions.view_state import VIEW_NAME, read_view

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def arguments(port: int, desk: Path) -> list[str]:
    return ["--name", "ann", "--port", str(port), "--workspace", str(desk), "--local"]


def started(command: str, home: Path, port: int, desk: Path) -> Terminal:
    desk.mkdir(exist_ok=True)
    return Terminal(command, *arguments(port, desk), home=home, env={"GENIE_GRACE": "600"})


def joined(host: Terminal, port: int, home: Path) -> Terminal:
    """Join as a guest once the room is open; who comes sooner finds nobody there."""
    host.wait_for("online")
    return Terminal("join", f":{port}", "--name", "bob", "--guest", home=home)


def folder_of(home: Path) -> Path:
    (folder,) = (home / "data" / "sessions").iterdir()
    return folder


def texts(home: Path) -> Iterator[str]:
    for line in (folder_of(home) / "events.jsonl").read_bytes().splitlines():
        body = msgspec.json.decode(line)["body"]
        if body["type"] == "said":
            yield body["text"]


def test_a_draft_survives_a_kill(home: Path, port: int, tmp_path: Path) -> None:
    with started("host", home, port, tmp_path / "desk") as host:
        host.wait_for("online", "idle")
        host.type("what I was about to say")
        host.wait_until(
            lambda _: read_view(folder_of(home)).draft == "what I was about to say",
            "the draft on disk",
        )
        host.kill()
    assert oct((folder_of(home) / VIEW_NAME).stat().st_mode)[-3:] == "600"
    with started("resume", home, port, tmp_path / "desk") as resumed:
        resumed.wait_for("online", "what I was about to say")


def test_work_gets_grace_and_messages_wait(home: Path, port: int, tmp_path: Path) -> None:
    with (
        started("host", home, port, tmp_path / "desk") as ann,
        joined(ann, port, tmp_path / "his") as bob,
    ):
        bob.wait_for("online", "ann")
        ann.wait_for("idle", "bob")
        ann.say("@genie run sleep 600")
        ann.wait_for("1 approval")
        ann.press("ctrl+g")
        ann.wait_for("s allow same call", gone="one moment")
        ann.press("a")
        ann.wait_for("enter allows it", gone="… enter")
        ann.press("enter")
        ann.wait_for("calling run_command", gone="1 approval")
        ann.quit()
        ann.wait_for("1 agent is still working")
        bob.wait_for("The host suspends the room in")
        bob.say("one more thing")
        bob.wait_for("one more thing", "unsent")
        ann.press("ctrl+q")
        bob.wait_for("the host suspended the room: reconnecting")
        assert ann.exit_code() == 0
        assert "cancelled" in "".join(ann.left_behind)
        assert "genie-tui resume" in ann.left_behind[-1]
        assert list(texts(home)) == ["@genie run sleep 600"]
        with started("resume", home, port, tmp_path / "desk") as again:
            again.wait_for("online", "one more thing")
            bob.wait_for("one more thing", gone="unsent")
    assert list(texts(home)) == ["@genie run sleep 600", "one more thing"]
