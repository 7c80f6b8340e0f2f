import asyncio
import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.genie_core.sessions.log_content import read_lines

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    HostStarted,
    MessagePosted,
    UnreadableEvent,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.index import BASE_EVERY, INDEX_NAME, TAIL, LogIndex
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.log.writer import EventLog
from genie_core.storage.errors import DiskFailure


def events(first: int, last: int) -> list[Event]:
    return [
        Event(n, float(n), "alice", MessagePosted(str(n), "x" * (n % 50)))
        for n in range(first, last)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "room" / "events.jsonl"


async def test_what_was_appended_is_there_next_time(path: Path) -> None:
    log, _, past, problems = EventLog.open(path)
    with log:
        assert (past, problems, log.head) == ([], [], 0)
        await log.append(events(1, 4))
        await log.append([])
        await log.append(events(4, 6))
        assert log.head == 5
    log, _, past, problems = EventLog.open(path)
    with log:
        assert (past, problems, log.head) == (events(1, 6), [], 5)
        await log.append(events(6, 7))
    assert read_lines(path.read_bytes()).events == events(1, 7)


async def test_files_belong_to_their_owner_alone(path: Path) -> None:
    with EventLog.open(path).log:
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_repeated_append_changes_nothing(path: Path) -> None:
    with EventLog.open(path).log as log:
        await log.append(events(1, 4))
        await log.append(events(1, 6))
        await log.append(events(2, 5))
    assert EventLog.open(path).events == events(1, 6)


async def test_a_gap_is_a_mistake_and_writes_nothing(path: Path) -> None:
    with EventLog.open(path).log as log:
        await log.append(events(1, 3))
        with pytest.raises(ValueError, match="event 5 does not follow event 2"):
            await log.append(events(5, 6))
        with pytest.raises(ValueError, match="does not follow"):
            await log.append([*events(3, 4), *events(7, 8)])
        await log.append(events(3, 4))
    assert EventLog.open(path).events == events(1, 4)


async def test_contradicting_event_is_refused(path: Path) -> None:
    other = Event(3, 99.0, "bob", MessagePosted("9", "the host wrote on after it lost its end"))
    with EventLog.open(path).log as log:
        await log.append(events(1, 4))
        with pytest.raises(ValueError, match="event 3 is another one than on disk"):
            await log.append([other, *events(4, 6)])
    with EventLog.open(path).log as log, pytest.raises(ValueError, match="another one"):
        await log.append([other, *events(4, 6)])
    assert EventLog.open(path).events == events(1, 4)


async def test_damaged_end_contradicts_nothing(path: Path) -> None:
    with EventLog.open(path).log as log:
        await log.append(events(1, 4))
    path.write_bytes(path.read_bytes().replace(b'"3"', b'"8"'))
    with EventLog.open(path).log as log:
        await log.append(events(1, 6))
    assert [event.seq for event in EventLog.open(path).events] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "body", [AnswerPosted(77, "to nothing"), ApprovalResolved(1, "a", "approved")]
)
async def test_contradicting_entry_is_reported(path: Path, body: AnyBody) -> None:
    wrong = Event(3, 3.0, "alice", body)
    with EventLog.open(path).log as log:
        await log.append([*events(1, 3), wrong, *events(4, 6)])
    before = path.read_bytes()
    log, _, past, problems = EventLog.open(path)
    with log:
        await log.append(events(6, 7))
    assert len(problems) == 1
    assert "event 3" in problems[0]
    assert isinstance(past[2].body, UnreadableEvent)
    assert [event.seq for event in past] == [1, 2, 3, 4, 5]
    state = RoomState()
    for event in past:
        state.apply(event)
    assert list(state.threads) == [1, 2, 4, 5]
    assert path.read_bytes().startswith(before)


def test_unopenable_log_is_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file" / "events.jsonl", tmp_path):
        with pytest.raises(DiskFailure, match="can't open") as failure:
            EventLog.open(path)
        assert str(path) in str(failure.value)


async def test_a_closed_log_takes_nothing(path: Path) -> None:
    log = EventLog.open(path).log
    log.close()
    log.close()
    with pytest.raises(ValueError, match="closed"):
        await log.append(events(1, 2))


async def test_callers_at_the_same_time_take_turns(path: Path) -> None:
    with EventLog.open(path).log as log:
        await asyncio.gather(*(log.append(events(1, n)) for n in range(2, 60)))
    assert EventLog.open(path).events == events(1, 60 - 1)


