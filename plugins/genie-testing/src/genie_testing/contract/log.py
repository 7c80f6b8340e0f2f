"""The duties of every `Log` of a room, as tests to run your own implementation through.

    class TestMyLog(LogContract):
        @asynccontextmanager
        async def places(self, folder):
            yield MyPlace(folder)

The tests are coroutines and carry the mark of pytest-asyncio; those that kill processes carry the
mark `drill`.
"""
# ruff: noqa: S101 - these are tests

import asyncio
import sys
from abc import ABC, abstractmethod
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import ClassVar, Final

import pytest

from genie_core.errors import GenieError
from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.room.server.log import Log, Superseded
from genie_core.runtime.tasks import start_task

GROUPS: Final = (1, 3, 20, 1, 100)
"""How many events `write_until_killed` writes in one go, in turn."""

KILLED_AFTER: Final = (1, 4, 11, 25)
"""After how many groups a writing process is killed, in turn."""

LARGE: Final = 300_000
"""Characters of a large message: a few of them are more than a store takes in one go."""


def make_events(first: int, end: int, sender: str = "alice", text: str = "") -> list[Event]:
    """Make the events from `first` up to `end`, which is not among them."""
    return [
        Event(seq, float(seq), sender, MessagePosted(f"m{seq}", text or "é" * (seq % 50)))
        for seq in range(first, end)
    ]


async def write_until_killed(log: Log) -> None:
    """Append groups of `make_events` for ever, and print the head after each."""
    for size in cycle(GROUPS):
        await log.append(make_events(log.head + 1, log.head + 1 + size))
        sys.stdout.write(f"{log.head}\n")
        sys.stdout.flush()


async def read_all(log: Log, most: int = 1_000) -> list[Event]:
    """Read a log from its start, in parts."""
    found: list[Event] = []
    while part := await asyncio.to_thread(log.read, found[-1].seq if found else 0, most):
        found += part
    return found


class LogPlace(ABC):
    """Where one log is kept: a folder, or a store that several machines reach."""

    @abstractmethod
    async def open(self, machine: str = "a") -> Log:
        """Open the log as a process on a machine does, also while another one has it open.

        Raises a `GenieError` if only one process can have it open.
        """

    async def close(self, log: Log) -> None:
        """Close a log that `open` returned."""
        await asyncio.to_thread(log.close)

    @abstractmethod
    def broken(self) -> AbstractAsyncContextManager[None]:
        """Let writing fail in the block; a write may have happened nevertheless."""

    @abstractmethod
    async def restart(self) -> None:
        """Stop and start the server of the log, if anything runs; all logs are closed."""

    @abstractmethod
    def damage(self, machine: str = "a") -> None:
        """Damage the files of a closed log as a crash or a bad disk may, without loss."""

    @abstractmethod
    def program(self) -> Sequence[str]:
        """Return the command of a process that runs `write_until_killed`."""


