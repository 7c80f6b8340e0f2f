import fcntl
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from genie_core.sessions.lock import LOCK_NAME, LockHolder, SessionInUse, hold, holder
from genie_core.storage.errors import DiskFailure

HOLDER = """
import sys
from pathlib import Path
from genie_core.sessions.lock import hold

with hold(Path(sys.argv[1]), "ann"):
    print("held", flush=True)
    sys.stdin.read()
"""


def other_process(folder: Path) -> "subprocess.Popen[str]":
    """Start a process that holds a folder until it is killed or its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def refusal(folder: Path) -> SessionInUse:
    with pytest.raises(SessionInUse) as refused, hold(folder):
        pass
    return refused.value


def test_second_process_learns_holder(tmp_path: Path) -> None:
    before = time.time()
    with other_process(tmp_path) as other:
        who = holder(tmp_path)
        assert who is not None
        assert (who.pid, who.name, who.machine) == (other.pid, "ann", platform.node())
        assert before <= who.since <= time.time()
        refused = refusal(tmp_path)
        assert refused.holder == who
        assert f"is open in process {other.pid} of ann, since " in str(refused)
        other.kill()
    assert holder(tmp_path) is None


def test_lock_of_killed_process_is_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with other_process(tmp_path) as other:
        other.kill()
    with hold(tmp_path):
        assert f"{tmp_path.name} was not closed in good order: process {other.pid} of ann" in (
            caplog.text
        )


def test_clean_release_is_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with other_process(tmp_path) as other:
        other.communicate()
    for _ in range(2):
        with hold(tmp_path):
            assert refusal(tmp_path).holder.pid == os.getpid()
    assert caplog.text == ""


def test_looking_creates_no_lock(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    assert not (tmp_path / LOCK_NAME).exists()
    with hold(tmp_path):
        pass
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            holder(tmp_path)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(300):
            with hold(tmp_path):
                pass
    finally:
        stop.set()
        looking.join()


@contextmanager
def shared(folder: Path) -> Iterator[int]:
    """The lock as whoever looks has it, and goes on looking."""
    with hold(folder):
        pass
    descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def test_long_look_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    with shared(tmp_path) as looking:

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 50:
                fcntl.flock(looking, fcntl.LOCK_UN)

        monkeypatch.setattr("genie_core.sessions.lock.time.sleep", pause)
        with hold(tmp_path):
            assert len(pauses) == 50
            who = holder(tmp_path)
            assert who is not None
            assert who.pid == os.getpid()


def test_endless_look_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.sessions.lock._PATIENCE", 0.0)
    with shared(tmp_path):
        assert "another process;" in str(refusal(tmp_path))


@pytest.mark.parametrize(
    "left", ["nonsense", "4711", '{"pid": -1}', '{"pid": "x"}', "[" * 4000, '{"since": 1e400}']
)
def test_unknown_holder_is_other_process(tmp_path: Path, left: str) -> None:
    with hold(tmp_path):
        (tmp_path / LOCK_NAME).write_text(left)
        assert "another process;" in str(refusal(tmp_path))
        assert holder(tmp_path) == LockHolder()


def test_unlockable_folder_is_clear_error(tmp_path: Path) -> None:
    (tmp_path / "room").write_text("in the way")
    with pytest.raises(DiskFailure, match="can't lock the folder"), hold(tmp_path / "room"):
        pass
    with pytest.raises(DiskFailure, match="can't look at the lock"):
        holder(tmp_path / "room")


def test_error_while_held_passes_unchanged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), hold(tmp_path):
        raise FileNotFoundError
    with hold(tmp_path):
        pass


def test_link_or_pipe_as_lock_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("of somebody")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "lock").symlink_to(other)
    (tmp_path / "piped").mkdir()
    os.mkfifo(tmp_path / "piped" / "lock")
    for folder in (tmp_path / "linked", tmp_path / "piped"):
        with pytest.raises(DiskFailure), hold(folder, "ann"):
            pass
        with pytest.raises(DiskFailure):
            holder(folder)
    assert other.read_text() == "of somebody"
