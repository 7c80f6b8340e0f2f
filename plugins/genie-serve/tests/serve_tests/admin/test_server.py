"""How a service answers administrators, and those who are none."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeAlias

import pytest
from msgspec.structs import replace

from genie_core.room.protocol.errors import ConnectionLost
from genie_core.room.protocol.frames import (
    AdminAnswer,
    AdminHello,
    AdminRequest,
    Bye,
    Challenge,
    ClientFrame,
    FrameRefused,
    Prove,
    ServerFrame,
)
from genie_core.room.security.challenge import Transcript, new_nonce
from genie_core.room.security.identity import Identity
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.websocket import tls_connect
from genie_serve.admin.client import ask_here, ask_remote, holding_rooms
from genie_serve.admin.errors import AdminRefused, NoService
from genie_serve.admin.remotes import Remote
from genie_serve.admin.requests import (
    ArchiveRoom,
    CreateRoom,
    DeleteRoom,
    Failed,
    GetStatus,
    HoldRooms,
    ListRooms,
    RoomChanged,
    RoomList,
    Status,
    decode_answer,
    encode_request,
)
from genie_serve.admin.server import MOST_CONNECTIONS, NO_ADMIN, TOO_LARGE, TOO_SLOW
from genie_serve.admin.socket_file import connected_socket
from serve_tests.admin.administering import (
    LOCAL,
    Administered,
    administering,
    joining,
    places,
)

ADMIN = Identity.generate()
Sign: TypeAlias = Callable[[str], bytes]
"""Answers a challenge's nonce."""

CONFIG = replace(LOCAL, admins=(ADMIN.key,))


