import errno
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.genie_core.sessions.bad_sectors import BadSectors

from genie_core.sessions.log.lines import MOST_REFUSED, PAGE, Hole, read_pieces

CONTENT = bytes(n % 251 for n in range(40 * PAGE + 123))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    return path


def pieces(path: Path, start: int = 0, end: int | None = None) -> list[bytes | Hole]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return list(read_pieces(descriptor, start, end))
    finally:
        os.close(descriptor)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(st.integers(0, 40), max_size=12), st.integers(0, len(CONTENT)))
def test_only_bad_pages_are_left_out(path: Path, bad: set[int], start: int) -> None:
    place, refused = start, set()
    with BadSectors(path, [(page * PAGE, (page + 1) * PAGE) for page in bad]).installed():
        found = pieces(path, start)
    for piece in found:
        if isinstance(piece, Hole):
            assert piece.start == place
            refused |= set(range(piece.start // PAGE, (piece.end - 1) // PAGE + 1))
            place = piece.end
        else:
            assert piece == CONTENT[place : place + len(piece)]
            place += len(piece)
    assert place == len(CONTENT)
    assert refused == {page for page in bad if (page + 1) * PAGE > start and start < place}
    for one, other in pairwise(found):
        assert not (isinstance(one, Hole) and isinstance(other, Hole) and one.end == other.start)


@pytest.mark.parametrize("bad", [[(0, 10**9)], [(PAGE, PAGE + MOST_REFUSED + 1)]])
def test_too_many_bad_pages_are_error(path: Path, bad: list[tuple[int, int]]) -> None:
    path.write_bytes(b"x" * (MOST_REFUSED * 2))
    with BadSectors(path, bad).installed(), pytest.raises(OSError, match="Input/output"):
        pieces(path)


def test_other_errors_are_not_read_around(path: Path) -> None:
    bad = BadSectors(path, [(0, PAGE)], errno.ESTALE)
    with bad.installed(), pytest.raises(OSError, match=r"[Ss]tale"):
        pieces(path)
