"""Attempts to leave the sandbox. Each is made without one, too, where it has to succeed."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.assistant.config import Sandbox, ToolLimits
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.assistant.tools.shell import run, sandbox
from genie_core.assistant.tools.shell.command import Commands
from genie_core.assistant.tools.shell.sandbox import (
    SandboxBackend,
    SandboxUnavailable,
    describe_sandbox,
    find_backend,
)

MEANS = find_backend()
needs_bubblewrap = pytest.mark.skipif(
    MEANS.name != "bubblewrap", reason=MEANS.reason or "this is about bubblewrap"
)
OFF = Sandbox("off")
SECRET = "the-secret-of-the-owner"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "diary").write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def root(home: Path) -> Path:
    (home / "work").mkdir()
    return Workspace.at(home / "work").root


async def attempt(
    root: Path, line: str, sandbox: Sandbox | None = None, *, seconds: float = 60.0
) -> str:
    limits = ToolLimits(command_seconds=seconds, shell=True)  # noqa: S604 — a setting
    tool = Commands(Workspace(root), limits, sandbox or Sandbox("required"))
    return await tool.run_command(line, "", True)


def python(code: str) -> str:
    return f'{sys.executable} -I -S -c "{code}"'


# Files


@needs_bubblewrap
async def test_only_the_workspace_is_written(root: Path, tmp_path: Path) -> None:
    outside, link = tmp_path / "outside", root / "link"
    outside.mkdir()
    link.symlink_to(outside)
    for line, file in {
        "echo x > link/a": outside / "a",
        f"echo x > {outside}/b": outside / "b",
        "echo x > ../c": root.parent / "c",
    }.items():
        await attempt(root, line)
        assert not file.exists(), line
        await attempt(root, line, OFF)
        assert file.exists(), line
    assert "exit code 0" in await attempt(root, "echo x > file && mkdir folder")
    assert (root / "file").read_text() == "x\n"
    assert "Read-only file system" in await attempt(root, "touch /usr/genie-was-here")
    assert "exit code 0" in await attempt(root, "touch /tmp/x ~/x && rm /tmp/x ~/x")


@needs_bubblewrap
async def test_what_lies_in_the_home_is_not_read(root: Path, home: Path) -> None:
    (root / "link").symlink_to(home)
    for line in ("cat ~/diary", "cat link/diary", "cat ../diary", "cat /proc/*/cwd/../diary"):
        assert SECRET not in await attempt(root, line), line
    assert SECRET in await attempt(root, "cat link/diary", OFF)
    assert "\nwork\n" in await attempt(root, "ls -A ~")


@needs_bubblewrap
async def test_start_folder_does_not_lead_out(root: Path, tmp_path: Path) -> None:
    (tmp_path / "neighbour").write_text(SECRET)
    up = "/".join([".."] * 20)
    for line in (f"cat {up}{tmp_path}/neighbour", "cat /proc/*/fd/*/../../neighbour"):
        assert SECRET not in await attempt(root, line), line
    assert SECRET in await attempt(root, f"cat {up}{tmp_path}/neighbour", OFF)


@needs_bubblewrap
async def test_only_configured_folders_show(root: Path, home: Path, tmp_path: Path) -> None:
    for name in ("read", "written", "work/own"):
        (home / name).mkdir()
        (home / name / "file").write_text(f"content of {name}")
    settings = Sandbox(
        "required",
        writable=(home / "written", home / "missing"),
        readable=(home / "read", home / "diary"),
        hidden=(root / "own", tmp_path / "missing"),
    )
    assert "content of read" in await attempt(root, "cat ~/read/file", settings)
    assert SECRET in await attempt(root, "cat ~/diary", settings)
    assert "Read-only" in await attempt(root, "touch ~/read/more", settings)
    assert "exit code 0" in await attempt(root, "touch ~/written/more", settings)
    assert (home / "written" / "more").exists()
    assert "content of" not in await attempt(root, "cat own/file", settings)
    assert "content of work/own" in await attempt(root, "cat own/file", Sandbox("required"))


@needs_bubblewrap
async def test_link_by_command_reveals_nothing(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "private").mkdir()
    (home / "private" / "key").write_text(SECRET)
    await attempt(root, "ln -s ~/private link; mkdir deep; ln -s ~/private deep/link")
    monkeypatch.setenv("PATH", f"{root}/link:{os.environ['PATH']}")
    settings = Sandbox(
        "required", writable=(root / "link",), readable=(root / "deep" / "link", root / "link")
    )
    assert SECRET not in await attempt(root, "cat link/key ~/private/key deep/link/key", settings)
    assert SECRET in await attempt(root, "cat link/key", OFF)


@needs_bubblewrap
async def test_program_in_home_is_found_on_path(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "real").mkdir()
    program = home / "real" / "greet"
    program.write_text("#!/bin/sh\necho hello\ntouch $0 && echo changed\n")
    program.chmod(0o755)
    (home / "bin").symlink_to(home / "real")
    monkeypatch.setenv("PATH", f"{home}/bin:{home}:relative:/{'x' * 5000}:{os.environ['PATH']}")
    said = await attempt(root, "greet; cat ~/diary")
    assert "\nhello\n" in said
    assert "\nchanged\n" not in said
    assert SECRET not in said, "a home on PATH is no reason to show it"


@needs_bubblewrap
async def test_home_workspace_hides_app_folders(
    home: Path,
) -> None:
    (home / "data").mkdir()
    (home / "data" / "key").write_text("private key")
    said = await attempt(home, "cat diary data/key", Sandbox("required", hidden=(home / "data",)))
    assert SECRET in said
    assert "private key" not in said


# Processes and network


@pytest.fixture
async def neighbour() -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process of the same person, with a secret in its environment."""
    process = await asyncio.create_subprocess_exec(
        "sleep", "600", env={**os.environ, "NEIGHBOUR_KEY": SECRET}
    )
    yield process
    if process.returncode is None:
        process.kill()
    await process.wait()


