"""The host hands the room over to a member who is willing, and everybody follows."""

from pathlib import Path

import pytest
from tests.contract.member import Member, join, new

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_hosts")]


def test_room_and_members_move_to_heir(tmp_path: Path, port: int) -> None:
    with Member("alice", tmp_path / "alice", new(), settings={"port": port}) as alice:
        room = alice.seated()["room"]
        invite = alice.do("invite")
        with (
            Member("bob", tmp_path / "bob", join(invite), settings={"port": port + 1}) as bob,
            Member("carol", tmp_path / "carol", join(invite)) as carol,
        ):
            people = (alice, bob, carol)
            for member in (bob, carol):
                member.seated()
            carol.say("before")
            for member in people:
                member.hears("before")

            # Who was not asked can't take it.
            assert carol.do("accept")
            carol.wait_for("notice", text="the host has not asked you to host")
            assert alice.do("offer", name="bob")
            bob.wait_for("offered", by="alice")
            assert bob.do("accept")
            alice.wait_for("accepted", name="bob")
            since = {member.name: member.now for member in people}
            alice.begin("hand_over")
            carol.say("while it moves")

            assert bob.wait_for("seated", after=since["bob"])["address"].endswith(f":{port + 1}")
            alice.seated(since["alice"])
            carol.back_online(since["carol"])
            for member in people:
                member.say(f"{member.name} is here")
            arrivals = [f"{each.name} is here" for each in people]
            for member in people:
                member.hears("while it moves", *arrivals)
            for member in people:
                assert sorted(member.texts) == sorted(["before", "while it moves", *arrivals])
                found = member.do("look")
                assert (found["room"], found["host"]) == (room, "bob")
                assert sorted(found["here"]) == ["alice", "bob", "carol"]
                assert member.texts == bob.texts
                assert member.is_gapless
            assert bob.texts[0] == "before"
