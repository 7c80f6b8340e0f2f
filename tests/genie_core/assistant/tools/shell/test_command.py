import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.assistant.config import Sandbox, ToolLimits
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.assistant.tools.shell import run as running
from genie_core.assistant.tools.shell.command import Commands
from genie_core.assistant.tools.shell.run import MARK
from genie_core.assistant.tools.shell.sandbox import find_backend

PYTHON = sys.executable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "docs").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / "way-out").symlink_to(tmp_path / "outside")
    return Workspace.at(root).root


MEANS = find_backend()
both = pytest.mark.parametrize(
    "sandbox",
    [
        Sandbox("off"),
        pytest.param(
            Sandbox("required"), marks=pytest.mark.skipif(not MEANS.name, reason=MEANS.reason)
        ),
    ],
    ids=lambda sandbox: sandbox.mode,
)
"""Without and in a sandbox."""


def commands(
    root: Path, *, seconds: float = 60.0, size: int = 2_000, sandbox: Sandbox | None = None
) -> Commands:
    limits = ToolLimits(command_seconds=seconds, command_bytes=size, shell=True)  # noqa: S604 — a setting
    return Commands(Workspace(root), limits, sandbox or Sandbox())


async def in_shell(root: Path, line: str, sandbox: Sandbox | None = None) -> str:
    return await commands(root, seconds=600, sandbox=sandbox).run_command(line, "", True)


def python(code: str) -> str:
    return f'{PYTHON} -I -S -c "{code}"'


@both
async def test_a_program_is_run_in_the_workspace(root: Path, sandbox: Sandbox) -> None:
    run = commands(root, sandbox=sandbox).run_command
    said = await run("sh -c 'pwd; echo oops >&2; exit 3'")
    assert said.startswith("The command ended with exit code 3 after ")
    assert said.endswith(f"\nOutput:\n```\n{root}\noops\n```")
    assert f"\n{root / 'docs'}\n" in await run("pwd", "docs")
    assert "`echo" not in await run("echo 'a | b' \"c > d\" e\\;f")
    assert "\na | b c > d e;f\n" in await run("echo 'a | b' \"c > d\" e\\;f")
    assert "ended by SIGSEGV" in await in_shell(root, "kill -SEGV $$", sandbox)


@both
async def test_it_learns_nothing_and_is_given_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    said = await in_shell(root, "env; cat; ls -l /proc/self/fd", sandbox)
    names = {line.partition("=")[0] for line in said.splitlines() if "=" in line}
    assert {"PATH", "HOME", "TERM"} <= names <= {"PATH", "HOME", "LANG", "TERM", "PWD", "_", "OLDPWD", "SHLVL", MARK}  # fmt: skip
    assert "TERM=dumb" in said
    assert "sk-secret" not in said
    descriptors = {line.split()[-3] for line in said.splitlines() if " -> " in line}
    assert descriptors <= {"0", "1", "2", "3"}, said  # the last is the folder that ls lists
    assert "0 -> /dev/null" in said