@pytest.mark.parametrize("lost", [1, 2, 10, 30])
async def test_torn_end_is_cut_before_append(path: Path, lost: int) -> None:
    with EventLog.open(path).log as log:
        await log.append(events(1, 4))
    os.truncate(path, path.stat().st_size - lost)
    log, _, past, problems = EventLog.open(path)
    with log:
        assert past == events(1, 3)
        assert len(problems) == 1
        assert "was unfinished" in problems[0]
        assert problems[0].endswith("cut off")
        await log.append([Event(3, 9.0, "", HostStarted("hana"))])
    log, _, past, problems = EventLog.open(path)
    log.close()
    assert problems == []
    assert past == [*events(1, 3), Event(3, 9.0, "", HostStarted("hana"))]


async def test_a_damaged_line_does_not_stop_the_room(path: Path) -> None:
    with EventLog.open(path).log as log:
        await log.append(events(1, 6))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"alice", b"mallo")
    path.write_bytes(b"".join(lines))
    log, _, past, problems = EventLog.open(path)
    with log:
        assert any("line 3 is damaged" in problem for problem in problems)
        assert [event.seq for event in past] == [1, 2, 3, 4, 5]
        await log.append(events(6, 7))
    assert path.read_bytes().startswith(b"".join(lines))


WITH_SMALL_FILES = """
import asyncio, resource, signal, sys
from pathlib import Path
from genie_core.sessions.log.writer import EventLog
from genie_core.sessions.log.reader import LogReader
from genie_core.room.protocol.events import Event, MessagePosted

async def main() -> None:
    path = Path(sys.argv[1])
    log = EventLog.open(path).log
    await log.append([Event(1, 1.0, "alice", MessagePosted("1", "fits"))])
    before = path.read_bytes()
    big = [Event(n, 1.0, "alice", MessagePosted(str(n), "x" * 1000)) for n in range(2, 12)]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
    for attempt in range(2):
        try:
            await log.append(big)
        except OSError as error:
            print("failed", error.errno)
        assert path.read_bytes() == before
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await log.append(big)
    log.close()

asyncio.run(main())
"""


