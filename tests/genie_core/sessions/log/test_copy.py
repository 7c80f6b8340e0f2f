import asyncio
import errno
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.genie_core.sessions.log_content import read_lines
from tests.limits import scaled

from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.sessions.log.copy import MOST_WAITING, LogCopy
from genie_core.sessions.log.writer import EventLog


def event(seq: int) -> Event:
    return Event(seq, float(seq), "ann", MessagePosted(str(seq), f"message {seq}"))


async def test_events_before_attach_are_written(tmp_path: Path) -> None:
    reports: list[str] = []
    copy = LogCopy(reports.append)
    copy.keep(event(1))
    log, *_ = EventLog.open(tmp_path / "events.jsonl")
    copy.attach(log)
    copy.keep(event(2))
    await copy.aclose()
    assert read_lines((tmp_path / "events.jsonl").read_bytes()).events == [event(1), event(2)]
    assert reports == []


async def test_events_in_file_are_skipped(tmp_path: Path) -> None:
    for last in (2, 4):
        copy = LogCopy(lambda _: None)
        log, *_ = EventLog.open(tmp_path / "events.jsonl")
        copy.attach(log)
        for seq in range(1, last + 1):
            copy.keep(event(seq))
        await copy.aclose()
    assert read_lines((tmp_path / "events.jsonl").read_bytes()).events == [
        event(seq) for seq in range(1, 5)
    ]


async def test_failing_disk_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(_self: EventLog, _events: Sequence[Event]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(EventLog, "append", full)
    reports: list[str] = []
    copy = LogCopy(reports.append)
    log, *_ = EventLog.open(tmp_path / "events.jsonl")
    copy.attach(log)
    for seq in range(1, 10):
        copy.keep(event(seq))
    await copy.aclose()
    copy.keep(event(10))
    assert len(reports) == 1
    assert "No space left on device" in reports[0]


async def test_diverged_copy_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog.open(path).log as log:
        await log.append([event(1), Event(2, 99.0, "bob", MessagePosted("x", "only here"))])
    before = path.read_bytes()
    reports: list[str] = []
    copy = LogCopy(reports.append)
    copy.attach(EventLog.open(path).log)
    for seq in range(1, 4):
        copy.keep(event(seq))
    await copy.aclose()
    assert path.read_bytes() == before
    assert len(reports) == 1
    assert "event 2 is another one" in reports[0]


async def test_it_says_when_there_is_space_for_more(tmp_path: Path) -> None:
    copy = LogCopy(lambda _: None)
    for seq in range(1, MOST_WAITING + 1):
        copy.keep(event(seq))
    await copy.space()
    copy.keep(event(MOST_WAITING + 1))
    waiting = asyncio.create_task(copy.space())
    await asyncio.sleep(0)
    assert not waiting.done()
    copy.attach(EventLog.open(tmp_path / "events.jsonl").log)
    async with asyncio.timeout(scaled(60)):
        await waiting
    await copy.aclose()
    assert read_lines((tmp_path / "events.jsonl").read_bytes()).head == MOST_WAITING + 1


async def test_closing_ends_wait_for_space() -> None:
    copy = LogCopy(lambda _: None)
    for seq in range(1, MOST_WAITING + 2):
        copy.keep(event(seq))
    waiting = asyncio.create_task(copy.space())
    await asyncio.sleep(0)
    await copy.aclose()
    async with asyncio.timeout(scaled(60)):
        await waiting


async def test_a_copy_without_a_file_closes_at_once() -> None:
    copy = LogCopy(lambda _: None)
    copy.keep(event(1))
    await copy.aclose()


async def test_file_is_closed_off_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed_in: list[int] = []
    close = EventLog.close

    def note(log: EventLog) -> None:
        closed_in.append(threading.get_ident())
        close(log)

    monkeypatch.setattr(EventLog, "close", note)
    copy = LogCopy(lambda _: None)
    copy.attach(EventLog.open(tmp_path / "events.jsonl").log)
    await copy.aclose()
    assert len(closed_in) == 1
    assert closed_in != [threading.get_ident()]
