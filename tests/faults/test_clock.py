"""A host whose clock jumps, back or ahead, at any moment: order is by number, and nothing breaks."""

import random
from itertools import pairwise
from pathlib import Path

import pytest
from tests.genie_core.room.live_room import loader, opened

from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_core.room.state.thread import Phase
from genie_core.room.view.log import EntryLog
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.log.writer import EventLog
from genie_tui.cli.plain.log import lines
from genie_tui.widgets.activity.rows import ActivityRows, headline

DAY = 86_400.0


class JumpingClock:
    """Runs, but for every third look jumps by up to two days."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._now = 1.8e9

    def __call__(self) -> float:
        self._now += 0.01
        if not self._chance.randrange(3):
            self._now += self._chance.uniform(-2 * DAY, 2 * DAY)
        return self._now


def phases(state: RoomState) -> list[Phase]:
    return [thread.phase for thread in state.threads.values()]


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_room_survives_jumping_host_clock(tmp_path: Path, seed: int) -> None:
    clock = JumpingClock(seed)
    async with opened(clock=clock) as live:
        ann, hears = await live.joined("ann", loader(tmp_path / "ann"))
        bob, _ = await live.joined("bob", None)
        for number in range(8):
            (ann, bob)[number % 2].messages.send(f"message {number}")
            await hears.until(lambda: phases(ann.state)[number:] == [Phase.ANSWERED])  # noqa: B023 - awaited here
        await bob.leave()
        await ann.leave()
        events = list(live.sink.events)
    assert any(after.at < before.at for before, after in pairwise(events))
    texts = [thread.said.text for thread in ann.state.threads.values()]
    assert texts == [f"message {number}" for number in range(8)]

    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(map(encode_line, events)))
    found = EventLog.open(path)
    found.log.close()
    with LogReader.open(path) as reader:
        assert (found.problems, reader.problems) == ([], [])
        assert encode_state(found.state()) == encode_state(reader.state())
    async with opened(events, clock=clock) as again:
        ann, hears = await again.joined("ann", loader(tmp_path / "ann"))
        ann.messages.send("still here")
        await hears.until(lambda: phases(ann.state) == [Phase.ANSWERED] * 9)


async def test_shown_times_are_never_negative(
    tmp_path: Path,
) -> None:
    async with opened(clock=JumpingClock(4)) as live:
        ann, hears = await live.joined("ann", loader(tmp_path))
        for number in range(4):
            ann.messages.send(f"message {number}")
        await hears.until(lambda: phases(ann.state) == [Phase.ANSWERED] * 4)
        events = list(live.sink.events)
    state = RoomState()
    transcript, activity_list = EntryLog(state), ActivityRows()
    for event in events:
        state.apply(event)
        transcript.add(event)
        activity_list.apply(event)
    assert transcript.seqs == sorted(transcript.seqs)
    written = [text for _, text in lines(events)]
    assert [n for n in range(4) for text in written if f"message {n}" in text]
    for row in activity_list.rows:
        said = headline(row)
        assert "-" not in said.took
