"""`python -m benchmarks room`, at a scale at which it takes a moment."""

import json
import sys
from pathlib import Path

import pytest
from benchmarks.room.command import main
from benchmarks.room.plan import BROADCAST, ROOM

SMALL = ["--quick", "--clients", "5", "--messages", "20", "--only", ROOM]


def test_prints_table_and_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--folder", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "burst: deliveries/s" in said
    assert "met room: every client heard everything once and in one order" in said
    assert "members 1,000" in said
    assert f"python -m benchmarks room {' '.join(SMALL)} --folder {tmp_path}" in said
    assert list(tmp_path.iterdir()) == []


def test_prints_every_run_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--folder", str(tmp_path), "--json", "--only", BROADCAST]
    assert main([*SMALL, *options]) == 0
    runs = json.loads(capsys.readouterr().out)
    assert [(run["plan"]["pace"] > 0, run["plan"]["stalled"]) for run in runs] == [
        (False, False),
        (False, True),
        (True, False),
        (True, True),
    ]
    assert all(run["delivered"] == run["expected"] == 100 for run in runs)


def test_a_run_that_fails_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert main([*SMALL, "--folder", str(tmp_path)]) == 1
    assert "/bin/false" in capsys.readouterr().err


def test_a_server_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    elsewhere = ["--reference-python", str(tmp_path / "python"), "--folder", str(tmp_path)]
    main(["--quick", *elsewhere])
    assert "group-terminal is not measured" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [["--messages", "0"], ["--repeat", "-1"], ["--folder", "/nowhere"], ["--clients", "3"]]
)
def test_senseless_arguments_are_refused(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(wrong)
    assert wrong[1] in capsys.readouterr().err
