"""Marks of wrong decisions, beside a room's log."""

import errno
import os
import stat
from pathlib import Path
from typing import Literal

import pytest

from genie_core.sessions.errors import DamagedSession
from genie_core.sessions.labels import LABELS_NAME, Label, Labels, Mark
from genie_core.storage.errors import DiskFailure


def label(
    seq: int, mark: Mark = "wrong", decision: Literal["ignore", "delegate"] = "ignore"
) -> Label:
    return Label(seq, mark, decision, 1_700_000_000.0 + seq, "ann")


def test_a_room_without_the_file_has_no_labels(tmp_path: Path) -> None:
    labels = Labels.read(tmp_path)
    assert (labels.wrong, labels.problems) == ({}, [])
    assert not (tmp_path / LABELS_NAME).exists()


def test_the_last_word_about_a_decision_counts(tmp_path: Path) -> None:
    labels = Labels.read(tmp_path)
    for each in (label(3), label(5, decision="delegate"), label(3, "")):
        labels.put(each)
    assert labels.wrong == Labels.read(tmp_path).wrong == {5: label(5, decision="delegate")}
    labels.put(label(3))
    assert Labels.read(tmp_path).wrong.keys() == {3, 5}


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    Labels.read(tmp_path).put(label(3))
    assert stat.S_IMODE((tmp_path / LABELS_NAME).stat().st_mode) == 0o600


def test_senseless_lines_are_skipped(tmp_path: Path) -> None:
    labels = Labels.read(tmp_path)
    labels.put(label(3))
    with (tmp_path / LABELS_NAME).open("ab") as file:
        file.write(b'\xff\xfe\n{"seq": 4}\n\n' + b"[" * 100_000 + b"\n")
        file.write(b'{"seq":-1,"label":"wrong","decision":"ignore","at":1.0,"by":"ann"}\n')
    again = Labels.read(tmp_path)
    assert again.wrong == {3: label(3)}
    (problem,) = again.problems
    assert problem.startswith("4 lines of ")


def test_unfinished_line_spoils_no_other(tmp_path: Path) -> None:
    labels = Labels.read(tmp_path)
    labels.put(label(3))
    with (tmp_path / LABELS_NAME).open("ab") as file:
        file.write(b'{"seq":4,"lab')
    again = Labels.read(tmp_path)
    again.put(label(5))
    assert Labels.read(tmp_path).wrong.keys() == {3, 5}
    assert len(Labels.read(tmp_path).problems) == 1


def test_failed_write_keeps_no_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = Labels.read(tmp_path)
    labels.put(label(3))
    before = (tmp_path / LABELS_NAME).read_bytes()
    whole = os.write

    def short(descriptor: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(descriptor, bytes(data)[:-10])

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(DiskFailure, match="free some space"):
        labels.put(label(5))
    assert labels.wrong.keys() == {3}
    assert (tmp_path / LABELS_NAME).read_bytes() == before


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LABELS_NAME)
    with pytest.raises(DamagedSession):
        Labels.read(tmp_path)
