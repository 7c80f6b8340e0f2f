"""The host is gone and named no heir: a member continues in a new room, and others follow."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.terminal import DEADLINE, Terminal, printed_invite

from genie_core.sessions.catalog import Catalog

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_hosts")]


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, Path]:
    return {name: tmp_path / name for name in ("alice", "bob", "carol")}


@pytest.fixture(params=["mdns", "no mdns"])
def announces(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "mdns")


@pytest.fixture
def options(announces: bool) -> list[str]:
    return [] if announces else ["--no-announce"]


@pytest.fixture
def alice(homes: dict[str, Path], port: int, options: list[str]) -> Iterator[Terminal]:
    arguments = ["--title", "Standup", "--name", "alice", "--port", str(port), *options]
    with Terminal("host", *arguments, home=homes["alice"], columns=140) as terminal:
        terminal.wait_for("Standup", "online", "idle")
        yield terminal


def entered(name: str, homes: dict[str, Path], invite: str, options: list[str]) -> Terminal:
    env = {"GENIE_ANNOUNCE": "false"} if options else {}
    terminal = Terminal("join", invite, "--name", name, home=homes[name], columns=140, env=env)
    terminal.wait_for("Standup", "online", "idle")
    return terminal


def rooms(home: Path) -> list[str]:
    return [each.id for each in Catalog(home / "data" / "sessions").all()]


def verified(home: Path, room: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "genie_tui", "verify", room],
        env={**os.environ, "GENIE_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def continue_in_a_new_room(bob: Terminal) -> None:
    bob.wait_for("reconnecting")
    bob.say("typed while nobody hosted")
    bob.wait_for("typed while nobody hosted", "unsent")
    bob.say("/continue")
    bob.wait_for("Continue in a new room?", "enter continue it", gone="… enter")
    bob.press("enter")
    bob.wait_for("127.0.0.1:", "online", "before", "typed while nobody hosted", gone="unsent")


def answer(terminal: Terminal, key: str) -> None:
    """Go to the question, wait until keys count, choose with the one that says this, confirm."""
    terminal.press("f7")
    terminal.wait_for(key, gone="one moment")
    terminal.press(key[0])
    terminal.wait_for("enter continue", gone="? …")
    terminal.press("enter")


def test_member_continues_and_another_follows(
    alice: Terminal, homes: dict[str, Path], options: list[str], *, announces: bool
) -> None:
    invite = printed_invite(homes["alice"])
    with (
        entered("bob", homes, invite, options) as bob,
        entered("carol", homes, invite, options) as carol,
    ):
        alice.say("/heirs none")
        bob.wait_for("⚑ alice")
        bob.say("before")
        carol.wait_for("before")
        bob.wait_for("before", gone="unsent")
        (old,) = rooms(homes["carol"])
        alice.kill()
        continue_in_a_new_room(bob)
        carol.wait_for("reconnecting")
        if announces:
            carol.wait_for("bob continues this room as a new one", "alice has been away", "f7")
            answer(carol, "a follow")
            carol.wait_for("online", "typed while nobody hosted")
        else:
            assert carol.leave() == 0
    # one room is gone with its terminals: the new one goes on when it is resumed
    (new,) = [room for room in rooms(homes["bob"]) if "@" not in room]
    assert "Standup" in verified(homes["bob"], new)
    with Terminal("resume", new, "--name", "bob", *options, home=homes["bob"]) as bob:
        bob.wait_for("Standup", "online", "typed while nobody hosted")
        way = printed_invite(homes["bob"])
        with Terminal("join", way, "--name", "carol", home=homes["carol"]) as carol:
            carol.wait_for("Standup", "online", "typed while nobody hosted")
            carol.say("here I am")
            bob.wait_for("here I am")
    assert old in rooms(homes["carol"])
    assert len(rooms(homes["carol"])) == 2


@pytest.mark.parametrize("announces", [True])
def test_no_is_kept_and_the_old_host_comes_back(
    alice: Terminal, homes: dict[str, Path], port: int, *, announces: bool
) -> None:
    assert announces
    invite = printed_invite(homes["alice"])
    with entered("bob", homes, invite, []) as bob, entered("carol", homes, invite, []) as carol:
        alice.say("/heirs none")
        bob.wait_for("⚑ alice")
        bob.say("before")
        carol.wait_for("before")
        bob.wait_for("before", gone="unsent")
        (old,) = rooms(homes["carol"])
        alice.kill()
        continue_in_a_new_room(bob)
        carol.wait_for("bob continues this room as a new one")
        answer(carol, "d stay here")
        carol.wait_for("reconnecting", gone="bob continues this room")
        assert carol.leave() == 0
        with Terminal("join", old, "--name", "carol", home=homes["carol"]) as again:
            assert again.exit_code() == 1  # neither the host is there, nor is she asked again
            assert "bob continues" not in " ".join(again.left_behind)
        follow = ["join", "--follow", "bob", old, "--name", "carol"]
        with Terminal(*follow, home=homes["carol"], columns=140) as followed:
            followed.wait_for("Standup", "online", "typed while nobody hosted")
        arguments = ["resume", "--name", "alice", "--port", str(port)]
        with Terminal(*arguments, home=homes["alice"], columns=140) as back:
            back.wait_for("Standup", "online", "before")
            back.wait_for("bob continued this room as a new one")
            bob.wait_for("alice hosts the room again")
            with Terminal("join", old, "--name", "carol", home=homes["carol"]) as again:
                again.wait_for("Standup", "online", "before")
                assert "typed while nobody hosted" not in again.text
