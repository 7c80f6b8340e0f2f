"""Joining from beyond loopback: what an invite opens, and what opens nothing."""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.member import Member, join, new, rejoin
from tests.contract.terminal import Terminal, printed_invite

from genie_core.room.protocol.events import MemberJoined
from genie_core.room.protocol.frames import (
    Arrival,
    Challenge,
    FrameRefused,
    Hello,
    Prove,
    Welcome,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.challenge import InviteSecret, Transcript, new_nonce
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite import read_invite, write_invite
from genie_core.room.security.signing import sign
from genie_core.room.transport.websocket import tls_connect

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_hosts")]

NOT_VALID = "this invite is not valid"


@pytest.fixture
def alice(tmp_path: Path, port: int) -> Iterator[Member]:
    with Member("alice", tmp_path / "alice", new(), settings={"port": port}) as member:
        member.seated()
        member.meets("alice")
        yield member


def changed(invite: str, **fields: object) -> str:
    return write_invite(replace(read_invite(invite), **fields))  # type: ignore[arg-type]


def test_printed_invite_suffices_to_join(tmp_path: Path, port: int) -> None:
    hers, his = tmp_path / "alice", tmp_path / "bob"
    host = ["host", "--title", "Standup", "--name", "alice", "--port", str(port), "--no-announce"]
    with Terminal(*host, home=hers) as alice:
        alice.wait_for("Standup", "online")
        invite = printed_invite(hers)
        assert all(place.host != "127.0.0.1" for place in read_invite(invite).addresses)
        assert len(invite) <= 250

        with Terminal("join", invite, "--name", "bob", home=his) as bob:
            bob.wait_for("Standup", "online", "alice")
            bob.say("hello from elsewhere")
            alice.wait_for("hello from elsewhere", "bob")
            assert bob.leave() == 0

        # The second time his key is enough, and what he typed the first time does no harm.
        (room,) = [path.name.partition("@")[0] for path in (his / "data" / "sessions").iterdir()]
        for way in (room, invite):
            with Terminal("join", way, "--name", "bob", home=his) as bob:
                bob.wait_for("Standup", "online", "hello from elsewhere")


def test_a_wrong_secret_opens_nothing(alice: Member, tmp_path: Path) -> None:
    wrong = changed(alice.do("invite"), secret=secrets.token_bytes(16))
    with Member("bob", tmp_path / "bob", join(wrong)) as bob:
        assert NOT_VALID in bob.refused()
    assert not (tmp_path / "bob" / "data" / "sessions").exists()
    assert alice.do("look")["here"] == ["alice"]


def test_remote_stranger_needs_invite(alice: Member, tmp_path: Path) -> None:
    invite = read_invite(alice.do("invite"))
    place = str(invite.addresses[0])
    with Member("bob", tmp_path / "bob", join(place)) as bob:
        assert "invite" in bob.refused()


def test_wrong_fingerprint_names_both(alice: Member, tmp_path: Path) -> None:
    right = alice.do("invite")
    other = "A" * 42 + "E"
    with Member("bob", tmp_path / "bob", join(changed(right, pin=other))) as bob:
        told = bob.refused()
    assert other in told
    assert read_invite(right).pin in told
    with Terminal("join", changed(right, pin=other), home=tmp_path / "c", columns=400) as terminal:
        assert terminal.exit_code() == 1
        (line,) = terminal.left_behind
        assert "ANOTHER MACHINE ANSWERS" in line
        assert other in line


def test_renewal_keeps_members(alice: Member, tmp_path: Path) -> None:
    old = alice.do("invite")
    with Member("bob", tmp_path / "bob", join(old)) as bob:
        bob.seated()
        fresh = alice.do("renew")
        assert fresh != old
        with Member("carol", tmp_path / "carol", join(old)) as carol:
            assert NOT_VALID in carol.refused()
        alice.say("are you there?")
        bob.hears("are you there?")
        room = bob.do("look")["room"]

    # He comes back though his invite has ended, and without one as well.
    for way in (join(old), rejoin(room)):
        with Member("bob", tmp_path / "bob", way) as bob:
            bob.seated()
            bob.hears("are you there?")
    with Member("carol", tmp_path / "carol", join(fresh)) as carol:
        carol.seated()


def test_an_invite_for_one_lets_in_one(alice: Member, tmp_path: Path) -> None:
    invite = alice.do("renew", uses=1)
    with Member("bob", tmp_path / "bob", join(invite)) as bob:
        bob.seated()
        with Member("carol", tmp_path / "carol", join(invite)) as carol:
            assert NOT_VALID in carol.refused()


def test_an_invite_ends_with_its_time(alice: Member, tmp_path: Path) -> None:
    invite = alice.do("renew", lifetime=1)
    ends = time.monotonic() + 1  # or before that
    while time.monotonic() <= ends + 0.5:  # the time itself is what this waits for
        time.sleep(0.1)
    with Member("bob", tmp_path / "bob", join(invite)) as bob:
        assert NOT_VALID in bob.refused()


def test_a_name_is_its_first_keys(alice: Member, tmp_path: Path) -> None:
    invite = alice.do("invite")
    with Member("bob", tmp_path / "bob", join(invite)) as bob:
        bob.seated()
        with Member("bob", tmp_path / "other", join(invite)) as other:
            assert "belongs to another key" in other.refused()
        # The same key at a second terminal is the same person, who sees everything there, too.
        with Member("bob", tmp_path / "bob", join(invite)) as second:
            second.seated()
            alice.say("to both of you")
            for terminal in (alice, bob, second):
                terminal.hears("to both of you")
            assert alice.do("look")["here"] == ["alice", "bob"]
    with Member("alice", tmp_path / "third", join(invite)) as other:
        assert "host's name" in other.refused()


class Stranger:
    """Somebody with a program of their own, who says what they like at the door."""

    def __init__(self, invite: str) -> None:
        self.me = Identity.generate()
        self.invite = read_invite(invite)
        self.hello = Hello("mallory", key=self.me.key, nonce=new_nonce(), device="d")

    def answer(self, challenge: Challenge, channel: str) -> Prove:
        name, key, nonce = self.hello.name, self.hello.key, self.hello.nonce
        meeting = Transcript(challenge.room, name, key, nonce, challenge.nonce, channel)
        ticket = InviteSecret(self.invite.pass_id, self.invite.secret)
        joined = MemberJoined("guest", key=key)
        signature = sign(self.me, challenge.room, joined, fold_name(name)).signature
        arrival = Arrival(signature=signature)
        proof = self.me.sign(meeting.encode())
        return Prove(proof, ticket.id, meeting.prove(ticket.secret), arrival)

    async def arrive(
        self, prove: Callable[[Challenge, str], Prove]
    ) -> tuple[Prove, Welcome | FrameRefused]:
        """Say hello, and `prove` what is asked for; returns what that led to."""
        link = await tls_connect(self.invite.addresses[0], self.invite.pin)
        try:
            await link.send([self.hello])
            challenge = await link.receive()
            assert isinstance(challenge, Challenge)
            proof = prove(challenge, link.channel or "")
            await link.send([proof])
            verdict = await link.receive()
        finally:
            link.abort()
        assert isinstance(verdict, Welcome | FrameRefused)
        return proof, verdict


async def test_replayed_handshake_is_refused(alice: Member) -> None:
    stranger = Stranger(alice.do("invite"))
    recorded, verdict = await stranger.arrive(stranger.answer)
    assert isinstance(verdict, Welcome)
    _, verdict = await stranger.arrive(lambda _challenge, _channel: recorded)
    assert isinstance(verdict, FrameRefused)
    assert (verdict.code, verdict.final) == ("unproven", True)


async def test_other_certificate_is_refused(alice: Member) -> None:
    stranger = Stranger(alice.do("invite"))
    _, verdict = await stranger.arrive(lambda challenge, _: stranger.answer(challenge, "A" * 43))
    assert isinstance(verdict, FrameRefused)
    assert verdict.code == "unproven"


async def test_a_key_alone_opens_nothing_to_a_stranger(alice: Member) -> None:
    stranger = Stranger(alice.do("invite"))

    def keep_the_secret(challenge: Challenge, channel: str) -> Prove:
        return Prove(stranger.answer(challenge, channel).signature)

    _, verdict = await stranger.arrive(keep_the_secret)
    assert isinstance(verdict, FrameRefused)
    assert verdict.code == "no_invite"
    assert alice.do("look")["here"] == ["alice"]


async def test_without_tls_nobody_answers(alice: Member) -> None:
    place = read_invite(alice.do("invite")).addresses[0]
    reader, writer = await asyncio.open_connection(place.host, place.port)
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: room\r\nConnection: Upgrade\r\n\r\n")
        with suppress(ConnectionError):
            assert b"HTTP" not in await reader.read()
    finally:
        writer.close()
