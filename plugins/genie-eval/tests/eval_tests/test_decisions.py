"""Decisions that are kept beside a room."""

import stat
from pathlib import Path

import pytest

from genie_core.assistant.what_if.report import CaseResult, Comparison
from genie_core.assistant.what_if.saved_reports import FOLDER, saved
from genie_core.storage.errors import DiskFailure
from genie_eval.decisions import (
    DECISIONS_NAME,
    keep_decisions,
    kept_decisions,
    reasoner_key,
)

KEY = reasoner_key("prompt", "model")


def case(message: int, reason: str = "why", *, failed: bool = False) -> CaseResult:
    after = None if failed else Comparison("ignore", reason)
    return CaseResult(message, 1.0, "ann", "ann", "text", Comparison("delegate"), after, "no")


def test_decisions_are_kept_per_reasoner(tmp_path: Path) -> None:
    assert kept_decisions(tmp_path, KEY) == {}
    keep_decisions(tmp_path, KEY, [case(4), case(6), case(9, failed=True)])
    keep_decisions(tmp_path, KEY, [case(6, "later")])
    keep_decisions(tmp_path, reasoner_key("another"), [case(4)])
    assert kept_decisions(tmp_path, KEY) == {4: case(4), 6: case(6, "later")}
    path = tmp_path / FOLDER / DECISIONS_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(saved(tmp_path)) == []


def test_keys_are_of_all_their_parts() -> None:
    keys = {reasoner_key(*parts) for parts in (("a", "b"), ("ab", ""), ("a", "b", ""), ("b", "a"))}
    assert len(keys) == 4


def test_lines_that_are_none_are_passed_over(tmp_path: Path) -> None:
    keep_decisions(tmp_path, KEY, [case(4)])
    with (tmp_path / FOLDER / DECISIONS_NAME).open("ab") as file:
        file.write(b"{\n" + b"[" * 100_000 + b"\n\xff\n" + b'{"reasoner":"' + KEY.encode())
    keep_decisions(tmp_path, KEY, [case(6)])
    assert kept_decisions(tmp_path, KEY).keys() == {4, 6}


def test_a_folder_that_cant_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    with pytest.raises(DiskFailure):
        keep_decisions(tmp_path, KEY, [case(4)])
