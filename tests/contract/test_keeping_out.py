"""Whom the host puts out or keeps waiting, and what becomes of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.member import Member, join, new, rejoin

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_hosts")]


@pytest.fixture
def alice(tmp_path: Path, port: int) -> Iterator[Member]:
    with Member("alice", tmp_path / "alice", new(), settings={"port": port}) as member:
        member.seated()
        yield member


@pytest.fixture
def invite(alice: Member) -> str:
    text: str = alice.do("invite")
    return text


def measures(member: Member) -> list[str]:
    return [body["measure"] for body in member.bodies("moderated")]


def test_who_is_kicked_is_out_and_may_come_back(alice: Member, invite: str, tmp_path: Path) -> None:
    with (
        Member("carol", tmp_path / "carol", join(invite)) as carol,
        Member("bob", tmp_path / "bob", join(invite)) as bob,
    ):
        carol.seated()
        room = bob.seated()["room"]
        alice.meets("bob")
        assert alice.do("moderate", measure="kick", name="bob", reason="take a walk")
        bob.wait_for("link", link="closed", detail="put you out of the room: take a walk")
        bob.wait_for("ended")
        carol.wait_until(lambda: carol.bodies("moderated"), "the kick")
        alice.say("without him")
        for member in (alice, carol):
            member.hears("without him")
        assert "without him" not in bob.texts
        assert alice.do("look")["here"] == ["alice", "carol"]
        # A member can't do what a host can.
        assert carol.do("moderate", measure="kick", name="alice")
        carol.wait_for("notice", text="only the host may do that")
        with Member("bob", tmp_path / "bob", rejoin(room)) as back:
            back.seated()
            back.hears("without him")


def test_who_is_banned_stays_out_until_pardoned(alice: Member, invite: str, tmp_path: Path) -> None:
    with Member("bob", tmp_path / "bob", join(invite)) as bob:
        room = bob.seated()["room"]
        alice.meets("bob")
        assert alice.do("moderate", measure="ban", name="bob")
        bob.wait_for("ended")
    fresh = alice.do("renew")
    for way in (rejoin(room), join(fresh)):
        with Member("bob", tmp_path / "bob", way) as bob:
            assert "does not want you" in bob.refused()
    assert alice.do("moderate", measure="pardon", name="bob")
    alice.wait_until(lambda: "pardon" in measures(alice), "the pardon")
    with Member("bob", tmp_path / "bob", rejoin(room)) as bob:
        bob.seated()


def test_who_is_muted_hears_and_is_not_heard(alice: Member, invite: str, tmp_path: Path) -> None:
    with Member("bob", tmp_path / "bob", join(invite)) as bob:
        bob.seated()
        alice.meets("bob")
        assert alice.do("moderate", measure="mute", name="bob")
        bob.wait_until(lambda: bob.bodies("moderated"), "being muted")
        bob.say("let me speak")
        bob.wait_for("rejected", text="let me speak", why="muted")
        alice.say("hush")
        bob.hears("hush")
        assert "let me speak" not in alice.texts


def test_ask_setting_holds_strangers(tmp_path: Path, port: int) -> None:
    settings = {"port": port, "ask": True}
    with Member("alice", tmp_path / "alice", new(), settings=settings) as alice:
        alice.seated()
        invite = alice.do("invite")
        with (
            Member("bob", tmp_path / "bob", join(invite)) as bob,
            Member("mallory", tmp_path / "mallory", join(invite)) as mallory,
        ):
            for stranger in (bob, mallory):
                stranger.wait_for("link", detail="the host is asked")
            knocks = {
                name: alice.wait_for("knock", name=name, over=False) for name in ("bob", "mallory")
            }
            alice.say("not for their ears yet")
            alice.hears("not for their ears yet")
            assert alice.do("look")["here"] == ["alice"]
            assert not bob.texts

            alice.do("admit", knock=knocks["mallory"]["id"], allow=False)
            assert "did not let you in" in mallory.refused()
            alice.do("admit", knock=knocks["bob"]["id"], allow=True)
            room = bob.seated()["room"]
            for knock in knocks.values():
                alice.wait_for("knock", id=knock["id"], over=True)
            bob.meets("bob")
            assert knocks["bob"]["key"] == bob.do("look")["keys"]["bob"]
        # Whoever was let in once is not asked about again.
        heard = alice.now
        with Member("bob", tmp_path / "bob", rejoin(room)) as bob:
            bob.seated()
        assert not [line for line in alice.lines[heard:] if line["on"] == "knock"]


def test_hangup_withdraws_join_request(tmp_path: Path, port: int) -> None:
    settings = {"port": port, "ask": True}
    with Member("alice", tmp_path / "alice", new(), settings=settings) as alice:
        alice.seated()
        with Member("bob", tmp_path / "bob", join(alice.do("invite"))) as bob:
            knock = alice.wait_for("knock", name="bob", over=False)
            bob.wait_for("link", detail="the host is asked")
        alice.wait_for("knock", id=knock["id"], over=True)
