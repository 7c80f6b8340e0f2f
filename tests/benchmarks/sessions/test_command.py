"""`python -m benchmarks sessions`, at a scale at which it takes a moment."""

import json
import sys
from pathlib import Path

import pytest
from benchmarks.sessions.appends import WAYS
from benchmarks.sessions.command import main

SMALL = ["--quick", "--sizes", "500", "--sessions", "3", "--each", "50", "--seconds", "0.05"]


def test_prints_tables_and_their_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, "--only", "append", "search", "--folder", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert all(f"|{way}" in said for way in WAYS)
    assert "3 sessions of 50 events" in said
    assert f"python -m benchmarks sessions {' '.join(SMALL)} --only append search" in said
    assert list(tmp_path.iterdir()) == []


def test_prints_every_run_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--only", "open", "--folder", str(tmp_path), "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)
    assert [(run["subject"], run["case"]) for run in runs] == [
        ("log", "without index"),
        ("screen", "without index"),
        ("log", "with index"),
        ("screen", "with index"),
    ]
    assert all(0 < run["figures"]["seconds"] < run["figures"]["whole"] for run in runs)


def test_a_run_that_fails_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert main([*SMALL, "--only", "append", "--folder", str(tmp_path)]) == 1
    assert "/bin/false" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [["--sizes", "0"], ["--repeat", "-1"], ["--folder", "/nowhere"], ["--seconds", "for ever"]],
)
def test_senseless_arguments_are_refused(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(wrong)
    assert wrong[1] in capsys.readouterr().err
