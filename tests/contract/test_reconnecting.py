"""The connection breaks again and again while people talk: nothing is lost, doubled or disordered."""

from pathlib import Path

import pytest
from tests.contract.cable import Cable
from tests.contract.member import Member, join, new

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]

CUTS = 20
BATCH = 4
STEP = 100
"""Bytes by which each cut is later than the one before."""

ROOMY = {"limits": {"burst": 1000, "per_second": 1000.0, "joins": 1000}}


def test_twenty_reconnects_lose_no_message(tmp_path: Path, port: int) -> None:
    settings = {"port": port, "local": True, **ROOMY}
    with Member("alice", tmp_path / "alice", new(), settings=settings) as alice:
        address = alice.seated()["address"]
        with (
            Cable(address) as line,
            Member(
                "bob", tmp_path / "bob", join(line.address), only=line.address, hurried=True
            ) as bob,
            Member("carol", tmp_path / "carol", join(address)) as carol,
        ):
            for member in (bob, carol):
                member.seated()
            his: list[str] = []
            hers: list[str] = []
            for number in range(CUTS):
                his += (mine := [f"bob {number}.{each}" for each in range(BATCH)])
                hers += (yours := [f"carol {number}.{each}" for each in range(BATCH)])
                heard = bob.now
                line.cut_after(STEP * number)  # at another place of the conversation each time
                bob.say(*mine)
                carol.say(*yours)
                bob.wait_until(lambda: line.cuts > number, "the cut")  # noqa: B023 - awaited within the turn
                bob.back_online(heard)
            everything = {*his, *hers}
            for member in (alice, bob, carol):
                member.hears(*everything)
            for member in (alice, bob, carol):
                assert [text for text in member.texts if text.startswith("bob")] == his
                assert [text for text in member.texts if text.startswith("carol")] == hers
                assert member.is_gapless
            assert line.cuts == CUTS
            bob.wait_until(lambda: bob.all("unsent")[-1]["texts"] == [], "everything acknowledged")
            texts = bob.texts
            bob.leave()
            assert bob.texts_on_disk == texts == alice.texts


def test_offline_messages_keep_order(tmp_path: Path, port: int) -> None:
    """The host is killed and comes back; a member types all the while."""
    settings = {"port": port, "local": True}
    with Member("alice", tmp_path / "alice", new(), settings=settings) as alice:
        address = alice.seated()["address"]
        with Member("bob", tmp_path / "bob", join(address)) as bob:
            bob.seated()
            bob.say("before")
            bob.hears("before")  # or it would be unsent with the others
            heard = bob.now
            alice.kill()
            bob.wait_for("link", after=heard, link="retrying")
            meanwhile = [f"meanwhile {number}" for number in range(10)]
            bob.say(*meanwhile)
            bob.wait_until(lambda: bob.all("unsent")[-1]["texts"] == meanwhile, "unsent messages")
            again = {"kind": "resume", "id": ""}
            with Member("alice", tmp_path / "alice", again, settings=settings) as back:
                back.seated()
                back.hears(*meanwhile)
                bob.hears(*meanwhile)
                assert back.texts == bob.texts == ["before", *meanwhile]
