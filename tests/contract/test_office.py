"""What hosts and members do about the room on their screens: letting in, handing over, going on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.terminal import Terminal, printed_invite

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_hosts")]


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, Path]:
    return {name: tmp_path / name for name in ("alice", "bob", "carol")}


@pytest.fixture
def alice(homes: dict[str, Path], port: int) -> Iterator[Terminal]:
    arguments = ["--title", "Standup", "--name", "alice", "--port", str(port), "--ask"]
    home = homes["alice"]
    with Terminal("host", *arguments, "--no-announce", home=home, columns=140) as terminal:
        terminal.wait_for("Standup", "online", "idle")
        yield terminal


def answer(terminal: Terminal, question: str, key: str) -> None:
    """Go to the requests, wait until keys count, choose with the one that says this, confirm."""
    terminal.wait_for(question, "f7 to answer")
    terminal.press("f7")
    terminal.wait_for(key, gone="one moment")
    terminal.press(key[0])
    terminal.wait_for("enter continue", gone="? …")
    terminal.press("enter")


def enter(alice: Terminal, name: str, homes: dict[str, Path], invite: str) -> Terminal:
    terminal = Terminal("join", invite, "--name", name, home=homes[name], columns=140)
    terminal.wait_for("the host is asked")
    answer(alice, f"Join request: {name}", "a admit")
    return terminal


def test_host_admits_kicks_and_hands_over(alice: Terminal, homes: dict[str, Path]) -> None:
    invite = printed_invite(homes["alice"])
    with enter(alice, "bob", homes, invite) as bob:
        bob.wait_for("Standup", "online", "idle")
        with Terminal("join", invite, "--name", "mallory", home=homes["carol"]) as mallory:
            answer(alice, "Join request: mallory", "d refuse")
            assert mallory.exit_code() == 1
            assert "did not let you in" in " ".join(mallory.left_behind)
        with enter(alice, "carol", homes, invite) as carol:
            carol.wait_for("Standup", "online")
            alice.press("esc")
            alice.say("/kick carol too loud")
            carol.wait_for("put you out of the room: too loud")

        alice.say("/host bob")
        answer(bob, "alice asks you to host this room", "a yes, I host")
        bob.wait_for("127.0.0.1:", "online", "idle")  # which only who hosts is shown
        bob.say("it is my room now")
        alice.wait_for("it is my room now")
        alice.say("and I am your guest")
        bob.wait_for("and I am your guest")
        # He ends it as its host: who leaves as a member is told of no way to resume.
        assert bob.leave() == 0
        assert "genie-tui resume" in bob.left_behind[-1]


def test_member_hosts_after_host_dies(alice: Terminal, homes: dict[str, Path]) -> None:
    with enter(alice, "bob", homes, printed_invite(homes["alice"])) as bob:
        bob.wait_for("Standup", "online", "idle")
        bob.say("before")
        alice.wait_for("before", "bob")
        bob.wait_for("before", gone="unsent")
        alice.kill()
        bob.wait_for("reconnecting")
        bob.say("typed while nobody hosted")
        bob.wait_for("typed while nobody hosted", "unsent")
        bob.wait_for("you may host the room")
        bob.say("/host")
        bob.wait_for("online", "before", "typed while nobody hosted", gone="unsent")
        invite = printed_invite(homes["bob"])
        with Terminal("join", invite, "--name", "alice", home=homes["alice"]) as back:
            back.wait_for("Standup", "online", "typed while nobody hosted")
            back.say("thank you, bob")
            back.wait_for("thank you, bob", gone="unsent")
            bob.wait_for("thank you, bob")
