import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from genie_tui.cli import main, parser


def run(*arguments: str, home: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "genie_tui", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
        env={"PATH": "/usr/bin:/bin", "GENIE_HOME": str(home), **env},
    )


def test_version_names_program_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"genie-tui {version('genie-tui')}\n"


def test_help_is_grouped_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    for part in ("you:", "your assistant:", "commands:", "examples:", "GENIE_HOME"):
        assert part in out


def test_options_may_stand_before_and_after_the_command() -> None:
    before = parser().parse_args(["--name", "ann", "host", "--title", "T"])
    after = parser().parse_args(["host", "--name", "ann", "--title", "T"])
    assert before == after


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--modle", "x"], ["--modle", "did you mean --model?"]),
        (["host", "--port", "0"], ["1 to 65535"]),
        (["host", "--port", "x"], ["1 to 65535"]),
        (["join"], ["HOST:PORT"]),
        (["dance"], ["dance"]),
    ],
)
def test_a_wrong_command_line_is_one_line(
    arguments: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert error.count("\n") == 1
    for part in parts:
        assert part in error


def test_not_a_terminal_is_one_line(tmp_path: Path) -> None:
    done = run("host", home=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "needs a terminal" in done.stderr


def test_a_mistake_in_the_settings_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text("modle = 'x'\n")
    done = run("host", home=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "line 1" in done.stderr
    assert "'model'" in done.stderr


def test_doctor_reports_a_missing_key_by_its_variable(tmp_path: Path) -> None:
    done = run("doctor", "--model", "anthropic:claude", home=tmp_path)
    assert done.returncode == 1
    assert "ANTHROPIC_API_KEY" in done.stdout
    assert done.stderr == ""


def test_doctor_says_that_the_offline_helper_answers(tmp_path: Path) -> None:
    done = run("doctor", home=tmp_path)
    assert "offline helper" in done.stdout
    assert str(tmp_path) in done.stdout


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["doctor"]])
def test_the_light_commands_load_neither_screen_nor_sdk(
    arguments: list[str], tmp_path: Path
) -> None:
    code = (
        "import sys\n"
        "from genie_tui.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'textual', 'pydantic_ai', 'group_sense', 'openai', 'websockets'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
        env={"PATH": "/usr/bin:/bin", "GENIE_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