async def test_settings_pass_variables_not_keys(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MY_PROXY", "OTHER", "SOME_API_KEY"):
        monkeypatch.setenv(name, f"value of {name}")
    sandbox = Sandbox("off", env=("MY_PROXY", "SOME_API_KEY"))
    said = await commands(root, sandbox=sandbox).run_command("env")
    assert "MY_PROXY=value of MY_PROXY" in said
    assert "OTHER" not in said
    assert "API_KEY" not in said


@pytest.mark.parametrize(
    ("command", "folder", "why"),
    [
        ("ls | wc", "", "'|' is a shell operator"),
        ("ls && ls", "", "'&&' is a shell operator"),
        ("ls >x", "", "'>' is a shell operator"),
        ("ls 'a", "", "no closing quotation"),
        ("  ", "", "the command is empty"),
        ("ls \0", "", "null character"),
        ("ls \ud800", "", "an incomplete character"),
        ("x" * 30_000, "", "more than"),
        ("no-such-program", "", "cannot be started: No such file"),
        ("./docs", "", "cannot be started: Permission denied"),
        ("ls", "..", "outside"),
        ("ls", "way-out", "outside"),
        ("ls", "nope", "does not exist"),
        ("ls", "file", "not a folder"),
    ],
)
async def test_what_is_not_run_is_said(root: Path, command: str, folder: str, why: str) -> None:
    (root / "file").touch()
    said = await commands(root).run_command(command, folder)
    assert said.startswith("Cannot do that: ")
    assert why in said


async def test_shell_needs_permission(root: Path) -> None:
    plain = Commands(Workspace(root))
    assert "shell commands are not allowed" in await plain.run_command("echo a > b", "", True)
    assert "\n$HOME *\n" in await plain.run_command("echo $HOME *")
    assert not (root / "b").exists()
    assert "\n1\n" in await in_shell(root, "echo a | wc -l")


async def test_long_output_shows_both_ends(root: Path) -> None:
    code = "import os; os.write(1, b'first'); [os.write(1, b'x' * 1000000) for _ in range(100)]; os.write(1, b'last')"  # fmt: skip
    said = await commands(root).run_command(python(code))
    assert "first" in said
    assert "last" in said
    assert "of 100,000,009 bytes omitted" in said
    assert len(said) < 3_000


async def test_what_is_no_text_is_described(root: Path) -> None:
    assert "1,000 bytes that are not text" in await commands(root).run_command(
        "head -c 1000 /dev/zero"
    )


async def test_settings_and_call_limit_time(root: Path) -> None:
    said = await commands(root, seconds=0.5).run_command("sh -c 'echo begun; exec sleep 600'")
    assert said.startswith("The command was ended after 0.5 seconds")
    said = await commands(root).run_command("sleep 600", seconds=0.1)
    assert said.startswith("The command was ended after 0.1 seconds")
    said = await commands(root, seconds=0.5).run_command("sleep 600", seconds=float("nan"))
    assert said.startswith("The command was ended after 0.5 seconds")


STUBBORN = """
trap '' TERM HUP INT
echo $$ >> pids
(trap '' TERM; echo $(exec sh -c 'echo $PPID') >> pids; while :; do sleep 600; done) &
setsid sh -c 'trap "" TERM; echo $$ >> pids; while :; do sleep 600; done' &
while [ $(wc -l < pids) -lt 3 ]; do sleep 0.01; done
touch ready
"""


def alive(root: Path) -> list[int]:
    """Those of the started processes that still run."""
    started = (root / "pids").read_text(encoding="utf-8").split()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = (process / "status").read_text(encoding="utf-8")
            here = (process / "cwd").samefile(root)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        # the last number is the one in its own namespace
        if here and values["NSpid"].split()[-1] in started and "Z" not in values["State"]:
            found.append(int(process.name))
    return found


async def until_ready(root: Path) -> None:
    async with asyncio.timeout(scaled(60)):
        while not (root / "ready").exists():
            await asyncio.sleep(0.01)


@both
async def test_what_a_command_leaves_running_is_ended(root: Path, sandbox: Sandbox) -> None:
    said = await in_shell(root, STUBBORN, sandbox)
    assert "exit code 0" in said
    assert "Processes left in the background and ended: " in said
    assert alive(root) == []


@both
async def test_cancel_ends_stubborn_processes(root: Path, sandbox: Sandbox) -> None:
    task = asyncio.create_task(in_shell(root, f"{STUBBORN}\nsleep 600", sandbox))
    await until_ready(root)
    assert len(alive(root)) == 3
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(root) == []


@both
async def test_killed_program_leaves_nothing(root: Path, sandbox: Sandbox) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path;"
        "from genie_core.assistant.tools.shell.command import *;"
        "from genie_core.assistant.config import Sandbox;"
        "limits = ToolLimits(command_seconds=600, shell=True);"
        "tool = Commands(Workspace(Path(sys.argv[1])), limits, Sandbox(sys.argv[3]));"
        "asyncio.run(tool.run_command(sys.argv[2], shell=True))"
    )
    program = await asyncio.create_subprocess_exec(
        PYTHON, "-c", code, str(root), f"{STUBBORN}\nsleep 600", sandbox.mode,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    try:
        await until_ready(root)
    finally:
        program.kill()
        await program.wait()
    async with asyncio.timeout(scaled(60)):
        while alive(root):
            await asyncio.sleep(0.01)


DAEMON = """
(setsid sh -c '(trap "" TERM HUP; echo $(exec sh -c "echo \\$PPID") >> pids; while :; do sleep 600; done) &' &)
while [ ! -s pids ]; do sleep 0.01; done
read _ _ _ s _ < /proc/$$/stat
read _ _ _ g _ < /proc/$s/stat
"""


@both
@pytest.mark.parametrize(
    "end",
    [
        "kill -9 $s",
        "kill -STOP $s",
        "kill -9 $g",
        "kill -9 $g $s",
        "kill -9 $s $g",
        "kill -STOP $g $s",
    ],
)
async def test_killed_supervisor_leaves_nothing(
    root: Path, sandbox: Sandbox, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "PATIENCE", 1.0)
    tool = commands(root, seconds=5, sandbox=sandbox)
    said = await tool.run_command(f"{DAEMON}\n{end}\nsleep 600", "", True)
    assert said.startswith("The command "), said
    assert alive(root) == []


async def test_a_call_cancelled_at_once_starts_nothing(root: Path) -> None:
    task = asyncio.create_task(commands(root).run_command("touch started"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (root / "started").exists()
