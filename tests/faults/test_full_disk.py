"""A disk that is full, or breaks in the middle: a room's log, and whoever is in that room."""

import errno
import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.seated import quiet_engine
from tests.faults.failing_disk import ERRORS, FailingDisk, Fault
from tests.genie_tui.scripted_room import until
from tests.ports import free_port
from textual.pilot import Pilot
from textual.widgets import TextArea

import genie_core.room.open.profile
from genie_core.room.open.requests import NewRoom
from genie_core.room.open.service import RoomService
from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.log.writer import EventLog
from genie_core.sessions.metadata import SessionMetadata
from genie_core.sessions.session import METADATA_NAME, SavedSession
from genie_core.settings.locations import find_locations
from genie_core.settings.model import Settings
from genie_core.storage.errors import DiskFailure
from genie_tui.app import GenieApp
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.banner import Banner
from genie_tui.widgets.composer.composer import Composer

faults = st.one_of(
    st.builds(Fault, st.just("write"), st.sampled_from((0, *ERRORS)), st.integers(1, 300)),
    st.builds(Fault, st.just("fdatasync"), st.sampled_from(ERRORS)),
    st.builds(Fault, st.just("ftruncate"), st.sampled_from(ERRORS)),
)
rounds = st.lists(st.tuples(st.integers(1, 4), st.lists(faults, max_size=4)), max_size=8)


def said(seq: int) -> Event:
    return Event(
        seq, float(seq), "ann", MessagePosted(str(seq), f"message {seq} " + "x" * (seq * 31 % 120))
    )


def on_disk(path: Path) -> list[Event]:
    with LogReader.open(path) as reader:
        return list(reader.events())


@contextmanager
def log_on_failing_disk() -> Iterator[tuple[EventLog, FailingDisk]]:
    with TemporaryDirectory() as folder:
        disk = FailingDisk(Path(folder) / "events.jsonl")
        with EventLog.open(disk.path).log as log, disk.installed():
            yield log, disk


@given(rounds)
def test_acknowledged_events_survive(
    plan: Sequence[tuple[int, Sequence[Fault]]],
) -> None:
    """The same events come again until they are taken, as a room's server does it."""
    with log_on_failing_disk() as (log, disk):
        head = 0
        for count, failures in plan:
            disk.next(failures)
            group = [said(seq) for seq in range(head + 1, head + 1 + count)]
            try:
                log.write(group)
            except OSError:
                assert log.head == head
            else:
                head = group[-1].seq
            found = on_disk(disk.path)  # as after a crash at this moment
            assert found[:head] == [said(seq) for seq in range(1, head + 1)]
            assert [event.seq for event in found] == list(range(1, len(found) + 1))
        disk.next([])
        log.write([said(seq) for seq in range(1, head + 2)])
        assert on_disk(disk.path) == [said(seq) for seq in range(1, head + 2)]
        assert disk.path.read_bytes().count(b"\n") == head + 1


@pytest.mark.parametrize("taken", range(0, 200, 7))
@pytest.mark.parametrize("error", ERRORS)
def test_failed_write_keeps_file(taken: int, error: int) -> None:
    with log_on_failing_disk() as (log, disk):
        log.write([said(1)])
        before = disk.path.read_bytes()
        disk.next([Fault("write", error, taken)])
        with pytest.raises(OSError, match=os.strerror(error)):
            log.write([said(2), said(3)])
        assert disk.path.read_bytes() == before
        log.write([said(2), said(3)])
        assert on_disk(disk.path) == [said(1), said(2), said(3)]


def test_bytewise_writes_complete() -> None:
    with log_on_failing_disk() as (log, disk):
        disk.next([Fault("write", 0, 1)] * 150)
        log.write([said(1), said(2)])
        assert on_disk(disk.path) == [said(1), said(2)]


