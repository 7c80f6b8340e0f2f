"""The host is gone for good, and a member hosts the room from their copy."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.member import Member, join, new, rejoin, resume
from tests.contract.terminal import Terminal, printed_invite

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_hosts")]


@pytest.fixture
def alice(tmp_path: Path, port: int) -> Iterator[Member]:
    with Member("alice", tmp_path / "alice", new(), settings={"port": port}) as member:
        member.seated()
        yield member


def recovered(member: Member) -> list[str]:
    """The texts of the messages that were brought back."""
    originals = [body["event"]["body"] for body in member.bodies("recovered")]
    return [body["text"] for body in originals if body["type"] == "said"]


def test_member_rehosts_without_loss(alice: Member, tmp_path: Path) -> None:
    invite = alice.do("invite")
    with Member("carol", tmp_path / "carol", join(invite)) as carol:
        carol.seated()  # so that what bob takes with him has her in it
        with Member("bob", tmp_path / "bob", join(invite)) as bob:
            room = bob.seated()["room"]
            bob.say("all have this")
            for member in (alice, bob, carol):
                member.hears("all have this")
            before = bob.do("look")
            bob.leave()
        carol.say("bob does not have this")
        carol.wait_until(
            lambda: "bob does not have this" in carol.texts_on_disk, "what only her copy will have"
        )
        heard = carol.now
        alice.kill()
        carol.wait_for("link", after=heard, link="retrying")

        with Member("bob", tmp_path / "bob", resume(f"{room}@bob")) as host:
            host.seated()
            host.say("I host this now")
            host.hears("all have this", "I host this now")
            found = host.do("look")
            assert (found["room"], found["title"]) == (room, "Standup")
            assert found["keys"] == before["keys"]
            assert set(found["keys"]) == {"alice", "bob", "carol"}
            assert (found["host"], before["host"]) == ("bob", "alice")
            assert found["pin"] not in ("", before["pin"])
            way = host.do("invite")

            carol.kill()
            with Member("carol", tmp_path / "carol", join(way)) as back:
                back.wait_for("notice", severity="warning", text="your copy part")
                back.seated()
                back.hears("all have this", "I host this now", "bob does not have this")
                host.hears("bob does not have this")
                assert [path.name for path in back.sessions] == [f"{room}@carol", f"{room}@carol~1"]
                assert back.do("look")["host"] == "bob"
                back.say("here I am")
                host.hears("here I am")
                back.leave()

            # Whoever comes with the same once more adds nothing, be it she or the first host.
            with Member("carol", tmp_path / "carol", rejoin(f"{room}@carol")) as again:
                again.seated()
                again.hears("here I am")
                again.leave()
            with Member("alice", tmp_path / "alice", join(way)) as first:
                first.seated()
                first.hears("here I am", "bob does not have this")
                assert first.do("look")["host"] == "bob"
                first.say("thank you, bob")
                host.hears("thank you, bob")
                first.leave()
            assert recovered(host) == ["bob does not have this"]
            assert host.is_gapless
            assert sorted(host.texts) == sorted(
                {
                    "all have this",
                    "bob does not have this",
                    "I host this now",
                    "here I am",
                    "thank you, bob",
                }
            )


def test_unadmitted_key_cannot_host(alice: Member, tmp_path: Path) -> None:
    """A copy that somebody got hold of is not theirs to host: nobody follows them."""
    with Member("bob", tmp_path / "bob", join(alice.do("invite"))) as bob:
        room = bob.seated()["room"]
        bob.meets("bob")  # so that his copy tells whose name it is
        bob.leave()
    alice.kill()
    (tmp_path / "mallory").mkdir()
    (tmp_path / "bob" / "data" / "sessions").rename(tmp_path / "sessions")
    (tmp_path / "mallory" / "data").mkdir()
    (tmp_path / "sessions").rename(tmp_path / "mallory" / "data" / "sessions")
    with Member("bob", tmp_path / "mallory", resume(f"{room}@bob")) as mallory:
        assert "belongs to another key" in mallory.refused()


def test_hosted_copy_accepts_new_invite(tmp_path: Path, port: int) -> None:
    hers, his = tmp_path / "alice", tmp_path / "bob"
    common = ["--no-announce", "--port", str(port)]
    with Terminal("host", "--title", "Standup", "--name", "alice", *common, home=hers) as alice:
        alice.wait_for("Standup", "online")
        invite = printed_invite(hers)
        with (
            Member("carol", tmp_path / "carol", join(invite)) as carol,
            Terminal("join", invite, "--name", "bob", home=his) as bob,
        ):
            room = carol.seated()["room"]
            bob.wait_for("Standup", "online")
            bob.say("everybody has this")
            carol.hears("everybody has this")
            bob.wait_for("everybody has this", gone="unsent")
            alice.kill()
            bob.wait_for("reconnecting")
            assert bob.leave() == 0
            with Terminal("resume", room, "--name", "bob", *common, home=his) as host:
                host.wait_for("Standup", "online", "everybody has this")
                carol.kill()
                with Member("carol", tmp_path / "carol", join(printed_invite(his))) as back:
                    assert back.seated()["room"] == room
                    back.follows("bob")
                    assert back.do("look")["host"] == "bob"
                    back.say("found you")
                    host.wait_for("found you")