class Line:
    """A connection to the socket that says what it likes."""

    def __init__(self, running: Administered) -> None:
        self._sock = connected_socket(running.service.locations)
        self._sock.settimeout(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()

    async def send(self, data: bytes) -> None:
        await asyncio.to_thread(self._sock.sendall, data)

    async def answer(self) -> str:
        """The text of the failure that the service answers with; "" if it hangs up."""
        data = await asyncio.to_thread(self._sock.makefile("rb").readline)
        if not data:
            return ""
        answer = decode_answer(data)
        return answer.text if isinstance(answer, Failed) else type(answer).__name__

    async def ended(self) -> bool:
        try:
            return not await asyncio.to_thread(self._sock.recv, 1)
        except ConnectionResetError:
            return True


# -- on this machine


async def test_several_requests_go_over_one_connection(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        with Line(running) as line:
            await line.send(
                encode_request(GetStatus()) + b"\n" + encode_request(ListRooms()) + b"\n"
            )
            data = b""
            while data.count(b"\n") < 2:
                data += await asyncio.to_thread(line._sock.recv, 65_536)
            answers = [type(decode_answer(each)) for each in data.splitlines()]
            assert answers == [Status, RoomList]


async def test_a_huge_request_ends_before_it_is_read(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        with Line(running) as line:
            with pytest.raises(BrokenPipeError):
                await line.send(b"x" * 100 * 1024 * 1024)
            assert await line.answer() == TOO_LARGE
        assert isinstance(await running.ask(GetStatus()), Status)


async def test_unfinished_line_times_out(tmp_path: Path) -> None:
    async with administering(tmp_path, patience=0.1) as running:
        with Line(running) as line:
            await line.send(b'{"request":')
            assert await line.answer() == TOO_SLOW
            assert await line.ended()


async def test_nonsense_is_answered_in_one_line(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        for data in (b"GET / HTTP/1.1\n", b"\xff\n", b"[" * 9000 + b"\n", b"\n"):
            with Line(running) as line:
                await line.send(data)
                assert "the request was not understood" in await line.answer()
                assert await line.ended()


async def test_excess_connections_are_refused(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        lines = [Line(running) for _ in range(MOST_CONNECTIONS)]
        for each in lines:
            await each.send(encode_request(GetStatus()) + b"\n")
            assert await each.answer() == "Status"
        with Line(running) as another:
            assert await another.answer() == "too many administrators are connected; try again"
        for each in lines:
            with each:
                pass
        assert isinstance(await running.ask(GetStatus()), Status)


async def test_another_users_process_hears_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_serve.admin.server.may_administer", lambda _: False)
    async with administering(tmp_path) as running:
        with pytest.raises(NoService, match=r"hung up|reset|Broken pipe"):
            await running.ask(CreateRoom("Garden"))
        assert not running.service.rooms


async def test_backup_blocks_room_deletion(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        made = await running.ask(CreateRoom("Garden"))
        assert isinstance(made, RoomChanged)
        await running.ask(ArchiveRoom(made.id))
        with Line(running) as line:
            await line.send(encode_request(HoldRooms()) + b"\n")
            assert await line.answer() == "Done"
            with pytest.raises(AdminRefused, match="a backup of the rooms is being written"):
                await running.ask(DeleteRoom(made.id, "Garden"))
        assert (tmp_path / "data/sessions" / made.id).exists()


def test_holding_needs_no_service(tmp_path: Path) -> None:
    with holding_rooms(places(tmp_path)) as runs:
        assert not runs
    with pytest.raises(NoService):
        ask_here(places(tmp_path), GetStatus())


async def test_the_socket_is_gone_after_the_service(tmp_path: Path) -> None:
    async with administering(tmp_path) as running:
        line = Line(running)
        locations = running.service.locations
        assert (locations.data / "admin/socket").exists()
    assert not (locations.data / "admin/socket").exists()
    with line:
        assert await line.ended()


# -- over the service's port


async def test_remote_admin_has_same_requests(tmp_path: Path) -> None:
    async with administering(tmp_path, CONFIG) as running:
        made = await ask_remote(running.remote, ADMIN, CreateRoom("Garden"))
        assert isinstance(made, RoomChanged)
        listed = await ask_remote(running.remote, ADMIN, ListRooms())
        assert isinstance(listed, RoomList)
        assert [each.title for each in listed.rooms] == ["Garden"]
        with pytest.raises(AdminRefused, match="there is no room"):
            await ask_remote(running.remote, ADMIN, ArchiveRoom("x"))
        with pytest.raises(AdminRefused, match="on the service's machine"):
            await ask_remote(running.remote, ADMIN, HoldRooms())


async def test_another_machine_learns_nothing(tmp_path: Path) -> None:
    async with administering(tmp_path, CONFIG) as running:
        with pytest.raises(NoService, match=r"another machine does.*nothing was sent"):
            await ask_remote(Remote(running.remote.address, "k" * 43), ADMIN, GetStatus())


async def talk(running: Administered, *frames: ClientFrame) -> list[ServerFrame]:
    """All that is answered to these frames, sent at once."""
    link = await tls_connect(running.service.address, running.remote.pin)
    await link.send(frames)
    return await rest(link)


async def rest(link: ClientConnection) -> list[ServerFrame]:
    answers: list[ServerFrame] = []
    try:
        while True:
            answers.append(await link.receive())
    except ConnectionLost:
        await link.close()
    return answers


async def proven(running: Administered, identity: Identity, key: str = "") -> list[ServerFrame]:
    """Answer the challenge properly, perhaps under another key; return all but the challenge."""
    link = await tls_connect(running.service.address, running.remote.pin)
    nonce = new_nonce()
    await link.send([AdminHello(key or identity.key, nonce)])
    challenge = await link.receive()
    assert isinstance(challenge, Challenge)
    meeting = Transcript("", "", key or identity.key, nonce, challenge.nonce, running.remote.pin)
    proof = Prove(identity.sign(meeting.encode_for_admin()))
    await link.send([proof, AdminRequest(encode_request(CreateRoom("Garden")))])
    return await rest(link)


async def test_wrong_keys_get_same_refusal(
    tmp_path: Path,
) -> None:
    other = Identity.generate()
    refused: list[ServerFrame] = [FrameRefused("unproven", NO_ADMIN, final=True)]
    async with administering(tmp_path, CONFIG) as running:
        assert await proven(running, other) == refused
        assert await proven(running, other, key=ADMIN.key) == refused
        assert await proven(running, other, key="no key") == refused
        assert not running.service.rooms
    async with administering(tmp_path) as running:
        assert await proven(running, ADMIN) == refused
        assert not running.service.rooms


async def test_proof_resists_replay_and_relay(tmp_path: Path) -> None:
    refused = FrameRefused("unproven", NO_ADMIN, final=True)
    async with administering(tmp_path, CONFIG) as running:
        request = AdminRequest(encode_request(CreateRoom("Garden")))
        nonce, pin = new_nonce(), running.remote.pin

        async def attempt(sign: Sign) -> ServerFrame:
            link = await tls_connect(running.service.address, pin)
            await link.send([AdminHello(ADMIN.key, nonce)])
            challenge = await link.receive()
            assert isinstance(challenge, Challenge)
            await link.send([Prove(sign(challenge.nonce)), request])
            try:
                return await link.receive()
            finally:
                await link.close()

        def meeting(theirs: str, channel: str = pin) -> Transcript:
            return Transcript("", "", ADMIN.key, nonce, theirs, channel)

        earlier: list[bytes] = []

        def honest(theirs: str) -> bytes:
            earlier.append(ADMIN.sign(meeting(theirs).encode_for_admin()))
            return earlier[-1]

        answer = await attempt(honest)
        assert isinstance(answer, AdminAnswer)
        assert len(running.service.rooms) == 1
        tricks: list[Sign] = [
            lambda theirs: earlier[0],
            lambda theirs: ADMIN.sign(meeting(theirs, "k" * 43).encode_for_admin()),
            lambda theirs: ADMIN.sign(meeting(theirs).encode()),
            lambda theirs: ADMIN.sign(meeting(theirs).encode_for_host()),
            lambda theirs: b"",
        ]
        for trick in tricks:
            assert await attempt(trick) == refused
        assert len(running.service.rooms) == 1


async def test_frames_out_of_order_do_nothing(tmp_path: Path) -> None:
    async with administering(tmp_path, CONFIG) as running:
        request = AdminRequest(encode_request(CreateRoom("Garden")))
        hello = AdminHello(ADMIN.key, new_nonce())
        for frames in (
            (request,),
            (hello, request),
            (hello, hello),
            (hello, Bye()),
            (AdminHello(ADMIN.key, ""), Prove(b"")),
            (AdminHello(ADMIN.key, "x" * 10_000), Prove(b"")),
        ):
            answers = await talk(running, *frames)
            assert isinstance(answers[-1], FrameRefused)
        assert not running.service.rooms


async def test_a_member_can_ask_for_nothing(tmp_path: Path) -> None:
    async with administering(tmp_path, CONFIG) as running:
        room = await running.service.create("Garden")
        async with joining(room.invite(), "ann", identity=ADMIN) as ann:
            await ann.seen.online()
            assert ann.client.queue.ask(AdminRequest(encode_request(CreateRoom("Other"))))
            await ann.seen.until(lambda seen: seen.links[-1].state.value != "online")
        assert len(running.service.rooms) == 1


async def test_remote_request_is_bounded(tmp_path: Path) -> None:
    async with administering(tmp_path, CONFIG) as running:
        link = await tls_connect(running.service.address, running.remote.pin)
        nonce = new_nonce()
        await link.send([AdminHello(ADMIN.key, nonce)])
        challenge = await link.receive()
        assert isinstance(challenge, Challenge)
        meeting = Transcript("", "", ADMIN.key, nonce, challenge.nonce, running.remote.pin)
        await link.send([Prove(ADMIN.sign(meeting.encode_for_admin()))])
        for data in (b"", b"{}", b"x" * 100_000):
            await link.send([AdminRequest(data)])
            answer = await link.receive()
            assert isinstance(answer, AdminAnswer)
            assert isinstance(decode_answer(answer.answer), Failed)
        await link.send([AdminRequest(b"x" * 1024 * 1024)])
        assert await rest(link) == []
        assert isinstance(await running.ask(GetStatus()), Status)


async def test_silent_admin_is_disconnected(tmp_path: Path) -> None:
    config = replace(CONFIG, room=replace(CONFIG.room, handshake=0.2))
    async with administering(tmp_path, config) as running:
        assert [type(each) for each in await talk(running, AdminHello(ADMIN.key, "n"))] == [
            Challenge
        ]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is an error")
async def test_a_long_path_is_no_obstacle(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 100) / ("y" * 100)
    async with administering(home) as running:
        assert isinstance(await running.ask(GetStatus()), Status)
        assert (home / "data/admin/socket").is_socket()
    assert not (home / "data/admin/socket").exists()
