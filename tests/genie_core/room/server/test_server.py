import asyncio
import errno
import os
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest
from tests.genie_core.room.doubles import (
    FailingSink,
    MemorySink,
    local_connector,
    participant,
    room_server,
)
from tests.genie_core.room.wire import (
    greet,
    holds,
    raw_websocket,
    receive,
    receive_until,
    send,
    stalled_peer,
    upgrade,
)
from tests.limits import scaled
from websockets.exceptions import ConnectionClosed, InvalidStatus

from genie_core.room.client.model import ConnectionState, Severity
from genie_core.room.protocol.errors import AddressInUse, ConnectionLost, InvalidName, NotLoopback
from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    Event,
    HostStarted,
    MemberLeft,
    MemberModerated,
    MessagePosted,
    RoomSuspended,
)
from genie_core.room.protocol.frames import (
    AnswerDelta,
    ClientFrame,
    FrameRefused,
    Hello,
    Moderate,
    PostMessage,
    ServerFrame,
    Typing,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.identity import Identity
from genie_core.room.server import quotas
from genie_core.room.server.log import Superseded
from genie_core.room.server.peers import Peer
from genie_core.room.server.quotas import BYTE_MS, FRAME_MS, Quotas
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.websocket import ws_connector

DEADLINE = scaled(60.0)
FAST = Limits(burst=100_000, per_second=100_000.0, volume=10**9)


async def test_people_talk_and_engine_answers() -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        hosting = participant(local_connector(server), "hana", token=server.host_token, engine=True)
        async with hosting as host, participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.online()
            bob.client.messages.send("hello")
            await host.seen.until(lambda r: r.texts == ["hello"])
            await bob.seen.until(lambda r: r.texts == ["hello"] and not r.unsent)
            seq = host.seen.state.head
            host.client.publish(DecisionMade(seq, "delegate", query="hi"))
            await host.seen.until(lambda r: isinstance(r.events[-1].body, DecisionMade))
            host.client.queue.delta(seq, "hi ")
            await bob.seen.until(lambda r: r.deltas == [(seq, "hi ")])
            bob.client.queue.stop(seq)
            await host.seen.until(lambda r: r.stopping == [(seq, "bob")])
            bob.client.queue.typing()
            await host.seen.until(lambda r: r.typing == ["bob"])
            host.client.publish(AnswerPosted(seq, "hi bob"))
            await bob.seen.until(lambda r: isinstance(r.events[-1].body, AnswerPosted))
            assert bob.seen.events == host.seen.events
            assert host.seen.welcomes[0].role == "host"
            assert server.state.head == host.seen.state.head


async def test_leave_and_suspend_end_cleanly() -> None:
    sink = MemorySink()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        hosting = participant(local_connector(server), "hana", token=server.host_token)
        async with (
            hosting as host,
            participant(ws_connector(str(address)), "bob") as bob,
            participant(ws_connector(str(address)), "alice") as alice,
        ):
            for each in (host, bob, alice):
                await each.seen.online()
            await bob.client.bye("lunch")
            left = MemberLeft("bob", "lunch", bob.client.device)
            await host.seen.until(lambda r: left in [e.body for e in r.events])
            assert bob.seen.links[-1].state is ConnectionState.CLOSED
            assert await server.suspend("good night")
            for each in (host, alice):
                # They look again and again whether the room is back.
                await each.seen.until(lambda r: r.links[-1].state is ConnectionState.RETRYING)
                assert each.seen.events[-1].body == RoomSuspended("good night")
                assert any("suspended the room" in link.detail for link in each.seen.links)
                assert each.refusal is None
    assert sink.events[-1].body == RoomSuspended("good night")


async def test_a_resumed_room_goes_on_where_it_was() -> None:
    sink, me = MemorySink(), Identity.generate()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob", identity=me) as bob:
            bob.client.messages.send("before")
            await bob.seen.until(lambda r: r.texts == ["before"])
            past = bob.seen.events
        await server.suspend()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob", past=past, identity=me) as bob:
            bob.client.messages.send("after")
            await bob.seen.until(lambda r: r.texts == ["after"])
            assert bob.seen.events[0].seq == len(past) + 1
    assert [event.seq for event in sink.events] == list(range(1, len(sink.events) + 1))
    assert sum(isinstance(event.body, HostStarted) for event in sink.events) == 2


async def test_impossible_host_name_is_refused() -> None:
    server = room_server(host="genie")
    with pytest.raises(InvalidName):
        await server.start()
    await server.close()


# -- where it listens


async def test_it_listens_on_this_machine_only() -> None:
    async with room_server() as server:
        for host in ("0.0.0.0", "192.0.2.1", "::"):  # noqa: S104 - they are to be refused
            with pytest.raises(NotLoopback):
                await server.listen(host, 0)


async def test_public_socket_is_refused() -> None:
    async with room_server() as server:
        with socket.create_server(("", 0)) as sock, pytest.raises(NotLoopback):
            await server.listen(sock=sock)


async def test_a_bound_socket_can_be_handed_over() -> None:
    async with room_server() as server:
        sock = socket.create_server(("127.0.0.1", 0))
        address = await server.listen(sock=sock)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.online()


async def test_a_taken_port_is_an_error_that_names_it() -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        with pytest.raises(AddressInUse, match=str(address.port)):
            await server.listen(port=address.port)


# -- a disk that fails


async def test_full_disk_loses_no_message() -> None:
    sink = FailingSink()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.online()
            await bob.seen.until(lambda r: "bob" in r.state.people)
            sink.broken = True
            bob.client.messages.send("one")
            bob.client.messages.send("two")
            await bob.seen.until(lambda r: r.notices)
            severity, text = bob.seen.notices[0]
            assert severity is Severity.ERROR
            assert "No space left on device" in text
            assert bob.seen.texts == []
            assert len(bob.client.messages.pending) == 2
            sink.broken = False
            await bob.seen.until(lambda r: r.texts == ["one", "two"] and not r.unsent)
            await bob.seen.until(lambda r: "can write" in r.notices[-1][1])
    assert [e.body.text for e in sink.events if isinstance(e.body, MessagePosted)] == ["one", "two"]


async def test_full_disk_ban_holds_until_written() -> None:
    sink, mallory = FailingSink(), Identity.generate()
    async with room_server(sink) as server:
        address = str(await server.listen(port=0))
        hosting = participant(local_connector(server), "hana", token=server.host_token)
        bad = participant(ws_connector(address), "mallory", identity=mallory)
        async with hosting as host, bad as first:
            await first.seen.online()
            await host.seen.until(lambda r: "mallory" in r.state.people)
            sink.broken = True
            assert host.client.queue.ask(Moderate("ban", "mallory"))
            await first.seen.until(lambda r: r.links[-1].state is ConnectionState.CLOSED)
            assert first.refusal is not None
            assert first.refusal.code == "banned"
            await host.seen.until(
                lambda r: any("/ban mallory holds" in text for _, text in r.notices)
            )
            async with participant(ws_connector(address), "mallory", identity=mallory) as again:
                await again.seen.until(
                    lambda r: r.links and r.links[-1].state is ConnectionState.CLOSED
                )
                assert again.refusal is not None
                assert again.refusal.code == "banned"
            assert not any(isinstance(event.body, MemberModerated) for event in sink.events)
            sink.broken = False
            await host.seen.until(lambda r: "mallory" in r.state.banned)
    assert sum(isinstance(event.body, MemberModerated) for event in sink.events) == 1


async def test_suspend_on_full_disk_ends_in_time() -> None:
    sink = FailingSink()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.online()
            sink.broken = True
            async with asyncio.timeout(DEADLINE):
                assert not await server.suspend(grace=0.1)


class RefusingSink(FailingSink):
    """A log that takes nothing from some moment on."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def append(self, events: Sequence[Event]) -> None:
        try:
            await super().append(events)
        except OSError:
            raise self.error from None


REFUSALS = {
    "read-only": OSError(errno.EROFS, "Read-only file system"),
    "not ours": PermissionError(errno.EACCES, "Permission denied"),
    "bad descriptor": OSError(errno.EBADF, "Bad file descriptor"),
    "closed": ValueError("the log is closed"),
}


@pytest.mark.parametrize("how", REFUSALS)
async def test_refusing_log_is_asked_once(how: str) -> None:
    sink = RefusingSink(REFUSALS[how])
    reason = getattr(sink.error, "strerror", None) or str(sink.error)
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.until(lambda r: "bob" in r.state.people)
            written = sink.attempts
            sink.broken = True
            bob.client.messages.send("hello?")
            await bob.seen.until(lambda r: r.notices)
            severity, text = bob.seen.notices[0]
            assert severity is Severity.ERROR
            assert f"can't be written any more: {reason}" in text
            async with participant(ws_connector(str(address)), "eve") as eve:
                await eve.seen.until(
                    lambda r: r.links and r.links[-1].state is ConnectionState.CLOSED
                )
                assert eve.refusal is not None
                assert (eve.refusal.code, str(eve.refusal)) == ("disk", text)
            assert sink.attempts == written + 1
            async with asyncio.timeout(DEADLINE):
                assert not await server.suspend(grace=3600)
            assert len(bob.client.messages.pending) == 1


async def test_superseded_log_sends_members_away() -> None:
    sink = RefusingSink(Superseded(7))
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.until(lambda r: "bob" in r.state.people)
            written = sink.attempts
            sink.broken = True
            bob.client.messages.send("hello?")
            await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.RETRYING)
            async with asyncio.timeout(DEADLINE):
                await server.superseded.wait()
                assert not await server.suspend(grace=3600)
            assert sink.attempts == written + 1
            assert len(bob.client.messages.pending) == 1
            assert bob.refusal is None
            assert not bob.seen.notices


@pytest.mark.parametrize("broken", [False, True])
async def test_suspending_closed_room_is_noop(*, broken: bool) -> None:
    sink = FailingSink()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.until(lambda r: "bob" in r.state.people)
            sink.broken = broken
            bob.client.messages.send("hello")
            await bob.seen.until(lambda r: r.notices if broken else not r.unsent and r.texts)
            await server.close()
            head = server.state.head
            async with asyncio.timeout(DEADLINE):
                assert await server.suspend(grace=3600) is not broken
            assert server.state.head == head


async def test_closing_ends_suspend() -> None:
    sink = FailingSink()
    async with room_server(sink) as server:
        sink.broken = True
        suspending = asyncio.create_task(server.suspend(grace=3600))
        await asyncio.sleep(0)
        await server.close()
        async with asyncio.timeout(DEADLINE):
            assert not await suspending


async def test_a_writer_that_dies_is_heard_of(caplog: pytest.LogCaptureFixture) -> None:
    class Cancelled(MemorySink):
        async def append(self, events: Sequence[Event]) -> None:
            if any(isinstance(event.body, MessagePosted) for event in events):
                raise asyncio.CancelledError  # as from a task of its own that was cancelled
            await super().append(events)

    async with room_server(Cancelled()) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.until(lambda r: "bob" in r.state.people)
            bob.client.messages.send("hello?")
            await bob.seen.until(lambda r: r.notices)
            severity, text = bob.seen.notices[0]
            assert severity is Severity.ERROR
            assert "no longer writes" in text
            assert len(bob.client.messages.pending) == 1
            async with asyncio.timeout(DEADLINE):
                assert not await server.suspend(grace=3600)
    assert "the writer of the log ended" in caplog.text


# -- peers that behave badly


@pytest.mark.parametrize(
    "data", ["{", "[]", '{"type":"nope"}', "x" * 1000, '{"type":"say","id":1}', "[" * 5000]
)
async def test_invalid_frame_ends_own_connection(data: str) -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        async with (
            participant(ws_connector(str(address)), "bob") as bob,
            raw_websocket(address) as ws,
        ):
            await bob.seen.online()
            await greet(ws, "mallory")
            await ws.send(data)
            refusal = await receive_until(ws, lambda frame: isinstance(frame, FrameRefused))
            assert isinstance(refusal, FrameRefused)
            assert (refusal.code, refusal.final) == ("malformed", True)
            with pytest.raises(ConnectionClosed):
                await receive(ws)
            bob.client.messages.send("still here")
            await bob.seen.until(lambda r: r.texts == ["still here"])
            assert not bob.seen.state.people["mallory"].present


async def test_oversized_frame_names_limit() -> None:
    async with room_server(limits=Limits(frame_bytes=20_000)) as server:
        address = await server.listen(port=0)
        async with raw_websocket(address) as ws:
            await greet(ws, "mallory")
            await send(ws, PostMessage("1", "x" * 30_000))
            refusal = await receive_until(ws, lambda frame: isinstance(frame, FrameRefused))
            assert isinstance(refusal, FrameRefused)
            assert (refusal.code, refusal.final) == ("too_large", True)
            assert "20,000" in refusal.text
            with pytest.raises(ConnectionClosed):
                await receive(ws)


async def test_a_giant_frame_ends_that_connection_only() -> None:
    async with room_server(limits=Limits(frame_bytes=20_000)) as server:
        address = await server.listen(port=0)
        async with (
            participant(ws_connector(str(address)), "bob") as bob,
            raw_websocket(address) as ws,
        ):
            await greet(ws, "mallory")
            await ws.send("x" * 1_000_000)
            with pytest.raises(ConnectionClosed) as closed:
                await receive_until(ws, lambda _: False)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009
            bob.client.messages.send("still here")
            await bob.seen.until(lambda r: r.texts == ["still here"])


async def test_wrong_first_frame_is_refused() -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        for frame, code in (
            (Hello("zoe", version=1), "version"),
            (PostMessage("1", "x"), "out_of_state"),
        ):
            async with raw_websocket(address) as ws:
                await send(ws, frame)
                refusal = await receive(ws)
                assert isinstance(refusal, FrameRefused)
                assert (refusal.code, refusal.final) == (code, True)
                with pytest.raises(ConnectionClosed):
                    await receive(ws)


async def test_silence_instead_of_a_hello_is_ended() -> None:
    async with room_server(limits=Limits(handshake=0.05)) as server:
        address = await server.listen(port=0)
        async with raw_websocket(address) as ws:
            refusal = await receive(ws)
            assert isinstance(refusal, FrameRefused)
            assert "say who you are in time" in refusal.text
        sock = socket.create_connection(address)  # not even an upgrade
        with sock:
            sock.settimeout(DEADLINE)
            assert await asyncio.to_thread(sock.recv, 1000) == b""


async def test_web_pages_cannot_connect() -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        with pytest.raises(InvalidStatus) as refusal:
            async with raw_websocket(address, origin="https://example.org"):
                pass
        assert refusal.value.response.status_code == 403


async def test_random_bytes_harm_nobody() -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.online()
            loop = asyncio.get_running_loop()
            for n in range(20):
                sock, answer = await upgrade(address)
                assert answer.startswith(b"HTTP/1.1 101")
                with sock:
                    await loop.sock_sendall(sock, os.urandom(50 * (n + 1)))
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"\x16\x03\x01 not HTTP at all\r\n\r\n")
            await reader.read()
            writer.close()
            await writer.wait_closed()
            bob.client.messages.send("still here")
            await bob.seen.until(lambda r: r.texts == ["still here"])


async def test_stalled_peer_is_dropped() -> None:
    async with room_server(limits=FAST, stall_timeout=0.3) as server:
        address = await server.listen(port=0)
        async with (
            participant(ws_connector(str(address)), "bob") as bob,
            participant(ws_connector(str(address)), "alice") as alice,
        ):
            await alice.seen.online()
            with await stalled_peer(address, "sleepy"):
                await alice.seen.until(lambda r: "sleepy" in r.state.people)
                for _ in range(600):
                    bob.client.messages.send("x" * 15_000)
                await alice.seen.until(lambda r: len(r.texts) == 600)
                await alice.seen.until(
                    lambda r: MemberLeft("sleepy", "too slow") in [e.body for e in r.events]
                )
            assert server.room.peers.counters.evicted == {"slow": 1}
            await bob.seen.until(lambda _: not bob.client.messages.pending)


async def test_a_flood_of_refused_frames_is_bounded() -> None:
    async with room_server(limits=Limits(replies=5)) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.online()
            async with raw_websocket(address) as ws:
                await greet(ws, "mallory")
                flood = [PostMessage(str(n), "x" * 20_000) for n in range(100_000)]
                with pytest.raises(ConnectionClosed):
                    await send(ws, *flood)
            await bob.seen.until(lambda r: not r.state.people["mallory"].present)
            bob.client.messages.send("still here")
            await bob.seen.until(lambda r: r.texts == ["still here"])


@pytest.mark.parametrize(("connections", "padding"), [(1, 0), (8, 0), (8, 16_000)])
async def test_flood_is_delayed_but_not_lost(
    monkeypatch: pytest.MonkeyPatch, connections: int, padding: int
) -> None:
    """What can be charged without a clock is all that is charged here."""
    monkeypatch.setattr(quotas, "MILLISECONDS", 3.0)
    monkeypatch.setattr(Quotas, "spend", lambda *_: None)
    at_once = 3.0 / (FRAME_MS + padding * BYTE_MS)
    now, sent = 1000.0, connections * (int(at_once) + connections + 1)
    sink, mallory = MemorySink(), Identity.generate()
    limits = Limits(terminals=8)
    async with (
        room_server(sink, limits=limits, clock=lambda: now) as server,
        AsyncExitStack() as on,
    ):
        address = await server.listen(port=0)
        bob = await on.enter_async_context(participant(ws_connector(str(address)), "bob"))
        floods = []
        for device in range(connections):
            ws = await on.enter_async_context(raw_websocket(address, max_queue=None))
            assert isinstance(await greet(ws, "mallory", mallory, device=f"d{device}"), Welcome)
            floods.append(ws)
        read, receive_frame = 0, server.room.receive

        def receive(peer: Peer, frame: ClientFrame, at: float) -> None:
            nonlocal read
            read += isinstance(frame, Typing)
            receive_frame(peer, frame, at)

        monkeypatch.setattr(server.room, "receive", receive)
        text = f'{{"type":"typing","padding":"{"x" * padding}"}}'
        for n in range(sent):
            await floods[n % connections].send(text)
        for n, ws in enumerate(floods):
            await send(ws, PostMessage(str(n), f"late {n}"))
        for n in range(5):
            bob.client.messages.send(f"on time {n}")
            await bob.seen.until(lambda r: len(r.texts) == n + 1)  # noqa: B023 - awaited
        assert read <= at_once + connections
        assert not any("late" in text for text in bob.seen.texts)
        late = {f"late {n}" for n in range(connections)}
        async with asyncio.timeout(scaled(60)):
            while read < sent or not late <= set(bob.seen.texts):
                now += 60.0
                await asyncio.sleep(0)


async def test_loopback_shares_join_limit() -> None:
    joins = 10
    async with room_server(limits=Limits(joins=joins)) as server:
        address = await server.listen(port=0)
        answers: list[type[ServerFrame]] = []
        for n in range(joins + 3):
            here = (f"127.0.0.{n + 1}", 0)  # all of them are this machine
            async with raw_websocket(address, local_addr=here) as ws:
                answers.append(type(await greet(ws, f"name{n}")))
        assert answers[:joins] == [Welcome] * joins
        assert answers[-1] is FrameRefused
        async with participant(local_connector(server), "hana", token=server.host_token) as host:
            await host.seen.online()


async def test_nobody_speaks_for_another() -> None:
    sink = MemorySink()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with raw_websocket(address) as ws:
            assert isinstance(await greet(ws, "mallory"), Welcome)
            await ws.send(
                '{"type":"say","id":"1","text":"forged","by":"bob","seq":1,"at":0,"handler":"bob"}'
            )
            await receive_until(ws, holds("forged"))
        said = next(e for e in sink.events if isinstance(e.body, MessagePosted))
        assert said.by == "mallory"
        assert isinstance(said.body, MessagePosted)
        assert said.body.handler == ""


async def test_a_late_joiner_sees_what_everybody_sees() -> None:
    sink = MemorySink()
    async with room_server(sink, limits=FAST) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            for n in range(900):
                bob.client.messages.send(f"message {n}")
            await bob.seen.until(lambda r: len(r.texts) == 900)
            async with participant(ws_connector(str(address)), "late") as late:
                await late.seen.until(lambda r: "late" in r.state.people)
                assert late.seen.events == sink.events
                replayed = RoomState()
                for event in sink.events:
                    replayed.apply(event)
                assert late.seen.state.people == replayed.people


async def test_deltas_never_reach_the_log() -> None:
    sink = MemorySink()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        hosting = participant(local_connector(server), "hana", token=server.host_token, engine=True)
        async with hosting as host, raw_websocket(address) as ws:
            await greet(ws, "bob")
            await send(ws, PostMessage("1", "go"))
            await host.seen.until(lambda r: r.texts == ["go"])
            host.client.queue.delta(host.seen.state.head, "streamed")
            await receive_until(ws, lambda frame: isinstance(frame, AnswerDelta))
    assert "streamed" not in repr(sink.events)


async def test_early_local_links_delay_no_close() -> None:
    async with room_server() as server:
        await server.listen(port=0)
        closing = asyncio.create_task(server.close())
        early = server.connect_local()
        async with asyncio.timeout(scaled(60)):
            await closing
        for link in (early, server.connect_local()):
            with pytest.raises(ConnectionLost):
                await link.receive()


async def test_program_measure_ends_on_disk() -> None:
    sink = FailingSink()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.online()
            assert await server.administer(Moderate("mute", "bob")) == ""
            assert isinstance(sink.events[-1].body, MemberModerated)
            sink.broken = True
            why = await server.administer(Moderate("kick", "bob"), within=0.1)
            assert "/kick bob holds while this room is open" in why
            assert (
                await server.administer(Moderate("kick", "zoe"))
                == "no one called zoe was ever here"
            )
            sink.broken = False


async def test_stopped_server_records_no_leave() -> None:
    sink = MemorySink()
    async with AsyncExitStack() as visits:
        async with room_server(sink) as server:
            address = await server.listen(port=0)
            connector = ws_connector(str(address))
            bob = await visits.enter_async_context(participant(connector, "bob"))
            await bob.seen.online()
            bob.client.messages.send("before")
            await bob.seen.until(lambda r: r.texts)
            assert await server.stop()
            await bob.seen.until(lambda r: r.links[-1].state is not ConnectionState.ONLINE)
        assert not [event for event in sink.events if isinstance(event.body, MemberLeft)]
        bob.client.messages.send("meanwhile")
        async with room_server(sink) as again:
            await again.listen(port=address.port)
            await bob.seen.until(lambda r: r.texts == ["before", "meanwhile"])


async def test_stop_on_bad_disk_keeps_messages() -> None:
    sink = FailingSink()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            await bob.seen.online()
            sink.broken = True
            bob.client.messages.send("not written")
            await bob.seen.until(lambda r: r.notices)
            assert not await server.stop(grace=0.01)
            await bob.seen.until(lambda r: r.links[-1].state is not ConnectionState.ONLINE)
            assert [message.text for message in bob.client.messages.pending] == ["not written"]
            assert bob.seen.texts == []