def test_failed_write_can_be_repeated(path: Path) -> None:
    """The system stops the file from growing, after a part of the write has been done."""
    done = subprocess.run(
        [sys.executable, "-c", WITH_SMALL_FILES, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.split("\n")[:2] == [f"failed {errno.EFBIG}"] * 2
    opened = EventLog.open(path)
    opened.log.close()
    assert opened.problems == []
    assert [event.seq for event in opened.events] == list(range(1, 12))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
async def test_a_full_disk_is_an_os_error(tmp_path: Path) -> None:
    descriptor = os.open("/dev/full", os.O_RDWR)
    log = EventLog(tmp_path / "events.jsonl", descriptor, LogIndex(), None)
    with log, pytest.raises(OSError) as full:
        await log.append(events(1, 2))
    assert full.value.errno in (errno.ENOSPC, errno.EINVAL)
    assert log.head == 0


WRITER = """
import asyncio, sys
from pathlib import Path
from genie_core.sessions.log.writer import EventLog
from genie_core.sessions.log.reader import LogReader
from genie_core.room.protocol.events import Event, MessagePosted

async def main() -> None:
    log, _, past, _ = EventLog.open(Path(sys.argv[1]))
    seq = len(past) + 1
    while True:
        group = [Event(seq + n, 1.0, "a", MessagePosted(str(seq + n), "x" * (n * 37 % 500))) for n in range(20)]
        await log.append(group)
        seq += 20
        print(seq - 1, flush=True)

asyncio.run(main())
"""


def test_killed_writer_keeps_acknowledged(path: Path) -> None:
    acknowledged = 0
    for groups in (1, 5, 17, 40):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        with writer:
            assert writer.stdout is not None
            for _ in range(groups):
                acknowledged = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            for line in writer.stdout:
                if line.endswith("\n"):
                    acknowledged = int(line)
        with EventLog.open(path).log as log:
            found = log.read(0, log.head)
        assert len(found) >= acknowledged
        assert [event.seq for event in found] == list(range(1, len(found) + 1))
        assert all(isinstance(event.body, MessagePosted) for event in found)


def test_few_hundred_events_get_index(path: Path) -> None:
    with EventLog.open(path).log as log:
        for first in range(1, 2_000, 10):
            log.write(events(first, first + 10))
    opened = EventLog.open(path)
    with opened.log as log:
        assert log.head == 2_000
        assert TAIL <= len(opened.events) <= 2 * TAIL + 10


def test_long_log_opens_with_its_end(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"".join(map(encode_line, events(1, 20_001))))
    opened = EventLog.open(path)
    with opened.log as log:
        assert TAIL <= len(opened.events) < 20_000
        assert opened.events == events(opened.base.seq + 1, 20_001)
        assert opened.base.room().head == opened.base.seq
        assert opened.state().messages == 20_000
        assert log.read(0, 3) == events(1, 4)
        assert log.read(9_998, 600) == events(9_999, 10_599)
        assert log.read(19_999, 5) == events(20_000, 20_001)
        assert log.read(20_000, 5) == []
    assert log.read(0, 3) == []


def test_index_only_speeds_up_reading(path: Path) -> None:
    with EventLog.open(path).log as log:
        for first in range(1, 12_001, 100):
            log.write(events(first, first + 100))
    index = path.with_name(INDEX_NAME)
    assert stat.S_IMODE(index.stat().st_mode) == 0o600
    with (whole := EventLog.open(path)).log:
        known = index.read_bytes()
    index.unlink()
    with (second := EventLog.open(path)).log as log:
        assert log.read(0, 20_000) == events(1, 12_001)
    assert encode_state(whole.state()) == encode_state(second.state())
    assert index.exists()
    index.write_bytes(known[: len(known) // 2])
    with (third := EventLog.open(path)).log:
        assert encode_state(third.state()) == encode_state(second.state())


@pytest.mark.parametrize("place", [0.01, 0.3, 0.7, 0.99])
def test_edited_log_voids_index(path: Path, place: float) -> None:
    with EventLog.open(path).log as log:
        for first in range(1, 12_001, 100):
            log.write(events(first, first + 100))
    data = bytearray(path.read_bytes())
    data[int(len(data) * place)] ^= 1
    path.write_bytes(data)
    with (opened := EventLog.open(path)).log as log:
        assert len(opened.problems) >= 1
        assert "damaged" in opened.problems[0]
        everything = log.read(0, 20_000)
    assert [event.seq for event in everything] == list(range(1, 12_001))
    lost = [event for event in everything if isinstance(event.body, UnreadableEvent)]
    assert 1 <= len(lost) <= 2
    with (again := EventLog.open(path)).log:
        assert again.problems == opened.problems


@pytest.mark.parametrize("place", [0.0001, 0.2, 0.5, 0.8, 0.9999])
def test_a_damaged_index_is_not_believed(path: Path, place: float) -> None:
    with EventLog.open(path).log as log:
        for first in range(1, 12_001, 100):
            log.write(events(first, first + 100))
    index = path.with_name(INDEX_NAME)
    data = bytearray(index.read_bytes())
    data[int(len(data) * place)] ^= 1
    index.write_bytes(data)
    with LogReader.open(path) as reader:
        assert list(reader.events()) == events(1, 12_001)
        assert not reader.problems


def test_pipe_as_index_is_skipped(path: Path) -> None:
    with EventLog.open(path).log as log:
        log.write(events(1, 10))
    os.mkfifo(path.with_name(INDEX_NAME))
    with LogReader.open(path) as reader:
        assert list(reader.events()) == events(1, 10)
    with (opened := EventLog.open(path)).log:
        assert opened.events == events(1, 10)


def test_log_takes_any_tool_arguments(path: Path) -> None:
    first = Event(1, 1.0, "alice", MessagePosted("m", "go", handler="alice"))
    delegated = Event(2, 2.0, "alice", DecisionMade(1, "delegate", query="go"))
    big = Event(3, 3.0, "alice", ApprovalRequested(1, "a", "agent", "tool", {"n": 10**40}))
    with EventLog.open(path).log as log:
        log.write([first, delegated, big])
        log.write(events(4, 2 * BASE_EVERY))
    with LogReader.open(path) as reader:
        assert reader.state().calls["a"].arguments == {"n": 10**40}


def test_a_log_that_is_a_link_is_not_written_to(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("a line, and another one without an end")
    path.parent.mkdir()
    path.symlink_to(other)
    with pytest.raises(DiskFailure):
        EventLog.open(path)
    assert other.read_text().endswith("without an end")


def test_cut_log_is_read_without_index(path: Path) -> None:
    with EventLog.open(path).log as log:
        for first in range(1, 12_001, 100):
            log.write(events(first, first + 100))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with (opened := EventLog.open(path)).log as log:
        assert 0 < log.head < 12_000
        assert opened.events[-1].seq == log.head
        log.write(events(log.head + 1, log.head + 2))
    with (again := EventLog.open(path)).log:
        assert again.log.head == log.head


def test_crash_after_opening_keeps_index(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"".join(map(encode_line, events(1, 20_001))))
    with EventLog.open(path).log:  # as it is found by the next one if this one is killed now
        opened = EventLog.open(path)
        opened.log.close()
    assert len(opened.events) < 10_000
    assert opened.state().head == 20_000


def test_torn_tail_keeps_last_event_known(path: Path) -> None:
    with EventLog.open(path).log as log:
        log.write(events(1, BASE_EVERY + 1))
    with path.open("ab") as file:
        file.write(bytes(4_000_000))  # as after a power cut
    with (opened := EventLog.open(path)).log as log:
        assert log.head == opened.state().head == BASE_EVERY
        assert log.last == events(BASE_EVERY, BASE_EVERY + 1)[0]
        with pytest.raises(ValueError, match="another one"):
            log.write([Event(BASE_EVERY, 0.0, "bob", MessagePosted("no", "not me"))])


def test_a_log_is_not_closed_while_it_is_read(path: Path) -> None:
    """Else what is read could be another file, which the system gave the same number."""
    with EventLog.open(path).log as log:
        log.write(events(1, 3_001))
    opened = EventLog.open(path)
    with ThreadPoolExecutor(2) as threads:
        reads = [threads.submit(opened.log.read, 0, 3_000) for _ in range(4)]
        while not any(each.done() for each in reads):
            time.sleep(0)
        opened.log.close()
        others = [os.open(os.devnull, os.O_RDONLY) for _ in range(8)]
        found = [each.result() for each in reads]
    for each in others:
        os.close(each)
    assert all(each in ([], events(1, 3_001)) for each in found)


def remove(path: Path) -> None:
    path.unlink()


def remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name(f"elsewhere-{path.stat().st_size}"))


def replace_log(path: Path) -> None:
    path.with_name("other").write_bytes(b"another file\n")
    path.with_name("other").replace(path)


def append_rubbish(path: Path) -> None:
    with path.open("ab") as log:
        log.write(b"rubbish")


def cut(path: Path) -> None:
    os.truncate(path, 50_000)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def change(path: Path) -> None:
    with path.open("r+b") as log:
        log.seek(1_000)
        log.write(b"?" * 5_000)
        log.truncate(60_000)


HARMS = [remove, remove_folder, move_folder, replace_log, append_rubbish, cut, empty, change]


@pytest.mark.parametrize("harm", HARMS)
async def test_removed_log_is_rewritten(path: Path, harm: Callable[[Path], None]) -> None:
    known, told = list[Event](), list[str]()
    with EventLog.open(path).log as log:
        log.memory = known.copy
        log.on_restored.append(told.append)
        for first in (1, 2_000, 4_000):
            batch = events(first, first + (1_999 if first == 1 else 2_000))
            known += batch
            await log.append(batch)
            harm(path)
        known += events(6_000, 6_001)
        await log.append(known[-1:])
        assert read_lines(path.read_bytes()).events == known
        assert log.read(1_990, 20) == known[1_990:2_010]
        assert len(told) == 3
        assert all("written anew, complete" in each for each in told)
        await log.append(events(6_001, 6_002))
        assert len(told) == 3
    opened = EventLog.open(path)
    opened.log.close()
    assert (opened.head, opened.problems) == (6_001, [])


async def test_what_is_lost_with_the_file_is_marked(path: Path) -> None:
    told: list[str] = []
    with EventLog.open(path).log as log:
        await log.append(events(1, 101))
        empty(path)
        log.memory = lambda: events(41, 103)  # more than is to be written now
        log.on_restored.append(told.append)
        await log.append(events(101, 102))
        found = read_lines(path.read_bytes())
        assert found.told() == []
        assert found.events[40:] == events(41, 102)
        assert all(isinstance(each.body, UnreadableEvent) for each in found.events[:40])
        assert "40 events could not be restored" in told[0]
        assert path.with_name("events.jsonl.damaged-1").exists()
        await log.append(events(102, 103))
    assert read_lines(path.read_bytes()).events[40:] == events(41, 103)


async def test_acknowledgement_waits_for_rewrite(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EventLog.open(path).log as log:
        await log.append(events(1, 10))
        shutil.rmtree(path.parent)
        path.parent.write_bytes(b"in the way")
        with pytest.raises(OSError, match=r"exists|Not a directory"):
            await log.append(events(10, 12))
        assert log.head == 9
        path.parent.unlink()
        await log.append(events(10, 13))
    assert read_lines(path.read_bytes()).events == events(1, 13)


async def test_changed_inode_is_same_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with EventLog.open(path).log as log:
        log.on_restored.append(told.append)
        monkeypatch.setattr(os.path, "samestat", lambda _one, _other: False)
        await log.append(events(1, 10))
        await log.append(events(10, 12))
        assert told == []
        size = len(path.read_bytes()) + len(encode_line(events(12, 13)[0]))
        path.with_name("other").write_bytes(b"?" * size)
        path.with_name("other").replace(path)
        await log.append(events(12, 13))
        assert len(told) == 1
    assert read_lines(path.read_bytes()).events == events(1, 13)
