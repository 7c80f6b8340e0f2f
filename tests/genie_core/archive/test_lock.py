import os
import subprocess
import sys
from pathlib import Path

import pytest

from genie_core.archive.errors import DiskFailure, RoomInUse
from genie_core.archive.lock import hold

HOLDER = """
import sys
from pathlib import Path
from genie_core.archive.lock import hold

with hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_second_process_is_told_which_one_holds_the_room(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RoomInUse) as refusal, hold(tmp_path):
            pass
        assert refusal.value.pid == other.pid
        assert str(other.pid) in str(refusal.value)
        other.kill()
    with hold(tmp_path):
        pass


def test_it_can_be_held_again_after_it_was_let_go(tmp_path: Path) -> None:
    for _ in range(2):
        with hold(tmp_path):
            with pytest.raises(RoomInUse) as refusal, hold(tmp_path):
                pass
            assert refusal.value.pid == os.getpid()


def test_a_holder_that_left_no_number_is_another_process(tmp_path: Path) -> None:
    with hold(tmp_path):
        (tmp_path / "lock").write_text("nonsense")
        with pytest.raises(RoomInUse, match="another process"), hold(tmp_path):
            pass


def test_a_folder_that_cannot_be_locked_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "room").write_text("in the way")
    with pytest.raises(DiskFailure, match="can't lock the folder"), hold(tmp_path / "room"):
        pass


def test_what_breaks_while_a_folder_is_held_passes_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), hold(tmp_path):
        raise FileNotFoundError
    with hold(tmp_path):
        pass
