import platform
from datetime import datetime

import pytest

from genie_core.sessions.lock import LockHolder


def test_a_holder_says_all_that_is_known_of_it() -> None:
    since = datetime(2026, 11, 20, 14, 3).timestamp()  # noqa: DTZ001 - local time is meant
    here = LockHolder(7, "ann", platform.node(), since)
    assert str(here) == "process 7 of ann, since 2026-11-20 14:03"
    assert str(LockHolder(7, "bob", "elsewhere")) == "process 7 of bob on elsewhere"
    assert str(LockHolder()) == "another process"


def test_holder_is_person_or_process() -> None:
    assert LockHolder(7, "ann\x1b").who == "ann"
    assert LockHolder(7, " \n").who == "process 7"
    assert LockHolder().who == "another process"


@pytest.mark.parametrize("since", [1e300, -1e300, 1e18, float("nan"), float("inf")])
def test_impossible_time_is_left_out(since: float) -> None:
    assert str(LockHolder(7, since=since)) == "process 7"


def test_hostile_name_is_made_printable() -> None:
    said = str(LockHolder(7, "a\x1b[31m\n\u202e", "b\x1b[0m" * 100))
    assert said.isprintable()
    assert len(said) < 200
