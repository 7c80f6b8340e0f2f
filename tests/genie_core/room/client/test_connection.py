import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.clock import pass_at_once
from tests.genie_core.room.doubles import (
    Guest,
    MemorySink,
    Recorder,
    connection,
    local_connector,
    participant,
    room_server,
)
from tests.genie_core.room.wire import Proxy
from tests.limits import scaled
from tests.ports import free_port
from websockets.asyncio.server import ServerConnection, serve

from genie_core.room.client.connection import STEADY, RoomConnection
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import ConnectionState, ConnectionStatus, Severity
from genie_core.room.client.receiver import LONGEST_GRACE
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.codec import encode, event_mark
from genie_core.room.protocol.errors import (
    ConnectionLost,
    Contradiction,
    Diverged,
    FrameError,
    NotLoopback,
    QuietUnknown,
    RoomRefused,
    TooLong,
    Unreachable,
)
from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    Event,
    HostStarted,
    MemberLeft,
    MemberModerated,
    MessagePosted,
    RecoveredEvent,
)
from genie_core.room.protocol.frames import (
    KNOWN,
    AnswerJoinRequest,
    Challenge,
    Entries,
    FrameRefused,
    Hello,
    Moderate,
    OfferHosting,
    PostMessage,
    Prove,
    ShareArguments,
    Suspending,
    Trouble,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.identity import Identity, words
from genie_core.room.state.hosting import Claim
from genie_core.room.transport.connection import ClientConnection, PeerConnection, memory_pair
from genie_core.room.transport.dialer import Backoff, Dialer, Endpoint
from genie_core.room.transport.websocket import ws_connector

DEADLINE = scaled(60.0)
FAST = Limits(burst=100_000, per_second=100_000.0, volume=10**9)


async def run(address: str, name: str = "bob", **options: Any) -> None:
    client = connection(ws_connector(address), Recorder(), name, **options)
    async with asyncio.timeout(DEADLINE):
        await client.run()


async def test_broken_connections_lose_nothing() -> None:
    sink = MemorySink()
    async with room_server(sink, limits=FAST) as server:
        proxy = Proxy(await server.listen(port=0))
        async with proxy.running() as through:
            hosting = participant(
                local_connector(server), "hana", token=server.host_token, engine=True
            )
            async with hosting as host, participant(ws_connector(through), "bob") as bob:
                await bob.seen.online()
                cutting = asyncio.create_task(cut_often(proxy, host, 20))
                said: list[str] = []
                async with asyncio.timeout(DEADLINE):
                    while not cutting.done():
                        said.append(f"message {len(said)}")
                        bob.client.messages.send(said[-1])
                        await asyncio.sleep(random.random() * 0.004)
                await cutting
                await bob.seen.until(lambda r: not bob.client.messages.pending)
                await host.seen.until(lambda r: len(r.texts) == len(said))
    assert proxy.accepted >= 20
    assert bob.seen.texts == host.seen.texts == said
    assert [event.seq for event in bob.seen.events] == list(range(1, len(bob.seen.events) + 1))
    assert bob.seen.events == sink.events[: len(bob.seen.events)]


async def test_history_is_bounded_by_space() -> None:
    sink, space = MemorySink(), asyncio.Event()
    async with (
        room_server(sink, limits=FAST) as server,
        participant(local_connector(server), "hana", token=server.host_token) as host,
    ):
        for n in range(5_000):
            host.client.messages.send(f"message {n}")
            if n % 50 == 0:
                await host.seen.until(lambda r, n=n: len(r.texts) >= n)  # type: ignore[misc] # mypy can't infer a lambda with a default
        await host.seen.until(lambda r: len(r.texts) == 5_000)

        async def wait_for_space() -> None:
            if bob.seen.events:
                await space.wait()

        joining = participant(local_connector(server), "bob", space=wait_for_space)
        async with joining as bob:
            await bob.seen.until(lambda r: len(r.events) > 0)
            for _ in range(1_000):
                await asyncio.sleep(0)
            first = len(bob.seen.events)
            assert first < 5_000
            space.set()
            await bob.seen.until(lambda r: len(r.texts) == 5_000)


async def cut_often(proxy: Proxy, host: Guest, times: int) -> None:
    """Cut as soon as more has arrived since the last cut, over another connection."""
    for n in range(times):
        seen = len(host.seen.texts)
        await host.seen.until(lambda r, n=n, seen=seen: len(r.texts) > seen and proxy.accepted > n)  # type: ignore[misc] # mypy can't infer a lambda with a default
        proxy.cut()


async def test_reports_keep_order_when_cut() -> None:
    sink = MemorySink()
    async with room_server(sink, limits=FAST) as server:
        proxy = Proxy(await server.listen(port=0))
        async with proxy.running() as through:
            joining = participant(ws_connector(through), "alice", engine=True)
            async with joining as alice:
                await alice.seen.online()
                for n in range(30):
                    alice.client.messages.send(f"question {n}")
                    await alice.seen.until(lambda r, n=n: len(r.texts) == n + 1)  # type: ignore[misc] # mypy can't infer a lambda with a default
                    seq = max(alice.seen.state.threads)
                    alice.client.publish(DecisionMade(seq, "delegate", query="q"))
                    alice.client.publish(AnswerPosted(seq, f"answer {n}"))
                    if n % 3 == 0:
                        proxy.cut()
                await alice.seen.until(
                    lambda r: sum(isinstance(e.body, AnswerPosted) for e in r.events) == 30
                )
    answers = [e.body.text for e in sink.events if isinstance(e.body, AnswerPosted)]
    assert answers == [f"answer {n}" for n in range(30)]
    assert sum(isinstance(e.body, DecisionMade) for e in sink.events) == 30


async def test_offline_message_is_sent_on_return() -> None:
    sink = MemorySink()
    port = free_port()
    async with room_server(sink) as server:
        await server.listen(port=port)
        joining = participant(ws_connector(f"127.0.0.1:{port}"), "bob")
        async with joining as bob:
            await bob.seen.online()
            await bob.seen.until(lambda r: "bob" in r.state.people)
            await server.close()
            await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.RETRYING)
            bob.client.messages.send("are you there?")
            assert [unsent.text for unsent in bob.seen.unsent] == ["are you there?"]
            assert bob.seen.links[-1].retry_in is not None
            async with room_server(sink) as again:
                await again.listen(port=port)
                await bob.seen.until(lambda r: r.texts == ["are you there?"] and not r.unsent)
    assert sum(isinstance(event.body, MessagePosted) for event in sink.events) == 1