@needs_bubblewrap
async def test_other_processes_are_unreachable(
    root: Path, neighbour: asyncio.subprocess.Process
) -> None:
    reading = "cat /proc/1/environ /proc/$PPID/environ /proc/[0-9]*/environ | tr '\\0' '\\n'"
    assert "TERM=dumb" in (said := await attempt(root, reading))
    assert SECRET not in said
    assert SECRET in await attempt(root, f"tr '\\0' '\\n' < /proc/{neighbour.pid}/environ", OFF)
    killing = f"kill -9 {neighbour.pid}"
    assert "exit code 0" not in await attempt(root, killing)
    assert neighbour.returncode is None
    assert "exit code 0" in await attempt(root, killing, OFF)
    await neighbour.wait()


@needs_bubblewrap
async def test_kill_all_ends_only_itself(root: Path) -> None:
    said = await attempt(root, "sleep 600 & echo begun; kill -9 $PPID; sleep 600")
    assert said.startswith("The command ended after ")
    assert "begun" in said
    said = await attempt(root, "trap '' TERM; kill -9 -1; sleep 600")
    assert said.startswith("The command ")


@needs_bubblewrap
@pytest.mark.parametrize("how", ["time", "cancelled"])
async def test_stopped_supervisor_ends_command(
    root: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(run, "PATIENCE", 0.5)
    stop = "read _ _ _ guard _ < /proc/$PPID/stat; kill -STOP $guard $PPID"
    line = f"{stop}; touch stopped; while :; do date +%N > now; done"
    task = asyncio.create_task(attempt(root, line, seconds=1.0 if how == "time" else 600.0))
    async with asyncio.timeout(scaled(60)):
        while not (root / "stopped").exists():
            await asyncio.sleep(0.01)
    if how == "time":
        assert "ended after 1 seconds, its time limit" in await task
    else:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with asyncio.timeout(scaled(60)):
        while any(_processes_in(root)):
            await asyncio.sleep(0.01)


def _processes_in(root: Path) -> Iterator[Path]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").samefile(root):
                yield process
        except OSError:
            continue


@needs_bubblewrap
async def test_network_needs_permission(root: Path) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SECRET.encode())
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        line = python(
            f"import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(99))"
        )
        said = await attempt(root, line)
        assert SECRET not in said
        assert "It ran in a sandbox without network." in said
        assert SECRET in await attempt(root, line, Sandbox("required", network=True))
        assert SECRET in await attempt(root, line, OFF)


@needs_bubblewrap
async def test_exit_and_leftovers_are_reported(root: Path) -> None:
    said = await attempt(root, "exit 139")
    assert "ended with exit code 139" in said
    assert "It ran in a sandbox without network." in said
    assert "ended by SIGKILL" in await attempt(root, "kill -KILL $$")
    assert "sandbox" not in await attempt(root, "true")
    assert "sandbox" not in await attempt(root, "exit 3", OFF)
    assert "sandbox" not in await attempt(root, "exit 3", Sandbox("required", network=True))
    said = await attempt(root, "setsid sleep 600 & exit 0")
    assert "Processes left in the background and ended: 1." in said


@needs_bubblewrap
async def test_command_gets_term_before_kill(root: Path) -> None:
    line = "trap 'touch tidied; exit' TERM; while :; do sleep 0.01; done"
    assert "its time limit" in await attempt(root, line, seconds=1.0)
    assert (root / "tidied").exists()


@needs_bubblewrap
async def test_a_command_gains_no_rights(root: Path) -> None:
    said = await attempt(root, "cat /proc/self/status")
    assert "NoNewPrivs:\t1" in said
    assert "CapEff:\t0000000000000000" in said
    assert "CapBnd:\t0000000000000000" in said or os.geteuid() != 0


@needs_bubblewrap
async def test_machine_settings_are_not_writable(root: Path) -> None:
    """Only access is asked for: a write would change this machine."""
    places = "('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sysrq-trigger')"
    code = f"import os; print([os.access(each, os.W_OK) for each in {places}])"
    assert "[False, False, False]" in await attempt(root, python(code))


