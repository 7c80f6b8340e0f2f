import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.genie_core.room.bench import identity
from tests.genie_core.room.state.test_private import SECRET, log_with_secrets
from tests.genie_core.sessions.replay.recorded import ListLog, a_day
from tests.genie_tui.widgets.room_log import RoomLog
from tests.limits import scaled

from genie_core.errors import GenieError
from genie_core.room.protocol.events import Event
from genie_core.room.state.private import PrivateReader
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_core.sessions.replay.landmarks import Landmark
from genie_core.sessions.replay.pace import IDLE
from genie_core.sessions.replay.player import Recording, ReplayMoment
from genie_core.sessions.replay.projector import NEAR, Projector

DEADLINE = scaled(60.0)


class Watcher:
    """Keeps what a screen would show by now."""

    def __init__(self) -> None:
        self.state = RoomState()
        self.events: list[Event] = []
        self.moments = 0
        self.shown: list[int] = []

    def show_moment(self, moment: ReplayMoment) -> None:
        self.state, self.events = moment.state, list(moment.recent)
        self.moments += 1
        self.shown.append(moment.state.head)

    def show_events(self, events: list[Event]) -> None:
        self.events += events
        self.shown.append(events[-1].seq)
        assert self.state.head == events[-1].seq


def folded(log: RoomLog, upto: int) -> bytes:
    state = RoomState()
    for event in log.events[:upto]:
        state.apply(event)
    return encode_state(state, entries=False)


@asynccontextmanager
async def projected(log: ListLog) -> AsyncIterator[tuple[Projector, Watcher]]:
    watcher = Watcher()
    projector = Projector(
        Recording("r1", "Garden", "ann", log), watcher.show_moment, watcher.show_events
    )
    try:
        async with asyncio.timeout(DEADLINE):
            yield projector, watcher
    finally:
        projector.close()


async def test_sealed_text_shows_at_any_moment() -> None:
    log = log_with_secrets()
    watcher = Watcher()
    for name, text in (("cleo", f"{SECRET}!"), ("ann", "")):
        recording = Recording(
            "r1", "Garden", name, ListLog(log.events), reader=PrivateReader(identity(name))
        )
        projector = Projector(recording, watcher.show_moment, watcher.show_events)
        for seq in (len(log.events), 6, len(log.events) - 1):  # at once, back, and step by step
            await projector.go(seq)
        assert next(iter(watcher.state.threads.values())).text == text
        projector.close()


async def test_wherever_it_goes_the_room_is_as_it_was() -> None:
    log = a_day()
    async with projected(ListLog(log.events)) as (projector, watcher):
        for seq in (5, 6, 16, 3, 0, 14, 13, 13, 99, -4):
            await projector.go(seq)
            expected = min(max(seq, 0), len(log.events))
            assert projector.position == watcher.state.head == expected
            assert encode_state(watcher.state, entries=False) == folded(log, expected)
            assert watcher.events == log.events[:expected]


async def test_the_start_of_an_empty_log_is_shown_too() -> None:
    async with projected(ListLog([])) as (projector, watcher):
        await projector.go(1)
        assert (projector.position, projector.head, projector.last) == (0, 0, None)
        assert watcher.moments == 1


async def test_steps_onwards_go_on_from_what_is_shown() -> None:
    async with projected(ListLog(a_day().events)) as (projector, watcher):
        await projector.go(1)
        for _ in range(5):
            await projector.go(projector.target + 1)
        assert projector.position == 6
        assert watcher.moments == 1


async def test_a_long_way_is_not_gone_step_by_step() -> None:
    log = a_day()
    for number in range(NEAR + 10):
        log.say("ann", f"word {number}")
    async with projected(ListLog(log.events)) as (projector, watcher):
        await projector.go(1)
        await projector.go(projector.head)
        assert watcher.shown == [1, projector.head]
        assert encode_state(watcher.state, entries=False) == folded(log, len(log.events))


async def test_of_many_wishes_the_last_counts() -> None:
    log = a_day()
    async with projected(ListLog(log.events)) as (projector, watcher):
        await asyncio.gather(*(projector.go(seq) for seq in (1, 9, 4, 12, 7)))
        assert projector.position == 7
        assert encode_state(watcher.state, entries=False) == folded(log, 7)
        assert len(watcher.shown) <= 3