async def test_impatient_first_failure_is_error() -> None:
    port = free_port()
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port}: nothing listens there"):
        await run(f"127.0.0.1:{port}", patient=False)
    async with participant(ws_connector(f"127.0.0.1:{port}"), "bob") as bob:
        await bob.seen.until(
            lambda r: sum(s.state is ConnectionState.RETRYING for s in r.links) >= 2
        )
        async with room_server() as server:
            await server.listen(port=port)
            await bob.seen.online()


async def test_non_room_is_reported() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        await writer.wait_closed()

    for behaviour in (answer, hang_up):
        async with await asyncio.start_server(behaviour, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(Unreachable, match="no room"):
                await run(f"127.0.0.1:{port}", patient=False)


async def test_remote_room_is_refused_early() -> None:
    with pytest.raises(NotLoopback, match=r"192\.0\.2\.1:7654"):
        await run("192.0.2.1")


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("hana", {}, "name_taken"),
        ("genie", {}, "name_invalid"),
        ("bob", {"room": "another"}, "wrong_room"),
    ],
)
async def test_a_refusal_ends_the_attempts(name: str, options: dict[str, str], code: str) -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        with pytest.raises(RoomRefused) as refusal:
            await run(str(address), name, **options)
        assert refusal.value.code == code


async def test_temporary_refusal_is_error() -> None:
    async with room_server(limits=Limits(joins=1)) as server:
        address = str(await server.listen(port=0))
        async with participant(ws_connector(address), "alice") as alice:
            await alice.seen.online()
            with pytest.raises(ConnectionLost, match="too many people come in at once"):
                await run(address, patient=False)