@pytest.mark.parametrize("report", ["{", '{\\"code\\": \\"x\\"}', "[]", "\\377"])
async def test_forged_report_is_harmless(tmp_path: Path, report: str) -> None:
    forged = ["/bin/sh", "-c", f'printf "{report}" >&0', "sh"]
    outcome = await run.run_to_end(run.CommandRun(["true"], tmp_path, 60.0, 1000, {}, forged))
    assert (outcome.code, outcome.error, outcome.left) == (None, "", 0)


async def test_a_report_without_end_is_given_up(tmp_path: Path) -> None:
    forged = ["/bin/sh", "-c", "exec cat /dev/zero >&0", "sh"]
    outcome = await run.run_to_end(run.CommandRun(["true"], tmp_path, 600.0, 1000, {}, forged))
    assert outcome.code is None
    assert not outcome.out_of_time


# Settings


async def test_the_variables_are_those_of_the_settings(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=vendor")
    settings = Sandbox(env=("GOFLAGS", "TERM"))
    assert "GOFLAGS=" not in await attempt(root, "env", Sandbox())
    said = await attempt(root, "env", settings)
    assert "\nGOFLAGS=-mod=vendor\n" in said
    assert "\nTERM=dumb\n" in said
    assert "HOME=" not in said


NONE = SandboxBackend(reason="bubblewrap is not installed; install the package bubblewrap")


async def test_only_required_sandbox_is_missed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "find_backend", lambda: NONE)
    said = await attempt(root, "touch x", Sandbox("required"))
    assert said.startswith("Cannot do that: commands run only in a sandbox here")
    assert NONE.reason in said
    assert not (root / "x").exists()
    assert "exit code 0" in await attempt(root, "touch x", Sandbox("auto"))


def test_one_line_says_what_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe_sandbox(OFF) == "without a sandbox: it is off (setting: mode in [sandbox])"
    monkeypatch.setattr(sandbox, "find_backend", lambda: NONE)
    assert describe_sandbox(Sandbox()) == f"without a sandbox: {NONE.reason}"
    assert (
        describe_sandbox(Sandbox("required"))
        == f"not at all: a sandbox is required, but {NONE.reason}"
    )
    monkeypatch.setattr(sandbox, "find_backend", lambda: SandboxBackend("bubblewrap"))
    assert (
        describe_sandbox(Sandbox())
        == "in a sandbox: writes only the workspace, reads no homes, no network"
    )
    said = describe_sandbox(Sandbox(network=True, writable=(Path("/a\x1b[2J"),)))
    assert said.startswith("in a sandbox: writes only the workspace and /a")
    assert said.endswith(", with network")
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'bwrap: No permissions' >&2; exit 1", "does not work here: bwrap: No permissions"),
        ("exit 3", "it ended with 3"),
        ("sleep 600", "it took more than 0.2 seconds"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is another program")
def test_a_sandbox_that_does_not_work_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sandbox, "PROBE_SECONDS", 0.2 if "sleep" in script else 60.0)
    monkeypatch.setattr(sandbox, "_PLACES", str(tmp_path))
    means = find_backend.__wrapped__()
    assert means.name == ""
    assert why in means.reason


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is another program")
def test_workspace_backend_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert not find_backend.__wrapped__().program.startswith(str(tmp_path))
    monkeypatch.setattr(sandbox, "_PLACES", str(tmp_path / "none"))
    assert find_backend.__wrapped__() == NONE


def test_seatbelt_is_asked_for_the_same(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of the profile; what macOS makes of it is not tested."""
    monkeypatch.setattr(sandbox, "find_backend", lambda: SandboxBackend("seatbelt", program="/sb"))
    quoted = home / 'a "b" \\'
    quoted.mkdir()
    settings = Sandbox(readable=(quoted,))
    program, option, profile, *rest = sandbox.sandbox_command(settings, root, root)
    assert (program, option, rest[0]) == ("/sb", "-p", "/usr/bin/env")
    assert rest[1].startswith("TMPDIR=/")
    assert "(deny default)" in profile
    assert "network" not in profile
    lines = profile.splitlines()
    order = [
        lines.index(line)
        for line in (
            '(allow file-read* (subpath "/"))',
            '(deny file-write* (subpath "/"))',
            f'(deny file-read* file-write* (subpath "{home}"))',
            f'(allow file-read* file-write* (subpath "{root}"))',
        )
    ]
    assert order == sorted(order)
    assert f'(allow file-read* (subpath "{home}/a \\"b\\" \\\\"))' in lines
    assert f'(allow file-read-metadata (literal "{home}"))' in lines
    assert f'(literal "{root}")' not in profile
    *_, profile, _env, _folder = sandbox.sandbox_command(Sandbox(network=True), root, root)
    assert "(allow network*)" in profile.splitlines()


def test_missing_required_sandbox_is_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "find_backend", lambda: NONE)
    with pytest.raises(SandboxUnavailable, match="install the package bubblewrap"):
        sandbox.sandbox_command(Sandbox("required"), None)
    assert sandbox.sandbox_command(Sandbox(), None) == []
