import asyncio
import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.genie_core.faulty_files import FaultyFiles
from tests.limits import scaled

from genie_core.errors import StateError
from genie_core.storage.disk import Disk
from genie_core.storage.journal import encode_line


def lines(*values: object) -> bytes:
    return b"".join(map(encode_line, values))


async def test_read_sees_earlier_appends(tmp_path: Path) -> None:
    disk = Disk()
    path = tmp_path / "a.jsonl"
    for number in range(50):
        _ = disk.append(path, lines(number))
    assert (await disk.read(lambda: disk.read_journal(path))).values == list(range(50))
    disk.close()


async def test_the_newest_of_many_replacements_wins(tmp_path: Path) -> None:
    disk = Disk()
    path = tmp_path / "a.json"
    promises = [disk.replace(path, str(number).encode()) for number in range(100)]
    await asyncio.gather(*promises)
    assert path.read_text() == "99"
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]
    disk.close()


async def test_torn_tail_is_cut_before_append(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(1, 2) + b'{"crc":"00')
    disk = Disk()
    await disk.append(path, lines(3))
    assert path.read_bytes() == lines(1, 2, 3)
    assert len(disk.problems) == 1
    disk.close()


async def test_unsynced_appends_sync_on_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FaultyFiles(monkeypatch, tmp_path)
    disk = Disk()
    await disk.append(tmp_path / "a.jsonl", lines(1))
    await disk.append(tmp_path / "b.jsonl", lines(1), sync=False)
    disk.close()
    synced = [path for name, path in files.calls if name == "fdatasync"]
    assert synced == ["a.jsonl", "b.jsonl"]
    assert (tmp_path / "b.jsonl").read_bytes() == lines(1)


async def test_failed_write_spares_next_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    disk = Disk()
    with pytest.raises(StateError, match="file"):
        await disk.append(tmp_path / "file" / "a.jsonl", lines(1))
    await disk.append(tmp_path / "b.jsonl", lines(1))
    assert len(disk.problems) == 1
    disk.close()


