"""Completion scripts of the shells."""

import shutil
import subprocess

import pytest

from genie_tui.cli.commands import COMMANDS
from genie_tui.cli.main import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_names_all_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in (*COMMANDS, "salvage", "attachments"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_can_read_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    main(["completion", shell])
    script = capsys.readouterr().out
    assert not subprocess.run([program, "-n"], input=script.encode(), check=True).stderr


def test_bash_completes_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    program = shutil.which("bash")
    if program is None:
        pytest.skip("bash is not installed")
    main(["completion", "bash"])
    ask = (
        "COMP_WORDS=(genie-tui sessions export --pseu); COMP_CWORD=3; "
        '_shtab_genie_tui; echo "${COMPREPLY[@]}"'
    )
    script = f"{capsys.readouterr().out}\n{ask}\n".encode()
    done = subprocess.run([program], input=script, capture_output=True, check=True)
    assert done.stdout.split() == [b"--pseudonyms"]