async def test_returning_terminal_replaces_old() -> None:
    identity = Identity.generate()
    async with room_server() as server:
        address = str(await server.listen(port=0))
        here: dict[str, Any] = {"identity": identity, "device": "laptop"}
        async with participant(ws_connector(address), "bob", **here) as first:
            await first.seen.online()
            async with participant(ws_connector(address), "bob", **here) as second:
                await second.seen.online()
                await first.seen.until(lambda r: r.links[-1].state is ConnectionState.CLOSED)
                assert first.refusal is not None
                assert first.refusal.code == "replaced"
                second.client.messages.send("it is still me")
                await second.seen.until(lambda r: r.texts == ["it is still me"])


async def test_other_key_cannot_take_name() -> None:
    async with room_server() as server:
        address = str(await server.listen(port=0))
        async with participant(ws_connector(address), "bob") as bob:
            await bob.seen.online()
            await bob.client.bye()
        with pytest.raises(RoomRefused, match="belongs to another key") as refusal:
            await run(address, "Bob")
        assert refusal.value.code == "name_taken"


async def test_saying_goodbye_sends_what_is_left_first() -> None:
    sink = MemorySink()
    async with room_server(sink) as server:
        address = str(await server.listen(port=0))
        async with participant(ws_connector(address), "bob") as bob:
            await bob.seen.online()
            bob.client.messages.send("one more thing")
            await bob.client.bye("lunch")
            assert bob.seen.links[-1].state is ConnectionState.CLOSED
            assert not bob.client.messages.pending
        await server.suspend()
    bodies = [event.body for event in sink.events]
    assert MemberLeft("bob", "lunch", bob.client.device) in bodies
    assert any(isinstance(body, MessagePosted) for body in bodies)


async def test_member_waits_while_port_is_taken() -> None:
    sink, port = MemorySink(), free_port()
    backoff = Backoff(0.01, 0.05)
    async with participant(ws_connector(f"127.0.0.1:{port}"), "bob", backoff=backoff) as bob:
        async with room_server(sink) as server:
            await server.listen(port=port)
            await bob.seen.online()
            await server.suspend()
        async with room_server(room="another") as other:
            await other.listen(port=port)
            refused = len(bob.seen.links)
            await bob.seen.until(lambda r: len(r.links) > refused + 2)
            assert bob.seen.links[-1].state is not ConnectionState.CLOSED
        async with room_server(sink) as server:
            await server.listen(port=port)
            await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.ONLINE)


async def test_standby_process_is_skipped() -> None:
    standby, host, hellos = Address("192.0.2.1", 1), Address("192.0.2.2", 1), list[str]()
    hosts = {standby: ScriptedRoom(), host: ScriptedRoom()}

    async def connect(address: Address, pin: str) -> ClientConnection:
        hellos.append(address.host)
        return await hosts[address].connector()

    dialer = Dialer([Endpoint(standby, "s" * 43), Endpoint(host, "h" * 43)], connect)
    joining = participant(dialer, "bob", patient=False)
    async with joining as bob:
        end = await hosts[standby].knocked()
        assert isinstance(await end.receive(), Hello)
        await end.send([FrameRefused("suspended", "another process hosts this room now")])
        await hosts[host].let_in(0)
        await bob.seen.online()
    assert hellos == [standby.host, host.host]
    assert [each.address for each in dialer.known] == [host, standby]
    assert not retries(bob.seen)


async def test_goodbye_offline_ends() -> None:
    joining = participant(
        ws_connector(f"127.0.0.1:{free_port()}"), "bob", backoff=Backoff(60.0, 60.0)
    )
    async with joining as bob:
        await bob.seen.until(lambda r: r.links and r.links[-1].state is ConnectionState.RETRYING)
        bob.client.messages.send("nobody will read this")
        async with asyncio.timeout(DEADLINE):
            await bob.client.bye()
        assert bob.seen.links[-1].state is ConnectionState.CLOSED
        assert len(bob.client.messages.pending) == 1


async def test_a_text_that_is_too_long_is_refused_here() -> None:
    async with room_server(limits=Limits(text_chars=10)) as server:
        address = str(await server.listen(port=0))
        async with participant(ws_connector(address), "bob") as bob:
            await bob.seen.online()
            with pytest.raises(TooLong):
                bob.client.messages.send("x" * 11)
            assert bob.client.messages.pending == ()