async def test_files_and_folders_are_private(tmp_path: Path) -> None:
    disk = Disk()
    path = tmp_path / "deep" / "er" / "a.jsonl"
    await disk.append(path, lines(1))
    await disk.replace(path.with_suffix(".json"), b"1")
    for file in (path, path.with_suffix(".json")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    disk.close()


async def test_closing_writes_rest_refuses_more(tmp_path: Path) -> None:
    disk = Disk()
    path = tmp_path / "a.jsonl"
    _ = disk.append(path, lines(1))
    disk.close()
    assert path.read_bytes() == lines(1)
    with pytest.raises(StateError, match="closed"):
        _ = disk.append(path, lines(2))


async def test_no_thread_is_left_after_closing(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    disk = Disk()
    await disk.append(tmp_path / "a.jsonl", lines(1))
    disk.close()
    assert set(threading.enumerate()) <= before


async def test_syncing_thread_takes_new_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncing, may_end = threading.Event(), threading.Event()
    others = set(threading.enumerate())  # a store of an earlier test may still sync
    workers: set[threading.Thread] = set()

    def slow(descriptor: int) -> None:
        if threading.current_thread() not in others:
            workers.add(threading.current_thread())
            syncing.set()
            may_end.wait(10)
        os.fsync(descriptor)

    disk = Disk()
    await disk.append(tmp_path / "a.jsonl", lines(1))
    monkeypatch.setattr(os, "fdatasync", slow)
    await disk.append(tmp_path / "a.jsonl", lines(2), sync=False)
    assert await asyncio.to_thread(syncing.wait, 10)
    later = disk.append(tmp_path / "b.jsonl", lines(3))
    may_end.set()
    await later
    disk.close()
    assert len(workers) == 1
    assert (tmp_path / "a.jsonl").read_bytes() == lines(1, 2)
    assert (tmp_path / "b.jsonl").read_bytes() == lines(3)


async def test_repeated_failure_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    disk = Disk()
    for number in range(20):
        with pytest.raises(StateError, match="file"):
            await disk.append(tmp_path / "file" / "a.jsonl", lines(number))
    (problem,) = disk.problems
    assert "cannot save" in problem
    assert "(20 times)" in problem
    disk.close()


async def test_many_damaged_lines_are_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x\n" * 500 + lines(1))
    disk = Disk()
    assert (await disk.read(lambda: disk.read_journal(path))).values == [1]
    (problem,) = disk.problems
    assert "500 damaged lines" in problem
    assert "1, 2, 3" in problem
    disk.close()


def test_unclosed_store_loses_nothing(tmp_path: Path) -> None:
    code = f"""
import asyncio
from pathlib import Path
from genie_core.datastore import DataStore
async def main():
    store = DataStore(Path({str(tmp_path)!r}))
    for number in range(200):
        store.append("log", [number])
asyncio.run(main())
"""
    source = Path(__file__).parents[3] / "src"
    env = {**os.environ, "PYTHONPATH": str(source)}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=scaled(60), env=env)
    assert (tmp_path / "log.jsonl").read_bytes() == lines(*range(200))


async def test_queued_appends_sync_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_busy, may_begin = threading.Event(), threading.Event()
    disk = Disk()
    await disk.append(tmp_path / "a.jsonl", lines("first"))
    files = FaultyFiles(monkeypatch, tmp_path)

    def work() -> None:
        is_busy.set()
        may_begin.wait(10)

    promises = [disk.read(work)]
    await asyncio.to_thread(is_busy.wait, 10)
    for number in range(100):
        promises.append(disk.append(tmp_path / "a.jsonl", lines(number)))
        promises.append(disk.replace(tmp_path / "b.json", str(number).encode()))
    may_begin.set()
    await asyncio.gather(*promises)
    assert [name for name, path in files.calls if path == "a.jsonl"] == ["write", "fdatasync"]
    assert [name for name, _ in files.calls].count("replace") == 1
    assert (tmp_path / "b.json").read_text() == "99"
    disk.close()


async def test_a_promise_is_kept_after_the_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk()
    await disk.append(tmp_path / "a.jsonl", lines("first"))
    syncing, may_sync = threading.Event(), threading.Event()

    def slow(descriptor: int) -> None:
        syncing.set()
        may_sync.wait(10)
        os.fsync(descriptor)

    monkeypatch.setattr(os, "fdatasync", slow)
    promise = disk.append(tmp_path / "a.jsonl", lines(1))
    assert await asyncio.to_thread(syncing.wait, 10)
    assert not promise.done()
    may_sync.set()
    await promise
    disk.close()


async def test_lines_do_not_overtake_those_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FaultyFiles(monkeypatch, tmp_path)
    disk = Disk()
    path = tmp_path / "a.jsonl"
    may_begin = threading.Event()
    files.room = 0
    first = disk.append(path, lines(1))
    _ = disk.read(lambda: may_begin.wait(10))  # parts the batches
    second = disk.append(path, lines(2))
    with pytest.raises(StateError, match="No space left"):
        await asyncio.wait_for(asyncio.shield(first), 60)
    files.room = None
    may_begin.set()
    await second
    assert path.read_bytes() == lines(1, 2)
    disk.close()


async def test_a_sync_that_fails_later_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk()
    path = tmp_path / "a.jsonl"
    await disk.append(path, lines(1))
    files = FaultyFiles(monkeypatch, tmp_path)
    files.fails = lambda _number, name: OSError(errno.EIO, "broken") if "sync" in name else None
    await disk.append(path, lines(2), sync=False)
    await disk.read(disk.sync)
    (problem,) = disk.problems
    assert "broken" in problem
    disk.close()


async def test_removed_file_is_recreated(tmp_path: Path) -> None:
    disk = Disk()
    path = tmp_path / "a.jsonl"
    await disk.append(path, lines(1))
    path.unlink()
    with pytest.raises(StateError, match="removed"):
        await disk.append(path, lines(2))
    await disk.append(path, lines(3))
    assert path.read_bytes() == lines(2, 3)
    disk.close()


async def test_few_files_are_open_and_none_while_idle(tmp_path: Path) -> None:
    def opened() -> int:
        held = Path("/proc/self/fd").iterdir()
        return sum(each.is_symlink() and str(tmp_path) in str(each.readlink()) for each in held)

    disk = Disk()
    for number in range(200):
        _ = disk.append(tmp_path / f"{number}.jsonl", lines(1))
    assert 0 < await disk.read(opened) <= 64
    disk.close()
    assert opened() == 0


async def test_any_write_error_spares_thread(
    tmp_path: Path,
) -> None:
    disk = Disk()
    with pytest.raises(StateError, match=r"null (byte|character)"):
        await disk.append(tmp_path / "a\0b", lines(1))
    await disk.append(tmp_path / "a.jsonl", lines(1))
    disk.close()
