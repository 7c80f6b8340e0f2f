import errno
import hashlib
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.genie_core.faulty_files import FaultyFiles, failing

from genie_core.storage.blobs import BLOCK_BYTES, BlobStore, on_disk
from genie_core.storage.errors import (
    BlobTooLarge,
    DamagedBlob,
    DiskFailure,
    InvalidDigest,
    NoAttachment,
    UnknownBlob,
)

DATA = random.Random(1).randbytes(300_000)
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def person_file(tmp_path: Path, data: bytes = DATA) -> Path:
    path = tmp_path / "photo.jpg"
    path.write_bytes(data)
    return path


def names(store: BlobStore) -> list[str]:
    return sorted(each.name for each in store.folder.iterdir())


def test_added_file_is_kept_once_read_only(store: BlobStore, tmp_path: Path) -> None:
    path = person_file(tmp_path)
    assert store.add(path) == (DIGEST, len(DATA))
    assert store.add(path) == (DIGEST, len(DATA))
    assert names(store) == [DIGEST]
    assert store.path(DIGEST).read_bytes() == DATA
    assert stat.S_IMODE(store.path(DIGEST).stat().st_mode) == 0o400
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert store.have(DIGEST) == store.size(DIGEST) == len(DATA)
    assert store.digests() == {DIGEST: len(DATA)}


def test_adding_again_mends_damaged_copy(store: BlobStore, tmp_path: Path) -> None:
    store.add(person_file(tmp_path))
    store.path(DIGEST).chmod(0o600)
    store.path(DIGEST).write_bytes(b"rot")
    store.add(person_file(tmp_path))
    assert store.path(DIGEST).read_bytes() == DATA


