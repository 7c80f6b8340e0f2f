import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.genie_core.assistant.tools.shell.test_command import STUBBORN, alive, both, until_ready
from tests.limits import scaled

from genie_core.assistant.config import Sandbox, ToolLimits
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace
from genie_core.assistant.tools.shell import jobs as module
from genie_core.assistant.tools.shell.command import Commands
from genie_core.assistant.tools.shell.jobs import MAX_LISTED, MAX_RUNNING, Jobs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Workspace.at(tmp_path).root


@pytest.fixture
async def jobs() -> AsyncIterator[Jobs]:
    jobs = Jobs()
    yield jobs
    await jobs.aclose()


def commands(root: Path, jobs: Jobs, sandbox: Sandbox | None = None, size: int = 2_000) -> Commands:
    limits = ToolLimits(command_bytes=size, shell=True)  # noqa: S604 — a setting
    return Commands(Workspace(root), limits, sandbox or Sandbox(), jobs)


async def in_background(tool: Commands, line: str) -> str:
    return await tool.run_command(line, "", True, background=True)


async def until_said(tool: Commands, job: int, text: str) -> str:
    """Read a job until it has said something; return all that it said."""
    said = ""
    async with asyncio.timeout(scaled(60)):
        while text not in said:
            said += await tool.read_job(job)
            await asyncio.sleep(0.01)
    return said


@both
async def test_a_job_is_started_read_and_stopped(root: Path, jobs: Jobs, sandbox: Sandbox) -> None:
    tool = commands(root, jobs, sandbox)
    said = await in_background(tool, f"echo first; {STUBBORN}\nwhile [ ! -e go ]; do sleep 0.01; done; echo second; sleep 600")  # fmt: skip
    assert said.startswith("Job 1 is running.\n")
    await until_ready(root)
    (root / "go").touch()
    said += await until_said(tool, 1, "second")
    assert said.count("first") == 1
    assert said.count("second") == 1
    assert await tool.read_job(1) == "Job 1 is running.\nNo output."
    assert len(alive(root)) == 3
    assert (await tool.read_job()).startswith("- job 1 is running: echo first;")
    assert await tool.stop_job(1) == "Job 1 was stopped.\nNo output."
    assert alive(root) == []
    assert await tool.stop_job(1) == "Job 1 was stopped.\nNo output."


async def test_an_end_is_told_with_the_last_output(root: Path, jobs: Jobs) -> None:
    tool = commands(root, jobs)
    assert "No output" in await in_background(tool, "while [ ! -e go ]; do sleep 0.01; done; echo bye; exit 3")  # fmt: skip
    (root / "go").touch()
    assert "bye" in await until_said(tool, 1, "Job 1 has ended with exit code 3.")
    said = await tool.run_command("no-such-program", background=True)
    assert said.startswith("Job 2 can't be started: No such file or directory.")
    assert "is a shell operator" in await tool.run_command("a | b", background=True)
    assert "outside" in await tool.run_command("ls", "..", background=True)
    assert "there is no job 9" in await tool.read_job(9)
    assert "there is no job -1" in await tool.stop_job(-1)
    assert len(jobs.all) == 2


@both
async def test_close_ends_jobs_and_starts_none(root: Path, sandbox: Sandbox) -> None:
    jobs = Jobs()
    tool = commands(root, jobs, sandbox)
    await in_background(tool, f"{STUBBORN}\nsleep 600")
    await until_ready(root)
    await jobs.aclose()
    assert alive(root) == []
    assert "the session is ending" in await in_background(tool, "sleep 600")
    await jobs.aclose()


async def test_what_a_job_prints_takes_bounded_memory(root: Path, jobs: Jobs) -> None:
    tool = commands(root, jobs)
    line = "head -c 50000000 /dev/zero | tr '\\0' x; echo end; sleep 600"
    said = await in_background(tool, line)
    said += await until_said(tool, 1, "end") if "end" not in said else ""
    assert len(said) < 20_000
    assert len(jobs.find(1).info.last) <= 400


async def test_jobs_are_limited_and_old_ones_forgotten(
    root: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 60.0)
    tool = commands(root, jobs)
    for _ in range(3):
        await tool.run_command("true", background=True)
    monkeypatch.setattr(module, "MAX_LISTED", 2)
    await tool.run_command("true", background=True)
    assert [job.number for job in jobs.all] == [3, 4]
    monkeypatch.setattr(module, "MAX_LISTED", MAX_LISTED)
    monkeypatch.setattr(module, "START_SECONDS", 0.0)
    for _ in range(MAX_RUNNING):
        await tool.run_command("sleep 600", background=True)
    assert "8 jobs are running" in await tool.run_command("sleep 600", background=True)


async def test_a_job_that_asks_is_told(root: Path, jobs: Jobs) -> None:
    tool = commands(root, jobs)
    said = await in_background(tool, "printf 'Overwrite? [y/N] '; sleep 600")
    while "It asks" not in said:
        said = await tool.read_job(1)
    assert "Commands get no input" in said
    assert "It asks: 'Overwrite? [y/N]'." in said
    assert jobs.find(1).info.is_running


async def test_a_job_outlives_the_call_that_started_it(root: Path, jobs: Jobs) -> None:
    call = asyncio.create_task(in_background(commands(root, jobs), "touch ready; sleep 600"))
    await until_ready(root)
    call.cancel()
    await asyncio.wait({call})
    assert jobs.find(1).is_running
    with pytest.raises(AccessRefused):
        jobs.find(2)
