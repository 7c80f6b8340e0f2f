"""`python -m benchmarks coding`, with a few of its tasks."""

import json
import shutil
from pathlib import Path

import pytest
from benchmarks.coding.command import main
from benchmarks.coding.steps import Ask, Learn
from benchmarks.coding.tasks import TASKS, Task

from benchmarks.coding import command
from genie_testing.turns import Call


def row(said: str, name: str) -> list[str]:
    line = next(line for line in said.splitlines() if line.startswith(f"|{name}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_prints_what_a_task_costs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--task", "several edits"]) == 0
    said = capsys.readouterr().out
    name, requests, tokens, fresh, _seconds, calls, asked = row(said, "several edits")
    assert name == "several edits in one file"
    assert int(requests) == int(calls) + 1
    assert int(tokens.replace(",", "")) > int(fresh.replace(",", "")) > 0
    assert int(asked) == int(calls) - 1  # reading is allowed by default
    assert row(said, "all")[1] == requests


def test_another_run_is_shown_beside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "before.json"
    assert main(["--task", "arithmetic", "--save", str(saved)]) == 0
    before = json.loads(saved.read_text())
    before[0]["requests"] = 9
    saved.write_text(json.dumps(before))
    capsys.readouterr()
    assert main(["--task", "arithmetic", "--against", str(saved)]) == 0
    assert row(capsys.readouterr().out, "arithmetic")[1] == "9 → 2"


def test_a_task_that_is_not_done_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    look = Learn("no such text", (Call("list_files", {}), Call("no_such_tool", {})))
    task = Task("look", (Ask("@genie look", (look,), "There."),), done=lambda _root: False)
    monkeypatch.setattr(command, "TASKS", (task, TASKS[-1]))
    assert main(["--task", "look"]) == 1
    said = capsys.readouterr().out
    assert row(said, "look")[0] == "look (not done)"
    assert "look: no such text" in said
    assert "look: the files are not as wanted" in said


def test_without_opencode_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_args, **_named: None)
    assert main(["--opencode"]) == 2
    assert "npm install -g opencode-ai" in capsys.readouterr().err


def test_there_are_thirty_tasks() -> None:
    assert len({task.name for task in TASKS}) == 30
