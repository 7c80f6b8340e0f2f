import asyncio
import threading
from typing import Any

import msgspec
import pytest
from tests.limits import scaled

from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.protocol.errors import (
    ConnectionLost,
    Diverged,
    KnownRoom,
    OtherHost,
    RoomRefused,
)
from genie_core.room.protocol.events import MemberJoined
from genie_core.room.protocol.frames import (
    KNOWN,
    Arrival,
    Challenge,
    ForkPoints,
    FrameRefused,
    Hello,
    JoinPending,
    Prove,
    ServerFrame,
    Trouble,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.challenge import InviteSecret, Transcript
from genie_core.room.security.identity import Identity
from genie_core.room.security.keys import verify
from genie_core.room.security.signing import PREVIOUS_BYTES, is_signed
from genie_core.room.state.hosting import Claim
from genie_core.room.transport.connection import ClientConnection, PeerConnection, memory_pair

DEADLINE = scaled(60.0)
ME, HOST = Identity.generate(), Identity.generate()
WELCOME = Welcome("r", "Room", "bob", "guest", "hana", 0, Limits())


class Visit:
    """An introduction under way, and the room's end of it, which the test plays."""

    def __init__(self, **options: Any) -> None:
        near, self.room = memory_pair(channel="")
        self.link: ClientConnection = near
        self.held: list[str] = []
        self.introduction = ClientHandshake("bob", ME, "laptop", visit="", **options)

    def begin(self, since: int = 0, mark: int = 0) -> asyncio.Task[Welcome | FrameRefused]:
        meeting = self.introduction.meet(self.link, since, mark, self.held.append)
        return asyncio.create_task(meeting)

    async def hear(self) -> Any:
        async with asyncio.timeout(DEADLINE):
            return await self.room.receive()

    async def answer(self, *frames: ServerFrame) -> None:
        end: PeerConnection = self.room
        await end.send(frames)


async def outcome(meeting: asyncio.Task[Welcome | FrameRefused]) -> Welcome | FrameRefused:
    async with asyncio.timeout(DEADLINE):
        return await meeting


async def test_invite_names_unknown_room() -> None:
    for room, digest in (("", "abc"), ("room-1", "")):
        visit = Visit(room=room, digest="abc")
        meeting = visit.begin()
        hello = await visit.hear()
        assert (hello.room, hello.digest) == (room, digest)
        await visit.answer(FrameRefused("room_full", "full"))
        await meeting


async def test_a_hello_a_proof_and_a_welcome() -> None:
    visit = Visit(ticket=InviteSecret("p", b"secret"), room="r", engine=True, agent="model")
    meeting = visit.begin(7, 99)
    hello = await visit.hear()
    assert isinstance(hello, Hello)
    assert hello == Hello("bob", room="r", key=ME.key, nonce=hello.nonce, knows=KNOWN)
    await visit.answer(Challenge("theirs", "r"))
    prove = await visit.hear()
    assert isinstance(prove, Prove)
    signed = Transcript("r", "bob", ME.key, hello.nonce, "theirs", "")
    assert verify(ME.key, prove.signature, signed.encode())
    assert (prove.pass_id, prove.proof) == ("p", signed.prove(b"secret"))
    arrival = Arrival(7, 99, engine=True, agent="model", device="laptop")
    assert prove.arrival is not None
    assert msgspec.structs.replace(prove.arrival, signature=b"") == arrival
    joined = MemberJoined(
        "guest", engine=True, key=ME.key, device="laptop", signature=prove.arrival.signature
    )
    assert is_signed(ME.key, "r", joined, "bob")
    await visit.answer(WELCOME)
    assert await outcome(meeting) == WELCOME


async def test_each_visit_signs_something_else() -> None:
    nonces = set()
    for _ in range(3):
        visit = Visit()
        meeting = visit.begin()
        nonces.add((await visit.hear()).nonce)
        meeting.cancel()
    assert len(nonces) == 3


@pytest.mark.parametrize("heard", [(0, 0, 0, 0), (0, 0, 1, 2), (0, 0, 1, 1), (0, 1, 1, 3)])
async def test_no_two_arrivals_are_signed_alike(heard: tuple[int, ...]) -> None:
    """The room records each, and the program has heard of so many when it comes again."""
    arrivals: list[Arrival] = []
    latest = [b""]
    visit = Visit(room="r", previous=lambda: latest[0])
    for count in heard:
        latest[0] = arrivals[count - 1].signature[:PREVIOUS_BYTES] if count else b""
        meeting = visit.begin()
        await visit.hear()
        await visit.answer(Challenge("theirs", "r"))
        prove = await visit.hear()
        arrivals.append(prove.arrival)
        await visit.answer(FrameRefused("room_full", "full"))
        await outcome(meeting)
    assert len({each.signature for each in arrivals}) == len(heard)
    befores = [each.signature[:PREVIOUS_BYTES] for each in arrivals[:-1]]
    assert [each.previous for each in arrivals] == [b"", *befores]


async def test_another_room_gets_no_signature() -> None:
    visit = Visit(room="r")
    meeting = visit.begin()
    await visit.hear()
    await visit.answer(Challenge("theirs", "another"))
    with pytest.raises(RoomRefused, match="the room at this address is not"):
        await outcome(meeting)
    await visit.link.close()
    with pytest.raises(ConnectionLost):
        await visit.hear()


async def test_known_room_is_recognised_unsigned() -> None:
    asked: list[int] = []

    def recognises(room: str) -> bool:
        asked.append(threading.get_ident())
        return room == "known"

    visit = Visit(recognises=recognises)
    meeting = visit.begin()
    await visit.hear()
    await visit.answer(Challenge("theirs", "known"))
    with pytest.raises(KnownRoom) as known:
        await outcome(meeting)
    assert known.value.room == "known"
    assert asked != [threading.get_ident()]  # it reads files
    visit = Visit(recognises=lambda _: True, room="known")  # which is the one that is meant
    meeting = visit.begin()
    await visit.hear()
    await visit.answer(Challenge("theirs", "known"))
    assert isinstance(await visit.hear(), Prove)
    meeting.cancel()


async def met(*, by: Identity, channel: str = "", nonce: str = "") -> tuple[str, str]:
    """What a participant makes of a host that signs its challenge like this."""
    seen: list[tuple[str, str]] = []

    async def accepts(claim: Claim) -> bool:
        seen.append((claim.pin, claim.key))
        return False

    visit = Visit(room="r", accepts=accepts)
    meeting = visit.begin(7, 99)
    hello = await visit.hear()
    signed = Transcript("r", "bob", ME.key, nonce or hello.nonce, "theirs", channel)
    signature = by.sign(signed.encode_for_host())
    await visit.answer(Challenge("theirs", "r", HOST.key, signature))
    with pytest.raises(OtherHost):
        await outcome(meeting)
    await visit.link.close()
    with pytest.raises(ConnectionLost):
        await visit.hear()
    return seen[0]


async def test_host_proof_binds_to_connection() -> None:
    assert await met(by=HOST) == ("", HOST.key)
    assert await met(by=Identity.generate()) == ("", "")
    assert await met(by=HOST, channel="another") == ("", "")
    assert await met(by=HOST, nonce="an old one") == ("", "")


async def test_only_hosts_decision_may_be_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.room.client.handshake.WELCOME_TIMEOUT", 0.05)
    visit = Visit()
    with pytest.raises(ConnectionLost, match="did not answer in time"):
        await outcome(visit.begin())
    visit = Visit()
    await visit.answer(
        Challenge("theirs", "r"), JoinPending("the host is asked")
    )  # in time, however slow the machine is
    meeting = visit.begin()
    await asyncio.wait([meeting], timeout=0.2)
    assert not meeting.done()
    (told,) = visit.held
    assert told.startswith("the host is asked; your key in words: ")
    await visit.answer(WELCOME)
    assert await outcome(meeting) == WELCOME


async def test_diverged_logs_carry_fork_points() -> None:
    visit = Visit()
    meeting = visit.begin(9, 1)
    points = ForkPoints(((7, 1), (3, 2)))
    await visit.answer(Challenge("theirs", "r"), points, FrameRefused("diverged", "no", final=True))
    with pytest.raises(Diverged) as parted:
        await outcome(meeting)
    assert (parted.value.here, parted.value.points) == (9, ((7, 1), (3, 2)))


@pytest.mark.parametrize(
    ("frames", "last"),
    [
        ([Trouble("x")], "trouble"),
        ([Challenge("theirs", "r"), Challenge("more", "r")], "challenge"),
        ([JoinPending("wait")], "hold"),
        ([Challenge("theirs", "r"), JoinPending("wait"), JoinPending("wait on")], "hold"),
        ([WELCOME], "welcome"),
        ([ForkPoints(()), FrameRefused("diverged", "no")], "points"),
    ],
)
async def test_what_is_no_answer_ends_the_visit(frames: list[ServerFrame], last: str) -> None:
    visit = Visit()
    meeting = visit.begin()
    await visit.answer(*frames)
    with pytest.raises(ConnectionLost, match=f"the room sent {last}"):
        await outcome(meeting)
    assert len(visit.held) <= 1


async def test_hangup_keeps_refusal() -> None:
    visit = Visit()
    refusal = FrameRefused("suspended", "the room is closed", final=True)
    await visit.answer(refusal)
    await visit.room.close()
    assert await outcome(visit.begin()) == refusal


@pytest.mark.parametrize(
    ("change", "code"),
    [({"room": "other"}, "wrong_room"), ({"name": "carol"}, "name_taken")],
)
@pytest.mark.parametrize("room", ["r", ""])
async def test_welcome_must_match_name_and_room(
    change: dict[str, Any], code: str, room: str
) -> None:
    visit = Visit(room=room)
    meeting = visit.begin()
    await visit.hear()
    await visit.answer(Challenge("theirs", "r"))
    await visit.hear()
    await visit.answer(msgspec.structs.replace(WELCOME, **change))
    with pytest.raises(RoomRefused) as caught:
        await outcome(meeting)
    assert caught.value.code == code