def test_disk_taking_nothing_fails_write() -> None:
    with log_on_failing_disk() as (log, disk):
        disk.next([Fault("write")])
        with pytest.raises(OSError, match="took nothing"):
            log.write([said(1)])
        log.write([said(1)])
        assert on_disk(disk.path) == [said(1)]


def test_failed_truncate_is_repeated_later() -> None:
    with log_on_failing_disk() as (log, disk):
        log.write([said(1)])
        disk.next([Fault("write", errno.ENOSPC, 50), Fault("ftruncate", errno.EIO)])
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            log.write([said(2)])
        disk.next([Fault("ftruncate", errno.EIO)])
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            log.write([said(2)])
        log.write([said(2)])
        assert on_disk(disk.path) == [said(1), said(2)]


def test_missing_index_only_slows_opening(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    (tmp_path / INDEX_NAME).mkdir()  # which no file can take the place of
    with EventLog.open(path).log as log:
        for start in range(1, 12_001, 1_000):
            log.write([said(seq) for seq in range(start, start + 1_000)])
    opened = EventLog.open(path)
    with opened.log:
        assert opened.problems == []
        assert opened.state().head == 12_000


def test_unwritable_record_stays_unchanged(tmp_path: Path) -> None:
    folder = tmp_path / "room"
    folder.mkdir()
    saved = SavedSession(
        folder, SessionMetadata(id="r", title="Garden", kind="hosted", created=1.0)
    )
    saved.write()
    before = (folder / METADATA_NAME).read_bytes()
    (folder / f"{METADATA_NAME}.new").mkdir()
    with pytest.raises(DiskFailure, match=r"can't write .*room\.json"):
        saved.update(title="Orchard")
    assert (folder / METADATA_NAME).read_bytes() == before
    (folder / f"{METADATA_NAME}.new").rmdir()
    saved.update(title="Orchard")
    assert json.loads((folder / METADATA_NAME).read_bytes())["title"] == "Orchard"


# -- on the screen


@pytest.fixture
async def hosting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[RoomScreen, Pilot[Any]]]:
    """The app with a room that ann hosts, which is saved for real."""
    monkeypatch.setattr(genie_core.room.open.profile, "engine_loader", quiet_engine)
    settings = Settings(local=True, announce=False, port=free_port())
    service = RoomService("ann", settings, find_locations({"GENIE_HOME": str(tmp_path)}))
    app = GenieApp(service, NewRoom("Garden"), "ann")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        await until(
            pilot, lambda: screen.joined is not None and not screen.query_one(Banner).display
        )
        yield screen, pilot


def texts(screen: RoomScreen) -> list[str]:
    assert screen.joined is not None
    return [thread.said.text for thread in screen.joined.state.threads.values()]


async def test_full_disk_keeps_unsent_messages(
    hosting: tuple[RoomScreen, Pilot[Any]], tmp_path: Path
) -> None:
    screen, pilot = hosting
    joined, banner = screen.joined, screen.query_one(Banner)
    assert joined is not None
    disk = FailingDisk(tmp_path / "data" / "sessions" / joined.saved / "events.jsonl", full=True)
    with disk.installed():
        for word in ("one", "two"):
            await pilot.press(*word, "enter")
        await until(pilot, lambda: banner.display)
        assert banner.has_class("-closed")
        assert os.strerror(errno.ENOSPC) in str(banner.render())
        assert "none is lost" in str(banner.render())
        assert [unsent.text for unsent in joined.messages.pending] == ["one", "two"]
        assert texts(screen) == []
        await pilot.press(*"half a sen")
        disk.full = False
        await until(pilot, lambda: texts(screen) == ["one", "two"] and not joined.messages.pending)
        await until(pilot, lambda: not banner.display)
        assert screen.query_one(Composer).query_one(TextArea).text == "half a sen"
    found = [
        event.body.text for event in on_disk(disk.path) if isinstance(event.body, MessagePosted)
    ]
    assert found == ["one", "two"]