async def test_jumps_go_forward_and_back() -> None:
    async with projected(ListLog(a_day().events)) as (projector, _):
        await projector.go(1)
        places = []
        while await projector.jump(Landmark.DECISION, 1):
            places.append(projector.position)
        assert places == [6, 9, 11, 16]
        assert await projector.jump(Landmark.VERDICT, -1)
        assert projector.position == 13
        assert await projector.jump(Landmark.APPROVAL, -1)
        assert projector.position == 12
        assert not await projector.jump(Landmark.FAILURE, -1)
        assert projector.position == 12


async def test_a_text_is_found_and_shown() -> None:
    async with projected(ListLog(a_day().events)) as (projector, _):
        await projector.go(1)
        assert await projector.find("Good Morning", 1)
        assert projector.position == 8
        assert not await projector.find("seeds", 1)
        assert await projector.find("seeds", -1)
        assert projector.position == 5


async def play(projector: Projector, seconds: float) -> None:
    if projector.wants_more:
        await projector.read_ahead()
    projector.pass_time(seconds)


async def test_it_plays_as_it_was_with_short_nights() -> None:
    log = a_day()
    async with projected(ListLog(log.events)) as (projector, _):
        await projector.go(7)
        projector.playing = True
        await play(projector, 0.0)
        await play(projector, IDLE - 0.5)
        assert projector.position == 7  # an hour passed before the next one
        await play(projector, 0.5)
        assert projector.position == 8
        await play(projector, 1.0)
        assert projector.position == 9


async def test_it_plays_faster_and_stops_at_the_end() -> None:
    log = a_day()
    async with projected(ListLog(log.events)) as (projector, watcher):
        await projector.go(1)
        projector.playing = True
        projector.faster(2)
        assert projector.speed == 4.0
        await play(projector, 0.0)
        await play(projector, 0.5)
        assert projector.position == 3
        while projector.playing:
            await play(projector, 0.5)
        assert projector.position == len(log.events)
        assert encode_state(watcher.state, entries=False) == folded(log, len(log.events))


async def test_a_standing_replay_does_not_move() -> None:
    async with projected(ListLog(a_day().events)) as (projector, _):
        await projector.go(3)
        await play(projector, 100.0)
        assert projector.position == 3
        assert not projector.wants_more


async def test_jump_discards_read_ahead() -> None:
    log = a_day()
    async with projected(ListLog(log.events)) as (projector, watcher):
        await projector.go(1)
        projector.playing = True
        reading = asyncio.create_task(projector.read_ahead())
        await projector.go(10)
        await reading
        await projector.go(4)
        while projector.playing:
            await play(projector, 1.0)
        assert watcher.events == log.events
        assert encode_state(watcher.state, entries=False) == folded(log, len(log.events))


async def test_end_position_follows_growing_log() -> None:
    log = a_day()
    source = ListLog(log.events)
    async with projected(source) as (projector, watcher):
        await projector.go(projector.head)
        assert not await projector.refresh()
        log.say("bob", "one more")
        assert await projector.refresh()
        assert projector.position == projector.head == len(log.events)
        assert encode_state(watcher.state, entries=False) == folded(log, len(log.events))
        await projector.go(4)
        log.say("bob", "and another")
        assert await projector.refresh()
        assert projector.position == 4


class Unplugged(ListLog):
    def read(self, after: int, most: int) -> list[Event]:
        raise GenieError("the disk is gone")


async def test_disk_error_keeps_position() -> None:
    log = a_day()
    source = ListLog(log.events)
    async with projected(source) as (projector, watcher):
        await projector.go(5)
        source.__class__ = Unplugged
        with pytest.raises(GenieError, match="the disk is gone"):
            await projector.go(9)
        assert projector.target == projector.position == 5
        source.__class__ = ListLog
        await projector.go(9)
        assert encode_state(watcher.state, entries=False) == folded(log, 9)


async def test_close_releases_log_after_last_read() -> None:
    closed = threading.Event()
    recording = Recording("r1", "Garden", "ann", ListLog(a_day().events), close=closed.set)
    watcher = Watcher()
    projector = Projector(recording, watcher.show_moment, watcher.show_events)
    await projector.go(5)
    projector.close()
    assert await asyncio.to_thread(closed.wait, DEADLINE)


async def test_what_was_before_can_be_read_back() -> None:
    log = a_day()
    async with projected(ListLog(log.events)) as (projector, _):
        assert await projector.past(8, 3) == log.events[4:7]
        assert await projector.past(3, 50) == log.events[:2]
        assert await projector.past(1, 50) == []
