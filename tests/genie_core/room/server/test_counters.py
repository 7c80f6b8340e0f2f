"""The server of a room counts what an operator wants to know."""

from tests.genie_core.room.bench import LAN, ROOMY, Bench
from tests.genie_core.room.doubles import FailingSink, local_connector, participant, room_server

from genie_core.room.protocol.frames import ReportDelta, Typing, Welcome
from genie_core.room.server.counters import APPEND_SECONDS, Counters


async def test_rooms_share_their_counters() -> None:
    counters, sink = Counters(), FailingSink()
    async with (
        room_server(sink, counters=counters) as one,
        room_server(counters=counters) as other,
        participant(local_connector(one), "hana", token=one.host_token) as hana,
    ):
        await hana.seen.online()
        sink.broken = True
        hana.client.messages.send("hello")
        await hana.seen.until(lambda _: counters.failures > 0)
        sink.broken = False
        await hana.seen.until(lambda seen: seen.texts == ["hello"])
        assert counters.joins == 1
        assert one.room.failure == ""
        assert counters.events == one.state.head + other.state.head
    assert sum(counters.appends) <= counters.events
    assert counters.append_seconds > 0.2  # the first try again comes after so many seconds


def test_refused_strangers_count_by_reason() -> None:
    bench = Bench()
    bench.meet("alice", source=LAN)
    bench.greet("bob", room="another")
    bench.send(bench.connect(), Typing())
    counters = bench.room.peers.counters
    assert counters.refused == {"no_invite": 1, "wrong_room": 1, "out_of_state": 1}
    assert not counters.evicted


def test_dropped_members_count_by_reason() -> None:
    bench = Bench(limits=ROOMY)
    bob, again = bench.join("bob", device="d1"), bench.join("bob", device="d1")
    bench.send(again, Welcome("r", "t", "n", "guest", "h", 0, ROOMY))  # type: ignore[arg-type]
    bench.send(again, ReportDelta(1, "too late"))
    counters = bench.room.peers.counters
    assert bob.farewell is not None
    assert counters.evicted == {"replaced": 1, "out_of_state": 1}
    assert counters.joins == 2


def test_times_are_sorted_into_bounds() -> None:
    counters = Counters()
    for seconds in (-1.0, *APPEND_SECONDS, 99.0):
        counters.appended(2, seconds)
    assert counters.appends == [2, *[1] * len(APPEND_SECONDS)]
    assert counters.events == 2 * (len(APPEND_SECONDS) + 2)
    assert counters.append_seconds == sum(APPEND_SECONDS) + 99.0
