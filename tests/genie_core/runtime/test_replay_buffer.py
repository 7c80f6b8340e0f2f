import asyncio

import pytest
from tests.limits import scaled

from genie_core.errors import EventsMissed
from genie_core.runtime.replay_buffer import ReplayableStream


async def test_early_and_late_readers_get_all() -> None:
    record: ReplayableStream[int] = ReplayableStream()
    record.add(1)

    async def read() -> list[int]:
        return [item async for item in record.read()]

    async with asyncio.timeout(scaled(60)), asyncio.TaskGroup() as group:
        early = [group.create_task(read()) for _ in range(2)]
        await asyncio.sleep(0)
        record.add(2)
        await asyncio.sleep(0)
        record.add(3)
        record.close()
    late = await read()
    assert [task.result() for task in early] == [[1, 2, 3], [1, 2, 3]]
    assert late == [1, 2, 3]


async def test_a_reader_that_leaves_changes_nothing() -> None:
    record: ReplayableStream[int] = ReplayableStream()
    record.add(1)
    record.add(2)
    async for _ in record.read():
        break
    record.close()
    assert [item async for item in record.read()] == [1, 2]


async def test_forgetting_keeps_reader_position() -> None:
    record: ReplayableStream[int] = ReplayableStream()
    for number in range(6):
        record.add(number)
    reader = record.read()
    assert [await anext(reader) for _ in range(3)] == [0, 1, 2]
    record.forget(lambda number: number in {1, 4})
    record.close()
    assert [item async for item in reader] == [3, 5]
    assert [item async for item in record.read()] == [0, 2, 3, 5]


async def test_reading_begins_after_any_number() -> None:
    record: ReplayableStream[str] = ReplayableStream()
    for item in "abcd":
        record.add(item)
    record.drop([2])
    record.close()
    assert record.last == 4
    assert [[item async for item in record.read(after)] for after in (0, 1, 3, 4, 9)] == [
        ["a", "c", "d"],
        ["c", "d"],
        ["d"],
        [],
        [],
    ]


async def test_cut_is_reported_to_slow_readers() -> None:
    record: ReplayableStream[str] = ReplayableStream()
    for item in "abcd":
        record.add(item)
    behind, ahead = record.read(), record.read()
    assert await anext(behind) == "a"
    assert [await anext(ahead) for _ in range(3)] == ["a", "b", "c"]
    record.cut(3)
    record.close()
    with pytest.raises(EventsMissed) as missed:
        await anext(behind)
    assert missed.value.last == 3
    assert [item async for item in ahead] == ["d"]
    assert [item async for item in record.read(3)] == ["d"]
