import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.errors import GenieError
from genie_tui.cli.main import main


def run(*arguments: str, home: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "genie_tui", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=scaled(60),
        check=False,
        env={"PATH": "/usr/bin:/bin", "GENIE_HOME": str(home), **env},
    )


def test_any_setting_can_be_set_for_one_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    monkeypatch.setenv("GENIE_BUDGET_MONEY", "1")
    given = ["--set", "budget.money=2", "config", "--set", "tools=calculate,read_file", "show"]
    assert main([*given, "--set", "announce=false"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"money = 2.0 +# command line", shown)
    assert re.search(r"tools = \[.calculate., .read_file.\] +# command line", shown)
    assert re.search(r"announce = false +# command line", shown)


def test_not_a_terminal_is_one_line(tmp_path: Path) -> None:
    done = run("host", home=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "needs a terminal" in done.stderr


def test_invite_without_room_hints_at_host(tmp_path: Path) -> None:
    done = run("invite", home=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "genie-tui: you host no room yet; open one: genie-tui host\n"


def test_a_mistake_in_the_settings_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text("modle = 'x'\n")
    done = run("host", home=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "line 1" in done.stderr
    assert "'model'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "env", "expected"),
    [
        (["host"], {"GENIE_PORT": "99999"}, "GENIE_PORT can't be '99999'"),
        (["doctor"], {"GENIE_HOME": "~nosuchuser/x"}, "'~nosuchuser/x' names no folder"),
    ],
)
def test_unusable_setting_is_one_line(
    arguments: list[str], env: dict[str, str], expected: str, tmp_path: Path
) -> None:
    done = run(*arguments, home=tmp_path, **env)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr


def test_error_escapes_terminal_controls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    fail_with(GenieError("\x1b]0;x\x07"), monkeypatch)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "genie-tui: ␛]0;x␇\n"


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def check_system(*_: object) -> int:
        raise error

    monkeypatch.setattr("genie_tui.cli.doctor.check_system", check_system)


def test_internal_error_logs_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    fail_with(ValueError("two\nlines"), monkeypatch)
    assert main(["doctor"]) == 1
    error = capsys.readouterr().err
    log = tmp_path / "log" / "genie-tui.log"
    assert error == (
        f"genie-tui: an internal error, ValueError: two lines; the details are in {log}\n"
    )
    assert "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_internal_error_survives_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").write_text("in the way")
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    fail_with(ValueError("odd"), monkeypatch)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == "genie-tui: an internal error, ValueError: odd\n"


def test_an_interrupt_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    fail_with(KeyboardInterrupt(), monkeypatch)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("arguments", [["doctor"], ["id"], ["--help"], ["--version"]])
def test_output_that_nobody_reads_is_no_error(arguments: list[str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "genie_tui", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=scaled(60),
            check=False,
            env={"PATH": "/usr/bin:/bin", "GENIE_HOME": str(tmp_path)},
        )
    finally:
        os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141


def test_doctor_names_missing_key_variable(tmp_path: Path) -> None:
    done = run("doctor", "--model", "anthropic:claude", home=tmp_path)
    assert done.returncode == 1
    assert "ANTHROPIC_API_KEY" in done.stdout
    assert done.stderr == ""


def test_id_shows_the_same_person_every_time(tmp_path: Path) -> None:
    first, again = (run("id", "--name", "alice", home=tmp_path) for _ in range(2))
    assert (first.returncode, first.stderr) == (0, "")
    assert [line.split()[0] for line in first.stdout.splitlines()] == ["name", "words", "key"]
    assert again.stdout == first.stdout


def test_id_refuses_unusable_name(tmp_path: Path) -> None:
    done = run("id", "--name", "two words", home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "the name 'two words' can't be used: it contains a space" in done.stderr


def test_doctor_names_offline_helper(tmp_path: Path) -> None:
    done = run("doctor", home=tmp_path)
    assert "offline helper" in done.stdout
    assert str(tmp_path) in done.stdout


@pytest.mark.parametrize(
    ("command", "too"),
    [
        ("--version", "logging"),
        ("--help", "genie_core.room.protocol.frames"),
        ("doctor", ""),
        ("id", "zeroconf"),
    ],
)
def test_light_commands_load_no_screen(command: str, too: str, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from genie_tui.cli.main import main\n"
        "try: main(sys.argv[1:2])\n"
        "except SystemExit: pass\n"
        "heavy = {'textual', 'pydantic_ai', 'group_sense', 'openai', 'websockets', sys.argv[2]}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, command, too],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=scaled(60),
        check=False,
        env={"PATH": "/usr/bin:/bin", "GENIE_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
