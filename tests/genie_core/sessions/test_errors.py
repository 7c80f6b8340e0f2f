import errno
from pathlib import Path

import pytest

from genie_core.sessions.errors import DamagedSession, UnknownSession, about
from genie_core.storage.errors import DiskFailure, StorageError, disk_access

PATH = Path("/rooms/r1")


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EACCES, "make it writable"),
        (errno.EROFS, "make it writable"),
        (errno.ENOTDIR, "move away the file"),
        (errno.EIO, "whether the disk is in order"),
    ],
)
def test_error_names_action_path_and_advice(number: int, advice: str) -> None:
    with pytest.raises(StorageError, match=advice) as failure, disk_access("write", PATH):
        raise OSError(number, "said the system")
    assert isinstance(failure.value, DiskFailure)
    assert str(failure.value).startswith("can't write /rooms/r1: said the system; ")
    assert (failure.value.path, failure.value.errno) == (PATH, number)


def test_bare_error_has_reason() -> None:
    with (
        pytest.raises(DiskFailure, match="can't open /rooms/r1: OSError;"),
        disk_access("open", PATH),
    ):
        raise OSError


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(UnknownSession), disk_access("open", PATH):
        raise UnknownSession("r1", [])


def test_known_folder_is_not_repeated() -> None:
    error = DamagedSession(PATH / "room.json", "it is empty")
    assert about(error, PATH).startswith("room.json can't be read: it is empty; ")
    assert about(error, Path("/rooms/r")) == str(error)
