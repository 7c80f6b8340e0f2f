"""A member with the host's role moderates and invites from a terminal of their own."""

import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import pytest
from tests.contract.terminal import Terminal, printed_invite

from genie_core.room.security.invite import read_invite

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_hosts")]


def copied(terminal: Terminal) -> list[str]:
    """What the program has put on the clipboard, as the terminal was told (OSC 52)."""
    found = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", terminal.raw)
    return [b64decode(each).decode() for each in found]


def printed(home: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "genie_tui", *arguments]
    env = {"HOME": str(home), "GENIE_HOME": str(home), "LANG": "C.UTF-8"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bob_invites_carol_and_removes_her(tmp_path: Path, port: int) -> None:
    hers, his = tmp_path / "alice", tmp_path / "bob"
    host = ["host", "--title", "Standup", "--name", "alice", "--port", str(port), "--no-announce"]
    with Terminal(*host, home=hers, columns=80, rows=24) as alice:
        alice.wait_for("Standup", "online")
        way = ["join", printed_invite(hers), "--name", "bob"]
        with Terminal(*way, home=his, columns=80, rows=24) as bob:
            bob.wait_for("Standup", "online")
            bob.say("/invite")
            bob.wait_for("Only the host may do that")
            alice.wait_for("bob joined")
            alice.say("/role bob host")
            bob.wait_for("alice gave bob the host's role")
            bob.say("/invite --once")
            bob.wait_for("Invite to Standup", "One person can join as a member, once")
            bob.wait_until(lambda _: bool(copied(bob)), "the invite on the clipboard")
            invite = copied(bob)[-1]
            assert read_invite(invite).title == "Standup"
            bob.press("esc")
            bob.wait_for("Standup", gone="Invite to")
            with Terminal("join", invite, "--name", "carol", home=tmp_path / "carol") as carol:
                carol.wait_for("Standup", "online")
                for each in (alice, bob):
                    each.wait_for("carol joined")
                carol.say("hello")
                bob.wait_for("hello")
                carol.say("/kick bob")
                carol.wait_for("Only the host may do that")
                bob.say("/kick carol too loud")
                for each in (alice, bob):
                    each.wait_for("bob put carol out: too loud")
                carol.wait_for("bob put you out of the room: too loud")
            bob.say("/kick alice")
            bob.wait_for("the host can't be the target of that")
            assert bob.leave() == 0
        assert alice.leave() == 0
    for home in (hers, his):
        (room,) = [path.name for path in (home / "data" / "sessions").iterdir()]
        assert "bob put carol out: too loud" in printed(home, "sessions", "export", room, "-o", "-")
        printed(home, "verify", room)