def test_special_files_are_refused(store: BlobStore, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    for path, why in [
        (tmp_path, "folder"),
        (tmp_path / "pipe", "not an ordinary file"),
        (Path("/dev/zero"), "not an ordinary file"),
        (tmp_path / "missing", "no such file"),
        (tmp_path / "empty", "empty"),
        (tmp_path / "nul\0", "null"),
        (tmp_path / ("x" * 300), "too long"),
    ]:
        with pytest.raises(NoAttachment, match=why):
            store.add(path)
    assert not store.folder.exists() or names(store) == []


def test_oversized_file_leaves_nothing(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs", limit=len(DATA) - 1)
    with pytest.raises(BlobTooLarge) as refusal:
        store.add(person_file(tmp_path))
    assert refusal.value.limit == len(DATA) - 1
    with pytest.raises(BlobTooLarge):
        store.begin(DIGEST, len(DATA))
    assert names(store) == []
    BlobStore(tmp_path / "blobs", limit=len(DATA)).add(person_file(tmp_path))


def test_pieces_are_checked_at_end(store: BlobStore) -> None:
    assert store.begin(DIGEST, len(DATA)) == 0
    for offset in range(0, len(DATA), 70_000):
        assert store.have(DIGEST) == offset
        store.write(DIGEST, offset, DATA[offset : offset + 70_000])
    assert store.size(DIGEST) is None
    assert store.finish(DIGEST, len(DATA)) == store.path(DIGEST)
    assert store.finish(DIGEST, len(DATA)) == store.path(DIGEST)
    assert names(store) == [DIGEST]
    assert store.begin(DIGEST, len(DATA)) == len(DATA)
    assert b"".join(store.read(DIGEST, at, 90_000) for at in range(0, 400_000, 90_000)) == DATA


@given(
    pieces=st.lists(st.tuples(st.integers(0, 130), st.integers(0, 60), st.booleans()), max_size=40)
)
@example(pieces=[(0, 40, False), (40, 60, True), (0, 0, False)])
def test_unordered_pieces_keep_prefix(
    pieces: list[tuple[int, int, bool]],
) -> None:
    data, digest = DATA[:100], hashlib.sha256(DATA[:100]).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        store = BlobStore(Path(folder))
        have = store.begin(digest, 100)
        for offset, length, again in pieces:
            after = store.write(digest, offset, data[offset : offset + length])
            reaches = offset <= have
            assert after == (
                max(have, min(100, offset + length)) if reaches and offset < 100 else have
            )
            have = after
            if again:
                have = BlobStore(Path(folder)).begin(digest, 100)
                assert have == after
        store.write(digest, have, data[have:])
        assert store.finish(digest, 100).read_bytes() == data


@pytest.mark.parametrize("wrong", [DATA[:-1] + b"!", DATA[:-1]])
def test_wrong_content_is_discarded(store: BlobStore, wrong: bytes) -> None:
    store.write(DIGEST, 0, wrong)
    with pytest.raises(DamagedBlob):
        store.finish(DIGEST, len(DATA))
    assert names(store) == []
    assert store.begin(DIGEST, len(DATA)) == 0


def test_impossible_partial_is_removed(store: BlobStore) -> None:
    store.write(DIGEST, 0, DATA + b"more")
    assert store.begin(DIGEST, len(DATA)) == 0
    store.write(DIGEST, 0, b"x" * len(DATA))
    assert store.begin(DIGEST, len(DATA)) == 0
    assert names(store) == []


def test_complete_partial_is_checked(store: BlobStore) -> None:
    store.write(DIGEST, 0, DATA)  # and then the program ended
    assert store.begin(DIGEST, len(DATA)) == len(DATA)
    assert names(store) == [DIGEST]


def test_impossible_sizes_are_refused(store: BlobStore, tmp_path: Path) -> None:
    store.add(person_file(tmp_path))
    for size in (0, -1, len(DATA) + 1):
        with pytest.raises(DamagedBlob):
            store.begin(DIGEST, size)


def test_pieces_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    store = BlobStore(tmp_path, limit=100)
    store.write(DIGEST, 0, DATA[:100])
    with pytest.raises(BlobTooLarge):
        store.write(DIGEST, 100, b"x")
    assert names(store) == []


def test_nobody_spoils_what_somebody_else_sends(store: BlobStore) -> None:
    store.write(DIGEST, 0, DATA[:1000], from_="alice")
    store.write(DIGEST, 0, b"junk" * 300, from_="../mallory")
    store.begin(DIGEST, 10, from_="../mallory")
    assert store.have(DIGEST, from_="alice") == 1000
    store.write(DIGEST, 1000, DATA[1000:], from_="alice")
    store.finish(DIGEST, len(DATA), from_="alice")
    assert store.path(DIGEST).read_bytes() == DATA


def test_concurrent_senders_store_file(store: BlobStore) -> None:
    def send(_thread: int) -> None:
        have = store.begin(DIGEST, len(DATA))
        while have < len(DATA) and store.size(DIGEST) is None:
            have = store.write(DIGEST, have, DATA[have : have + 7_000])
        store.finish(DIGEST, len(DATA))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(send, range(4)))
    assert store.path(DIGEST).read_bytes() == DATA


@pytest.mark.parametrize(
    "digest", ["", "a" * 63, "A" * 64, "../" + "a" * 61, f"{'a' * 64}\n", "a" * 63 + "/", "é" * 64]
)
def test_no_name_becomes_a_path(store: BlobStore, digest: str) -> None:
    for use in (
        lambda: store.path(digest),
        lambda: store.have(digest),
        lambda: store.begin(digest, 1),
        lambda: store.write(digest, 0, b"x"),
        lambda: store.finish(digest, 1),
        lambda: store.read(digest, 0, 1),
        lambda: store.remove(digest),
    ):
        with pytest.raises(InvalidDigest):
            use()
    assert not store.folder.exists()


def test_what_is_not_there_is_said_to_be_unknown(store: BlobStore) -> None:
    with pytest.raises(UnknownBlob):
        store.read(DIGEST, 0, 1)
    with pytest.raises(UnknownBlob):
        store.finish(DIGEST, 1)
    store.remove(DIGEST)
    assert (store.have(DIGEST), store.size(DIGEST), store.total()) == (0, None, 0)


def test_total_counts_whole_blocks(store: BlobStore, tmp_path: Path) -> None:
    store.add(person_file(tmp_path))
    store.write("0" * 64, 0, b"x")
    assert store.total() == on_disk(len(DATA)) + BLOCK_BYTES


def test_what_nobody_refers_to_is_removed(store: BlobStore, tmp_path: Path) -> None:
    store.add(person_file(tmp_path))
    store.write("0" * 64, 0, b"x")
    store.write("1" * 64, 0, b"x")
    store.write("1" * 64, 0, b"x", from_="alice")
    (store.folder / "0123456789abcdef.new").write_bytes(b"left by a crash")
    assert store.prune({"1" * 64}) == 4
    assert names(store) == [f"{'1' * 64}.part"]
    assert BlobStore(tmp_path / "nowhere").prune(()) == 0


def test_what_is_recent_may_stay(store: BlobStore, tmp_path: Path) -> None:
    store.add(person_file(tmp_path))
    store.write("0" * 64, 0, b"x")
    os.utime(store.folder / f"{'0' * 64}.part", (1000, 1000))
    assert store.prune((), before=time.time() - 60) == 1
    assert names(store) == [DIGEST]
    assert store.prune(()) == 1


def test_a_full_disk_breaks_nothing(
    store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(DIGEST, 0, DATA[:1000])
    faults = FaultyFiles(monkeypatch, store.folder)
    faults.room = 500
    with pytest.raises(DiskFailure, match="free some space") as failure:
        store.write(DIGEST, 1000, DATA[1000:])
    assert failure.value.errno == errno.ENOSPC
    assert store.have(DIGEST) == 1000
    with pytest.raises(DiskFailure):
        store.add(person_file(tmp_path))
    assert names(store) == [f"{DIGEST}.part"]
    faults.room = None
    store.write(DIGEST, 1000, DATA[1000:])
    store.finish(DIGEST, len(DATA))


def test_failed_call_allows_second_try(
    store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = FaultyFiles(monkeypatch, store.folder)
    store.folder.mkdir()
    path = person_file(tmp_path)
    for number in range(20):
        faults.calls.clear()
        faults.fails = failing(number)
        try:
            store.add(path)
        except DiskFailure:
            assert not any(name.endswith(".new") for name in names(store))
        else:
            break
    else:
        pytest.fail("it never worked")
    assert number > 4
    assert store.path(DIGEST).read_bytes() == DATA


WRITER = """
import sys
from pathlib import Path
from genie_core.storage.blobs import BlobStore

source, folder, digest, size = sys.argv[1:]
data = Path(source).read_bytes()
while True:
    store = BlobStore(Path(folder))
    have = store.begin(digest, int(size))
    print("begun", flush=True)
    while have < int(size):
        have = store.write(digest, have, data[have : have + 500])
    store.finish(digest, int(size))
    store.add(Path(source))
    store.remove(digest)
"""


def test_killed_process_leaves_resumable(store: BlobStore, tmp_path: Path) -> None:
    arguments = [str(person_file(tmp_path)), str(store.folder), DIGEST, str(len(DATA))]
    for attempt in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(attempt * 0.007)  # anywhere is right
            writer.send_signal(signal.SIGKILL)
        have = store.begin(DIGEST, len(DATA))
        if have < len(DATA):
            assert store.write(DIGEST, have, DATA[have:]) == len(DATA)
        assert store.finish(DIGEST, len(DATA)).read_bytes() == DATA
        store.prune({DIGEST})
        assert names(store) == [DIGEST]
        store.remove(DIGEST)