async def test_refused_message_is_returned() -> None:
    async with room_server() as server:
        address = str(await server.listen(port=0))
        async with participant(ws_connector(address), "bob") as bob:
            await bob.seen.online()
            bob.client.messages.send("   ")
            await bob.seen.until(lambda r: r.rejected)
            assert not bob.seen.unsent
            ((text, why),) = bob.seen.rejected
            assert text == "   "
            assert "without text" in why


async def test_fast_typing_is_slowed_down_and_not_lost() -> None:
    async with room_server(limits=Limits(burst=5, per_second=50.0)) as server:
        address = str(await server.listen(port=0))
        async with participant(ws_connector(address), "bob") as bob:
            await bob.seen.online()
            for n in range(30):
                bob.client.messages.send(str(n))
            await bob.seen.until(lambda r: len(r.texts) == 30)
            assert bob.seen.texts == [str(n) for n in range(30)]
            assert bob.seen.notices == []


async def test_shorter_log_reports_fork_points() -> None:
    sink = MemorySink()
    async with room_server(sink) as server:
        address = str(await server.listen(port=0))
        async with participant(ws_connector(address), "bob") as bob:
            bob.client.messages.send("this will be lost by the host")
            await bob.seen.until(lambda r: r.texts)
            past = list(bob.seen.events)
        await server.suspend()
    sink.events = sink.events[:2]
    async with room_server(sink) as server:
        address = str(await server.listen(port=0))
        with pytest.raises(Diverged) as parted:
            await run(address, since=len(past), mark=event_mark(past[-1]))
        assert parted.value.points == (
            (3, event_mark(sink.events[2])),
            (2, event_mark(past[1])),
            (1, event_mark(past[0])),
        )


class ScriptedRoom:
    """The room's end of memory connections, played by the test.

    With `pins` they look like connections to hosts of these certificates, one after the other.
    """

    def __init__(self, *pins: str) -> None:
        self._ends: asyncio.Queue[PeerConnection] = asyncio.Queue()
        self._pins = list(pins)

    async def connector(self) -> ClientConnection:
        near, far = memory_pair(channel=self._pins.pop(0) if self._pins else None)
        await self._ends.put(far)
        return near

    async def knocked(self) -> PeerConnection:
        """Wait for a connection."""
        async with asyncio.timeout(DEADLINE):
            return await self._ends.get()

    async def let_in(self, head: int) -> tuple[PeerConnection, Hello]:
        async with asyncio.timeout(DEADLINE):
            end = await self._ends.get()
            hello = await end.receive()
        assert isinstance(hello, Hello)
        await end.send([Welcome("r", "t", "bob", "guest", "hana", head, Limits())])
        return end, hello


def retries(seen: Recorder) -> list[ConnectionStatus]:
    return [status for status in seen.links if status.state is ConnectionState.RETRYING]


def said(seq: int, id_: str) -> Event:
    return Event(seq, 0.0, "bob", MessagePosted(id_, "hello"))


async def test_rewritten_log_replaces_no_history() -> None:
    sink, port = MemorySink(), free_port()
    async with room_server(sink) as server:
        await server.listen(port=port)
        async with participant(ws_connector(f"127.0.0.1:{port}"), "bob") as bob:
            for n in range(3):
                bob.client.messages.send(f"message {n}")
            await bob.seen.until(lambda r: len(r.texts) == 3)
            known = list(bob.seen.events)
            await server.close()
            sink.events = sink.events[:2]
            async with room_server(sink) as again:
                for n in range(9):
                    async with participant(local_connector(again), f"guest{n}") as guest:
                        await guest.seen.online()
                await again.listen(port=port)
                await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.CLOSED)
                assert "is another one" in bob.seen.links[-1].detail
                assert bob.diverged is not None
                assert bob.seen.events == known
                assert "bob" not in again.state.people
                again_with: dict[str, Any] = {"since": known[-1].seq, "mark": event_mark(known[-1])}
                with pytest.raises(Diverged, match=f"event {known[-1].seq} is another one"):
                    await run(f"127.0.0.1:{port}", **again_with)