class LogContract:
    """Subclass it and implement `places`.

    `patience` is how many seconds a test may take before it counts as hanging.
    """

    pytestmark = pytest.mark.asyncio

    patience: ClassVar[float] = 60.0

    def places(self, folder: Path) -> AbstractAsyncContextManager[LogPlace]:
        """Create a place for one log, which is empty; an empty folder may be used for it."""
        raise NotImplementedError(f"{type(self).__name__} must implement places()")

    @asynccontextmanager
    async def placed(self, folder: Path) -> AsyncIterator[LogPlace]:
        """Create a place, within a time limit."""
        async with asyncio.timeout(self.patience), self.places(folder) as place:
            yield place

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncIterator[Log]:
        """Open a log that is empty."""
        async with self.placed(folder) as place:
            log = await place.open()
            try:
                yield log
            finally:
                await place.close(log)

    # -- one writer

    async def test_events_are_read_as_they_were_appended(self, tmp_path: Path) -> None:
        """They are dense and in order, also across groups."""
        async with self.opened(tmp_path) as log:
            assert (log.head, await read_all(log)) == (0, [])
            await log.append(make_events(1, 4))
            assert log.head == 3
            await log.append([])
            await log.append(make_events(4, 300))
            assert log.head == 299
            assert await read_all(log) == make_events(1, 300)
            assert await asyncio.to_thread(log.read, 100, 7) == make_events(101, 108)
            assert await asyncio.to_thread(log.read, 297, 50) == make_events(298, 300)
            assert await asyncio.to_thread(log.read, 299, 50) == []

    async def test_appending_again_changes_nothing(self, tmp_path: Path) -> None:
        """Events up to the head are passed over."""
        async with self.opened(tmp_path) as log:
            await log.append(make_events(1, 4))
            await log.append(make_events(1, 4))
            await log.append(make_events(1, 6))
            await log.append(make_events(2, 5))
            assert log.head == 5
            assert await read_all(log) == make_events(1, 6)

    async def test_appends_at_once_take_turns(self, tmp_path: Path) -> None:
        """They overlap, and each event is written once."""
        async with self.opened(tmp_path) as log:
            ends = (4, 30, 12, 30, 2, 25)
            await asyncio.gather(*(log.append(make_events(1, end)) for end in ends))
            assert await read_all(log) == make_events(1, 30)

    async def test_appending_again_after_being_cancelled(self, tmp_path: Path) -> None:
        """It may have happened, or not; repeating settles it."""
        async with self.opened(tmp_path) as log:
            for ticks in range(12):
                first = log.head + 1
                writing = start_task(log.append(make_events(first, first + 5)))
                for _ in range(ticks):
                    await asyncio.sleep(0)
                writing.cancel()
                await asyncio.wait([writing])
                await log.append(make_events(first, first + 7))
                assert log.head == first + 6
            assert await read_all(log) == make_events(1, 85)

    async def test_a_gap_is_refused_and_nothing_is_written(self, tmp_path: Path) -> None:
        """Also one that is within the group."""
        async with self.opened(tmp_path) as log:
            await log.append(make_events(1, 3))
            with pytest.raises(ValueError, match="5"):
                await log.append(make_events(5, 7))
            with pytest.raises(ValueError, match="6"):
                await log.append([*make_events(3, 5), *make_events(6, 8)])
            assert log.head == 2
            await log.append(make_events(3, 4))
            assert await read_all(log) == make_events(1, 4)

    async def test_a_contradiction_is_refused_and_nothing_is_written(self, tmp_path: Path) -> None:
        """The last event can't be another one, also after a restart."""
        async with self.placed(tmp_path) as place:
            for _ in range(2):
                log = await place.open()
                await log.append(make_events(1, 4))
                with pytest.raises(ValueError, match="3"):
                    await log.append([*make_events(3, 4, "mallory"), *make_events(4, 6)])
                assert await read_all(log) == make_events(1, 4)
                await place.close(log)

    async def test_large_groups_are_written_whole(self, tmp_path: Path) -> None:
        """Many events in one group, and more text than a store takes in one go."""
        async with self.opened(tmp_path) as log:
            many = make_events(1, 5_001)
            large = make_events(5_001, 5_009, text="é" * LARGE)
            await log.append(many)
            await log.append(large)
            assert await read_all(log) == [*many, *large]

    async def test_reading_while_events_are_written(self, tmp_path: Path) -> None:
        """All that is read is dense, and none of it changes."""
        async with self.opened(tmp_path) as log:
            writing = start_task(self._write_groups(log, 40))
            while not writing.done():
                head = log.head
                found = await read_all(log, most=33)
                assert len(found) >= head
                assert found == make_events(1, len(found) + 1)
            await writing
            assert await read_all(log) == make_events(1, log.head + 1)

    async def test_a_closed_log_is_neither_read_nor_written(self, tmp_path: Path) -> None:
        """There are no events to read, and appending is a mistake."""
        async with self.placed(tmp_path) as place:
            log = await place.open()
            await log.append(make_events(1, 4))
            await place.close(log)
            assert await asyncio.to_thread(log.read, 0, 10) == []
            with pytest.raises(ValueError, match="closed"):
                await log.append(make_events(4, 5))

    # -- restarts

    async def test_all_that_was_acknowledged_is_found_again(self, tmp_path: Path) -> None:
        """After the log was opened again, and after the store was restarted."""
        async with self.placed(tmp_path) as place:
            log = await place.open()
            await log.append(make_events(1, 40))
            await place.close(log)
            log = await place.open()
            assert (log.head, await read_all(log)) == (39, make_events(1, 40))
            await log.append(make_events(38, 60))
            await place.close(log)
            await place.restart()
            log = await place.open()
            assert (log.head, await read_all(log)) == (59, make_events(1, 60))
            await log.append(make_events(60, 61))
            assert log.head == 60
            await place.close(log)

    async def test_a_write_that_failed_can_be_repeated(self, tmp_path: Path) -> None:
        """Whether it has happened or not: it is there once afterwards."""
        async with self.placed(tmp_path) as place:
            log = await place.open()
            await log.append(make_events(1, 4))
            for first in (4, 40, 80):
                async with place.broken():
                    with pytest.raises(OSError):  # noqa: PT011 - stores have their own texts
                        await log.append(make_events(first, first + 20))
                    assert log.head == first - 1
                await self._insist(log, make_events(first, first + 30))
                await log.append(make_events(first + 30, first + 40 - first % 10))
                assert log.head == first + 39 - first % 10
            await place.close(log)
            log = await place.open()
            assert await read_all(log) == make_events(1, log.head + 1)
            await place.close(log)

    async def test_a_damaged_end_loses_nothing_that_was_acknowledged(self, tmp_path: Path) -> None:
        """It is mended when the log is opened."""
        async with self.placed(tmp_path) as place:
            for first in (1, 31):
                log = await place.open()
                await log.append(make_events(first, first + 30))
                await place.close(log)
                place.damage()
            log = await place.open()
            assert (log.head, await read_all(log)) == (60, make_events(1, 61))
            await log.append(make_events(61, 70))
            assert await read_all(log) == make_events(1, 70)
            await place.close(log)

    # -- two writers

    async def test_one_of_two_writers_wins(self, tmp_path: Path) -> None:
        """The other one is refused when it opens the log, or superseded for good."""
        async with self.placed(tmp_path) as place:
            first = await place.open("a")
            await first.append(make_events(1, 4))
            try:
                second = await place.open("b")
            except GenieError:
                await first.append(make_events(4, 9))
                assert await read_all(first) == make_events(1, 9)
                await place.close(first)
                return
            assert await read_all(second) == make_events(1, 4)
            await second.append(make_events(4, 7, "bob"))
            for end in (5, 9):
                with pytest.raises(Superseded):
                    await first.append(make_events(4, end))
            await second.append(make_events(7, 9, "bob"))
            with pytest.raises(Superseded):
                await first.append(make_events(4, 10))
            assert first.head == 3
            assert await read_all(first) == make_events(1, 4)
            assert await read_all(second) == [*make_events(1, 4), *make_events(4, 9, "bob")]
            await place.close(first)
            first = await place.open("a")
            assert await read_all(first) == await read_all(second)
            await place.close(first)
            await place.close(second)

    async def test_of_writers_at_the_same_time_one_wins(self, tmp_path: Path) -> None:
        """Each time, the winner's events are there, whole and once."""
        async with self.placed(tmp_path) as place:
            expected: list[Event] = []
            for _ in range(6):
                logs = [await place.open("a")]
                try:
                    logs.append(await place.open("b"))
                except GenieError:
                    await place.close(logs[0])
                    return
                first = len(expected) + 1
                groups = [make_events(first, first + 5, name) for name in ("ann", "bob")]
                appends = [log.append(each) for log, each in zip(logs, groups, strict=True)]
                results = await asyncio.gather(*appends, return_exceptions=True)
                assert sorted(type(each).__name__ for each in results) == ["NoneType", "Superseded"]
                expected += groups[results.index(None)]
                assert await read_all(logs[results.index(None)]) == expected
                for log in logs:
                    await place.close(log)

    # -- crashes

    @pytest.mark.drill
    async def test_killed_writer_keeps_acknowledged(
        self, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        """It is killed in the middle of groups; each group that it printed is there, once."""
        kills = max(1, round(4 * float(request.config.getoption("--drills", default=1.0))))
        async with self.placed(tmp_path) as place:
            for groups in KILLED_AFTER[:kills]:
                acknowledged = await _killed_after(groups, place.program())
                log = await place.open()
                assert log.head >= acknowledged
                assert await read_all(log) == make_events(1, log.head + 1)
                await log.append(make_events(log.head + 1, log.head + 3))
                await place.close(log)

    async def _write_groups(self, log: Log, groups: int) -> None:
        for _, size in zip(range(groups), cycle(GROUPS), strict=False):
            await log.append(make_events(log.head + 1, log.head + 1 + size))

    async def _insist(self, log: Log, events: Sequence[Event]) -> None:
        """Append as a room does: again until it succeeds."""
        while log.head < events[-1].seq:
            try:
                await log.append(events)
            except OSError:
                await asyncio.sleep(0.05)


async def _killed_after(groups: int, program: Sequence[str]) -> int:
    """Kill a writing process after it has printed so many heads; return the last one printed."""
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE)
    assert process.stdout is not None
    acknowledged = b""
    try:
        for _ in range(groups):
            acknowledged = await process.stdout.readline() or acknowledged
    finally:
        process.kill()
    for line in (await process.stdout.read()).splitlines(keepends=True):
        acknowledged = line if line.endswith(b"\n") else acknowledged
    await process.wait()
    assert acknowledged, "the writing process did not write"
    return int(acknowledged)
