"""Both ends of a run: what was said is counted, timed, and found on disk."""

from pathlib import Path
from time import perf_counter

import pytest
from benchmarks.engine.drive import QUIET, measure
from benchmarks.engine.package import OURS, load
from benchmarks.engine.workload import SENDERS


@pytest.mark.parametrize("in_flight", [1, 3])
async def test_everything_is_handled_and_kept(tmp_path: Path, in_flight: int) -> None:
    run = await measure(load(OURS), tmp_path, messages=40, in_flight=in_flight, limit=30)
    assert run.asked == run.handled == 40
    assert run.expected == run.found == 50  # every fourth was answered
    assert 0 < run.first_p50 <= run.first_p99 < run.seconds
    assert 0 < run.last_p50 <= run.last_p99 < run.seconds
    assert run.written is None or run.written > sum(map(_size, tmp_path.rglob("session.jsonl")))


async def test_waiting_for_the_disk_is_not_counted(tmp_path: Path) -> None:
    began = perf_counter()
    run = await measure(load(OURS), tmp_path, messages=8, in_flight=1, limit=30, settle=True)
    assert run.found == run.expected == 10
    assert perf_counter() - began >= run.seconds + QUIET


async def test_nobody_goes_on_when_the_time_is_up(tmp_path: Path) -> None:
    run = await measure(load(OURS), tmp_path, messages=400, in_flight=1, limit=1e-9)
    assert run.handled == SENDERS
    assert run.found == run.expected


def _size(path: Path) -> int:
    return path.stat().st_size