async def test_same_log_is_known_after_restart() -> None:
    sink = MemorySink()
    me = Identity.generate()
    async with room_server(sink) as server:
        async with participant(local_connector(server), "bob", identity=me) as bob:
            await bob.seen.until(lambda r: "bob" in r.state.people)
        await server.suspend()
    past, mark = list(sink.events), event_mark(sink.events[-1])
    async with room_server(sink) as server:
        joining = participant(local_connector(server), "bob", past=past, mark=mark, identity=me)
        async with joining as bob:
            await bob.seen.until(lambda r: r.events)
            assert bob.seen.events[0].seq == len(past) + 1


async def test_unaccepted_host_learns_nothing() -> None:
    room = ScriptedRoom("right", "wrong", "right")
    welcome = Welcome("r", "t", "bob", "guest", "hana", 0, Limits())

    async def accepts(claim: Claim) -> bool:
        return claim.pin == "right"

    async with participant(room.connector, "bob", accepts=accepts, agent="secret model") as bob:
        for pin in ("right", "wrong", "right"):
            end = await room.knocked()
            hello = await end.receive()
            assert isinstance(hello, Hello)
            told = hello.room, hello.key, hello.nonce
            assert hello == Hello("bob", room=told[0], key=told[1], nonce=told[2], knows=KNOWN)
            await end.send([Challenge("theirs", "r")])
            if pin == "wrong":
                with pytest.raises(ConnectionLost):
                    await end.receive()
                continue
            assert isinstance(await end.receive(), Prove)
            await end.send([welcome])
            await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.ONLINE)
            if bob.client.messages.pending:
                assert isinstance(await end.receive(), PostMessage)
            else:
                bob.client.messages.send("waits for the right one")
                end.abort()
                await bob.seen.until(lambda r: r.links[-1].state is not ConnectionState.ONLINE)


async def test_resend_waits_for_arrivals() -> None:
    room = ScriptedRoom()
    async with participant(room.connector, "bob") as bob:
        end, _ = await room.let_in(0)
        bob.client.messages.send("hello")
        first = await end.receive()
        assert isinstance(first, PostMessage)
        end.abort()
        end, hello = await room.let_in(1)
        assert (hello.key, hello.device) == (bob.client.signer.key, bob.client.device)
        assert hello.room == "r"
        bob.client.messages.send("something new")
        for _ in range(20):  # all that the client would do by itself, it does now
            await asyncio.sleep(0)
        await end.send([Entries((said(1, first.id),))])
        second = await end.receive()
        assert isinstance(second, PostMessage)
        assert second.text == "something new"


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (encode(Entries((Event(1, 1e300, "", HostStarted("hana")),))), "impossible time"),
        (b"garbage", "no frame"),
    ],
)
async def test_invalid_frame_ends_with_reason(last: bytes, why: str) -> None:
    welcome = encode(Welcome("r", "t", "bob", "guest", "hana", 0, Limits()))

    async def host(ws: ServerConnection) -> None:
        await ws.recv()
        await ws.send(encode(Challenge("nonce", "r")), text=True)
        await ws.recv()
        for data in (welcome, last):
            await ws.send(data, text=True)
        await ws.wait_closed()

    async with serve(host, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        with pytest.raises(FrameError, match=f"the room sent an invalid frame.*{why}"):
            await run(f"127.0.0.1:{port}")


async def test_notice_flood_is_thinned() -> None:
    room = ScriptedRoom()
    async with participant(room.connector, "bob") as bob:
        end, _ = await room.let_in(0)
        for n in range(1000):
            await end.send([Trouble(f"trouble {n}" * 100), FrameRefused("malformed", f"no {n}")])
        await end.send([Trouble(""), Entries((said(1, "after it"),))])
        await bob.seen.until(lambda r: r.events)
        assert len(bob.seen.notices) <= 20
        await bob.seen.until(lambda r: any("again" in text for _, text in r.notices))
    assert len(bob.seen.notices) <= 21
    assert len(bob.seen.links) <= 21
    assert bob.seen.links[-1] == ConnectionStatus(ConnectionState.CLOSED)
    assert bob.seen.links[-2] == ConnectionStatus(ConnectionState.ONLINE)
    assert max(len(status.detail) for status in bob.seen.links) < 400
    assert max(len(text) for _, text in bob.seen.notices) < 400


async def test_changed_trouble_is_reported() -> None:
    room = ScriptedRoom()
    async with participant(room.connector, "bob") as bob:
        end, _ = await room.let_in(0)
        await end.send([Trouble(""), Trouble("disk full"), Trouble("disk full")])
        end.abort()
        end, _ = await room.let_in(0)
        await end.send([Trouble("disk full"), Trouble("")])
        await bob.seen.until(lambda r: len(r.notices) == 3)
    assert [severity for severity, _ in bob.seen.notices] == [
        Severity.ERROR,
        Severity.ERROR,
        Severity.INFO,
    ]


async def test_quiet_message_needs_host_program() -> None:
    room = ScriptedRoom()
    async with participant(room.connector, "bob") as bob:
        await room.let_in(0)
        await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.ONLINE)
        with pytest.raises(QuietUnknown, match="the host's does not know"):
            bob.client.messages.send("hello", quiet=True)
        assert bob.client.messages.pending == ()


