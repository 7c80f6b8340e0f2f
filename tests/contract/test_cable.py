"""Three machines in a network of their own: cables are pulled, addresses change, hosts die."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.contract.member import Line, Member, join, new, resume
from tests.contract.network import Machine, Network

from genie_core.room.security.invite import read_invite

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]

SOON = 5.0
"""Seconds within which a member sees that the network is gone."""

SLACK = 10.0
"""Seconds more for what else this machine may be busy with."""


class Lan:
    """Alice, bob and carol, at a machine each."""

    def __init__(self, folder: Path, network: Network, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        names = ("alice", "bob", "carol")
        self.machines: dict[str, Machine] = {
            name: network.machine(name, f"10.77.0.{number}") for number, name in enumerate(names, 1)
        }

    def start(self, name: str, opening: Line) -> Member:
        member = self.try_to_start(name, opening)
        member.seated()
        return member

    def try_to_start(self, name: str, opening: Line) -> Member:
        member = Member(
            name,
            self._folder / name,
            opening,
            settings={"announce": True},
            prefix=self.machines[name].prefix,
        )
        self._stack.callback(member.kill)
        return member


@pytest.fixture
def lan(tmp_path: Path) -> Iterator[Lan]:
    with Network() as network, ExitStack() as stack:
        yield Lan(tmp_path, network, stack)


def test_three_machines_survive_outages(lan: Lan) -> None:
    alice = lan.start("alice", new())
    invite = alice.do("invite")
    assert read_invite(invite).addresses[0].host == "10.77.0.1"
    bob, carol = lan.start("bob", join(invite)), lan.start("carol", join(invite))
    expected = ["hello"]
    bob.say("hello")
    everybody_hears((alice, bob, carol), expected)

    # A cable is pulled: who hangs on it sees it soon, the others go on, nothing gets lost.
    heard, before = bob.now, time.monotonic()
    lan.machines["bob"].pull_cable()
    noticed = bob.wait_for("link", after=heard, link="retrying")["t"] - before
    assert noticed < SOON + SLACK
    typed = [f"from nowhere {number}" for number in range(3)]
    bob.say(*typed)
    bob.wait_for("unsent", texts=typed)
    carol.say("we go on")
    alice.hears("we go on")
    heard = bob.now
    lan.machines["bob"].plug_cable()
    bob.online(heard)
    expected += ["we go on", *typed]
    everybody_hears((alice, bob, carol), expected)

    # The host's address changes: who is told by nobody finds her by what the network says.
    moved = {member.name: member.now for member in (bob, carol)}
    lan.machines["alice"].take_address("10.77.0.99")
    for member in (bob, carol):
        member.back_online(moved[member.name])
    alice.say("I have moved")
    expected.append("I have moved")
    everybody_hears((alice, bob, carol), expected)

    # The host dies: a member hosts the room, and the others follow the deed with his key.
    heard, left = bob.now, carol.now
    alice.kill()
    for member, since in ((bob, heard), (carol, left)):
        member.wait_for("link", after=since, link="retrying")
    carol.say("is anybody there?")
    bob.begin("take_over")
    bob.seated(heard)
    carol.back_online(left)
    bob.say("I host now")
    expected += ["is anybody there?", "I host now"]
    everybody_hears((bob, carol), expected)
    assert carol.do("look") | {"link": ""} == bob.do("look") | {"link": ""}
    assert carol.do("look")["host"] == "bob"
    carol.wait_for("notice", text="bob hosts this room now")


def test_host_who_comes_back_is_the_host(lan: Lan) -> None:
    alice = lan.start("alice", new())
    room = alice.seated()["room"]
    invite = alice.do("invite")
    bob, carol = lan.start("bob", join(invite)), lan.start("carol", join(invite))
    everybody_hears((alice, bob, carol), [])
    heard, left = bob.now, carol.now
    alice.kill()
    bob.wait_for("link", after=heard, link="retrying")
    bob.begin("take_over")
    bob.seated(heard)
    carol.back_online(left)

    lan.machines["alice"].pull_cable()
    alice = lan.start("alice", resume(room))
    alice.say("said while cut off")
    alice.hears("said while cut off")
    bob.say("said at bob's")
    everybody_hears((bob, carol), ["said at bob's"])
    lan.machines["alice"].plug_cable()
    bob.wait_for("goes on")
    alice.say("I am back")
    everybody_hears((alice, bob, carol), ["said at bob's", "said while cut off", "I am back"])
    assert alice.do("look")["host"] == bob.do("look")["host"] == "alice"


def everybody_hears(members: tuple[Member, ...], expected: list[str]) -> None:
    for member in members:
        member.hears(*expected)
    for member in members:
        assert sorted(member.texts) == sorted(expected)
        assert member.texts == members[0].texts
        assert member.is_gapless
