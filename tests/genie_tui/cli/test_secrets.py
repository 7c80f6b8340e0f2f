import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from keyring.backends import fail

from genie_tui.cli.main import main

VALUE = "correct-horse-battery"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own, and no keyring."""
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    monkeypatch.setattr("keyring.get_keyring", fail.Keyring)
    for name in [name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_URL"))]:
        monkeypatch.delenv(name)


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_piped_secret_serves_all_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GENIE_NAME", "Ann")
    piped(monkeypatch, f"{VALUE}\n")
    assert main(["secrets", "set", "A_KEY"]) == 0
    file = tmp_path / "data" / "secrets" / "+all" / "secrets.json"
    assert f"A_KEY is kept in {file}\n" in capsys.readouterr().out
    assert VALUE in file.read_text()
    monkeypatch.setenv("GENIE_NAME", "ben")
    assert main(["secrets", "list"]) == 0
    assert capsys.readouterr().out == f"A_KEY  {file}\n"
    assert main(["secrets", "delete", "A_KEY"]) == 0
    assert main(["secrets"]) == 0
    assert capsys.readouterr().out.endswith("no secrets are kept\n")


def test_values_that_differ_by_name_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ann", "ben"):
        folder = tmp_path / "data" / "secrets" / name
        folder.mkdir(parents=True)
        (folder / "secrets.json").write_text(f'{{"A_KEY": "{VALUE} of {name}"}}')
    for me, where, others in (
        ("ann", tmp_path / "data" / "secrets" / "ann" / "secrets.json", "ben"),
        ("zoe", "not used", "ann and for ben"),
    ):
        monkeypatch.setenv("GENIE_NAME", me)
        assert main(["secrets", "list"]) == 0
        assert capsys.readouterr().out == (
            f"A_KEY  {where}\n"
            f"A_KEY was kept for {others} with a value of its own, which is not used; to keep one "
            "for all names: genie-tui secrets set A_KEY\n"
        )


def test_what_setting_a_secret_replaces_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ann", "ben"):
        folder = tmp_path / "data" / "secrets" / name
        folder.mkdir(parents=True)
        (folder / "secrets.json").write_text(f'{{"A_KEY": "{VALUE} of {name}"}}')
    monkeypatch.setenv("GENIE_NAME", "zoe")
    piped(monkeypatch, VALUE)
    assert main(["secrets", "set", "A_KEY"]) == 0
    assert "(in place of what was kept for ann and for ben)\n" in capsys.readouterr().out
    piped(monkeypatch, VALUE)
    assert main(["secrets", "set", "A_KEY"]) == 0
    assert "in place of" not in capsys.readouterr().out


def test_a_short_value_is_kept_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped(monkeypatch, "1234")
    assert main(["secrets", "set", "PIN"]) == 0
    assert "too short to be hidden" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "given", "why"),
    [
        (["set", "A_KEY", VALUE], "", "not given on the command line"),
        (["set", f"A_KEY={VALUE}"], "", "a secret's name has"),
        (["set", "A_KEY"], "", "the value is empty"),
        (["set", "A_KEY"], f"{VALUE}\n{VALUE}\n", "one line"),
        (["set", "A_KEY"], VALUE * 10_000, "too long"),
        (["delete", "A_KEY"], "", "there is no secret with that name"),
    ],
)
def test_error_is_one_line_without_value(
    arguments: list[str],
    given: str,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    piped(monkeypatch, given)
    assert main(["secrets", *arguments]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert why in told.err
    assert VALUE not in told.err


def test_what_is_piped_and_no_text_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\xfd"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", broken)
    assert main(["secrets", "set", "A_KEY"]) == 1
    assert "no text" in capsys.readouterr().err


def test_terminal_prompt_hides_value(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "genie_tui", "secrets", "set", "A_KEY"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,  # without a terminal of its own, it asks where its input is
        env={**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"},
    ) as process:
        os.close(theirs)
        shown = b""
        while b"A_KEY: " not in shown:
            shown += os.read(ours, 1000)
        os.write(ours, f"{VALUE}\n".encode())
        try:
            while more := os.read(ours, 1000):
                shown += more
        except OSError:  # what Linux says when the other end is closed
            pass
        assert process.wait(60) == 0
    os.close(ours)
    assert b"A_KEY is kept in" in shown
    assert VALUE.encode() not in shown
    assert VALUE in (tmp_path / "data" / "secrets" / "+all" / "secrets.json").read_text()