async def test_suspend_is_announced_once() -> None:
    room = ScriptedRoom()
    async with participant(room.connector, "bob") as bob:
        end, hello = await room.let_in(0)
        assert hello.knows == KNOWN
        await end.send([Suspending(1e300), Suspending(2.0), Suspending(3.0)])
        await bob.seen.until(lambda r: r.links[-1].closing_in is not None)
        assert bob.seen.links[-1].closing_in == LONGEST_GRACE
        id_ = bob.client.messages.send("too late?")
        await end.send([FrameRefused("suspended", "the host suspended the room", final=True)])
        await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.RETRYING)
        end = await room.knocked()
        end.abort()  # nobody is there
        await bob.seen.until(lambda r: len(retries(r)) == 2)
        assert {status.detail for status in retries(bob.seen)} == {"the host suspended the room"}
        end, _ = await room.let_in(0)
        frame = await end.receive()
        assert isinstance(frame, PostMessage)
        assert frame.id == id_
        assert sum(link.closing_in is not None for link in bob.seen.links) == 1


async def test_event_gap_ends_connection() -> None:
    room = ScriptedRoom()
    async with participant(room.connector, "bob") as bob:
        end, _ = await room.let_in(0)
        await end.send(
            [Entries((said(1, "a"), said(2, "b"))), Entries((said(2, "b"), said(3, "c")))]
        )
        await bob.seen.until(lambda r: len(r.events) == 3)
        await end.send([Entries((said(5, "e"),))])
        end, hello = await room.let_in(5)
        assert hello.since == 3
        await end.send([Entries((said(4, "d"), said(5, "e")))])
        await bob.seen.until(lambda r: len(r.events) == 5)
    assert [event.seq for event in bob.seen.events] == [1, 2, 3, 4, 5]
    assert any("left out events: 5 came after 3" in status.detail for status in bob.seen.links)


# -- a host's authority, as somebody else sees it


@asynccontextmanager
async def hana_and_bob(**options: Any) -> AsyncIterator[tuple[str, Guest, Guest]]:
    """A host inside the process, and somebody at a socket."""
    async with room_server(**options) as server:
        address = str(await server.listen(port=0))
        hosting = participant(local_connector(server), "hana", token=server.host_token)
        async with hosting as hana, participant(ws_connector(address), "bob") as bob:
            await hana.seen.online()
            yield address, hana, bob


async def test_kicked_member_may_return() -> None:
    async with hana_and_bob() as (address, hana, bob):
        await bob.seen.online()
        assert hana.client.queue.ask(Moderate("kick", "Bob", reason="lunch is over"))
        await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.CLOSED)
        assert bob.refusal is not None
        assert bob.refusal.code == "kicked"
        assert "lunch is over" in bob.seen.links[-1].detail
        assert isinstance(
            bob.seen.events[-1].body, MemberModerated
        )  # to the very end of what is theirs
        await hana.seen.until(lambda r: not r.state.people["bob"].present)
        me = bob.identity
        async with participant(ws_connector(address), "bob", identity=me) as again:
            await again.seen.online()


