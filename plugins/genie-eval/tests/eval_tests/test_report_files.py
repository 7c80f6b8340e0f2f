"""What-if reports beside a room."""

import stat
from pathlib import Path

import pytest

from genie_core.assistant.what_if.report import WhatIfReport
from genie_core.assistant.what_if.saved_reports import FOLDER, saved
from genie_core.storage.errors import DiskFailure
from genie_eval.report_files import save


def report(template: str = "fact_check", at: float = 1_790_000_000.0) -> WhatIfReport:
    return WhatIfReport(session="s", title="Garden", template=template, model="m", at=at)


def test_report_is_private_in_two_formats(tmp_path: Path) -> None:
    path = save(report(), tmp_path)
    assert path.parent == tmp_path / FOLDER
    assert path.read_text().startswith("# What if fact\\_check")
    for each in (path, path.with_suffix(".json")):
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
    assert list(saved(tmp_path)) == [report()]


def test_no_report_takes_the_place_of_another(tmp_path: Path) -> None:
    assert len({save(report(), tmp_path) for _ in range(3)}) == 3
    assert len(list(saved(tmp_path))) == 3


@pytest.mark.parametrize("template", ["../../etc/passwd", "a/b", "..", "", "\x1b[2J", "x" * 500])
def test_a_template_never_acts_as_a_path(template: str, tmp_path: Path) -> None:
    path = save(report(template), tmp_path / "room")
    assert path.parent == tmp_path / "room" / FOLDER
    assert path.name.isprintable()
    assert len(path.name) < 80


def test_what_is_no_report_is_passed_over(tmp_path: Path) -> None:
    assert list(saved(tmp_path)) == []
    save(report(at=1.0), tmp_path)
    save(report(at=100_000.0), tmp_path)
    (tmp_path / FOLDER / "9-broken.json").write_text("{")
    (tmp_path / FOLDER / "9-folder.json").mkdir()
    assert [each.at for each in saved(tmp_path)] == [100_000.0, 1.0]


def test_a_folder_that_cant_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    with pytest.raises(DiskFailure):
        save(report(), tmp_path)
