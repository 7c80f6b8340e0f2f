"""`python -m benchmarks engine`, at a scale at which it takes a moment."""

import json
import sys
from pathlib import Path

import pytest
from benchmarks.engine.command import main

SMALL = ["--messages", "40", "--repeat", "1", "--only", "genie_core"]


def test_prints_a_table_and_how_to_get_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, "--folder", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "messages/s" in said
    assert "100.0%" in said
    assert f"python -m benchmarks engine {' '.join(SMALL)} --folder {tmp_path}" in " ".join(
        said.split()
    )
    assert list(tmp_path.iterdir()) == []


def test_prints_every_run_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--folder", str(tmp_path), "--json", "--messages", "16", "24"]) == 0
    runs = json.loads(capsys.readouterr().out)
    assert [(run["asked"], run["found"]) for run in runs] == [(16, 20), (24, 30)]


def test_a_run_that_fails_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert main([*SMALL, "--folder", str(tmp_path)]) == 1
    assert "failed: /bin/false" in capsys.readouterr().err


def test_an_engine_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = ["--reference-python", str(tmp_path / "python"), "--folder", str(tmp_path)]
    assert main(["--messages", "8", "--repeat", "1", *elsewhere]) == 0
    said = capsys.readouterr()
    assert "group_genie is not measured" in said.err
    assert "better by" not in said.out


@pytest.mark.parametrize(
    "wrong", [["--messages", "0"], ["--repeat", "-1"], ["--folder", "/nowhere"]]
)
def test_senseless_arguments_are_refused(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(wrong)
    assert wrong[0] in capsys.readouterr().err