async def test_banned_key_stays_out_until_pardon() -> None:
    async with hana_and_bob() as (address, hana, bob):
        await bob.seen.online()
        hana.client.queue.ask(Moderate("ban", "bob"))
        await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.CLOSED)
        assert bob.refusal is not None
        assert bob.refusal.code == "banned"
        me = bob.identity
        for name in ("bob", "rob"):
            with pytest.raises(RoomRefused) as refusal:
                await run(address, name, identity=me)
            assert refusal.value.code == "banned"
        with pytest.raises(RoomRefused):
            await run(address, "bob")  # nor may somebody else take the name
        hana.client.queue.ask(Moderate("pardon", "bob"))
        await hana.seen.until(lambda r: not r.state.banned)
        async with participant(ws_connector(address), "bob", identity=me) as again:
            await again.seen.online()


async def test_muted_member_gets_message_back() -> None:
    async with hana_and_bob() as (_, hana, bob):
        await bob.seen.online()
        hana.client.queue.ask(Moderate("mute", "bob"))
        await bob.seen.until(lambda r: r.state.muted)
        bob.client.messages.send("but")
        await bob.seen.until(lambda r: r.rejected)
        assert not bob.seen.unsent
        ((text, why),) = bob.seen.rejected
        assert text == "but"
        assert "muted" in why
        hana.client.queue.ask(Moderate("unmute", "bob"))
        await bob.seen.until(lambda r: not r.state.muted)
        bob.client.messages.send("thank you")
        await hana.seen.until(lambda r: r.texts == ["thank you"])


async def test_nobody_else_has_a_hosts_authority() -> None:
    async with hana_and_bob() as (_, hana, bob):
        await bob.seen.online()
        for wish in (
            Moderate("kick", "hana"),
            ShareArguments(True),
            AnswerJoinRequest(1, True),
            OfferHosting("bob"),
        ):
            seen = len(bob.seen.notices)
            assert bob.client.queue.ask(wish)
            await bob.seen.until(lambda r, seen=seen: len(r.notices) > seen)  # type: ignore[misc] # mypy can't infer a lambda with a default
            assert "only the host" in bob.seen.notices[-1][1]
        assert hana.seen.state.people["hana"].present


async def test_a_stranger_waits_for_the_hosts_word() -> None:
    async with hana_and_bob(ask=True) as (address, hana, bob):
        await bob.seen.until(lambda r: any("is asked" in status.detail for status in r.links))
        assert bob.seen.links[-1].state is ConnectionState.CONNECTING
        assert words(bob.client.signer.key) in bob.seen.links[-1].detail
        await hana.seen.until(lambda r: r.knocks)
        (knock,) = hana.seen.knocks
        assert (knock.name, knock.key, knock.over) == ("bob", bob.client.signer.key, False)
        assert hana.client.queue.ask(AnswerJoinRequest(knock.knock, True))
        await bob.seen.online()
        await hana.seen.until(lambda r: "bob" in r.state.people and r.knocks[-1].over)
        async with participant(ws_connector(address), "mallory") as mallory:
            await hana.seen.until(lambda r: not r.knocks[-1].over)
            hana.client.queue.ask(AnswerJoinRequest(hana.seen.knocks[-1].knock, False))
            await mallory.seen.until(lambda r: r.links[-1].state is ConnectionState.CLOSED)
            assert mallory.refusal is not None
            assert mallory.refusal.code == "turned_away"
        async with participant(ws_connector(address), "carol") as carol:
            await carol.seen.until(lambda r: r.links and "is asked" in r.links[-1].detail)
        await hana.seen.until(lambda r: r.knocks[-1].name == "carol" and r.knocks[-1].over)
        await bob.client.bye()
        me = bob.identity
        async with participant(ws_connector(address), "bob", identity=me) as again:
            await again.seen.online()  # known by now, and not asked about


# -- what an earlier host recorded


async def test_shared_past_is_recovered_once() -> None:
    people = {name: Identity.generate() for name in ("hana", "bob", "alice", "carol")}
    sink = MemorySink()
    async with room_server(sink, key=people["hana"].key, limits=FAST) as server:
        address = str(await server.listen(port=0))
        async with (
            participant(ws_connector(address), "bob", identity=people["bob"]) as bob,
            participant(ws_connector(address), "alice", identity=people["alice"]) as alice,
            participant(ws_connector(address), "carol", identity=people["carol"]) as carol,
        ):
            for each in (bob, alice, carol):
                await each.seen.online()
            await bob.seen.until(lambda r: len(r.state.people) == 3)
            parted = server.state.head
            for n in range(100):
                (bob if n % 2 else alice).client.messages.send(f"message {n}")
                await bob.seen.until(lambda r, n=n: len(r.texts) == n + 1)  # type: ignore[misc] # mypy can't infer a lambda with a default
    whole = list(sink.events)
    tail = [event for event in whole[parted:] if isinstance(event.body, MessagePosted)]
    sink.events = whole[:parted]
    async with room_server(sink, host="carol", key=people["carol"].key, limits=FAST) as server:
        proxy = Proxy(await server.listen(port=0))
        async with proxy.running() as through:
            past = whole[:parted]
            known: dict[str, Any] = {"past": past, "mark": event_mark(past[-1])}
            async with (
                participant(ws_connector(through), "bob", identity=people["bob"], **known) as bob,
                participant(
                    ws_connector(through), "alice", identity=people["alice"], **known
                ) as alice,
            ):
                bob.client.queue.recover(whole[parted:])
                alice.client.queue.recover(tail)
                bob.client.messages.send("after all that")
                for n in (10, 40, 90):
                    await bob.seen.until(lambda r, n=n: len(recovered(r.events)) >= n)  # type: ignore[misc] # mypy can't infer a lambda with a default
                    proxy.cut()
                for each in (bob, alice):
                    await each.seen.until(
                        lambda r: len(recovered(r.events)) == 100 and "after all that" in r.texts
                    )
                    async with asyncio.timeout(DEADLINE):
                        while not await each.client.settle():  # it may be away once more
                            await asyncio.sleep(0.01)
    assert recovered(sink.events) == tail
    assert {e.by for e in sink.events if isinstance(e.body, RecoveredEvent)} <= {"bob", "alice"}


def recovered(events: Sequence[Event]) -> list[Event]:
    return [event.body.event for event in events if isinstance(event.body, RecoveredEvent)]


async def test_rejecting_host_slows_retries() -> None:
    room = ScriptedRoom()
    async with participant(room.connector, "bob", backoff=Backoff(0.001, 1.0)) as bob:
        for turn in range(6):
            end, hello = await room.let_in(2)
            assert hello.since == 0
            await end.send([Entries((said(2, "1"),))])  # without the first
            await bob.seen.until(lambda r: len(retries(r)) == turn + 1)  # noqa: B023 - awaited
        waits = [status.retry_in or 0.0 for status in retries(bob.seen)]
        assert waits[0] <= 0.001
        assert waits[-1] >= 0.008  # twice as long each time, but for some chance
        assert "the host left out events: 2 came after 0" in retries(bob.seen)[-1].detail


async def test_steady_connection_resets_backoff() -> None:
    room = ScriptedRoom()
    async with participant(room.connector, "bob", backoff=Backoff(0.001, 1.0)) as bob:
        for turn in range(8):
            end, _ = await room.let_in(0)
            await bob.seen.online()
            if turn == 7:
                await pass_at_once(STEADY)
            await end.close()
            await bob.seen.until(lambda r: len(retries(r)) == turn + 1)  # noqa: B023 - awaited
        assert (retries(bob.seen)[-2].retry_in or 0.0) >= 0.016
        assert (retries(bob.seen)[-1].retry_in or 0.0) <= 0.001


async def test_contradicting_host_is_left() -> None:
    room = ScriptedRoom()

    recorder = Recorder()
    client = RoomConnection(room.connector, recorder, ClientHandshake("bob"))
    running = asyncio.create_task(client.run())
    end, _ = await room.let_in(1)
    await end.send([Entries((Event(1, 0.0, "hana", AnswerPosted(7, "to what?")),))])
    with pytest.raises(Contradiction, match=r"contradicts itself.*unknown message 7"):
        async with asyncio.timeout(DEADLINE):
            await running
    assert recorder.links[-1].state is ConnectionState.CLOSED
    assert "tell the host" in recorder.links[-1].detail
