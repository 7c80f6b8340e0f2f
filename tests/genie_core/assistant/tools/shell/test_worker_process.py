import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.assistant.tools.shell.worker_process import TookTooLong, WorkFailed, isolated


def joined(first: str, second: str, *, end: str) -> str:
    return f"{first}{second}{end} in {os.getpid()}"


def forever(file: str) -> str:
    Path(file).write_text(str(os.getpid()), encoding="utf-8")
    while True:
        time.sleep(60)


def clock() -> str:
    return str(signal.alarm(0))


def failing() -> str:
    raise ValueError


def greedy() -> str:
    return str(len(bytearray(10**11)))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def pid_in(file: Path) -> int:
    async with asyncio.timeout(scaled(60)):
        while not file.exists() or not file.read_text(encoding="utf-8"):
            await asyncio.sleep(0.01)
    return int(file.read_text(encoding="utf-8"))


async def test_a_function_is_called_in_another_process() -> None:
    said = await isolated(60, joined, "Grü", "\ud83d\ude00", end="ße")
    assert said.rpartition(" in ")[0] in ("Grü\U0001f600ße", "Grü\ud83d\ude00ße")
    assert int(said.rpartition(" ")[2]) != os.getpid()


async def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with pytest.raises(TookTooLong):
        await isolated(1.5, forever, str(file))
    pid = file.read_text(encoding="utf-8") if file.exists() else ""
    assert not pid or not is_alive(int(pid))


async def test_orphaned_worker_ends_itself() -> None:
    assert 0 < int(await isolated(60, clock)) < 120


async def test_cancelling_ends_it(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    task = asyncio.create_task(isolated(600, forever, str(file)))
    pid = await pid_in(file)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(scaled(60)):
        while is_alive(pid):
            await asyncio.sleep(0.01)


async def test_what_fails_or_dies_is_told(tmp_path: Path) -> None:
    for function in (failing, greedy):
        with pytest.raises(WorkFailed):
            await isolated(60, function)
    file = tmp_path / "pid"
    task = asyncio.create_task(isolated(600, forever, str(file)))
    os.kill(await pid_in(file), signal.SIGKILL)
    with pytest.raises(WorkFailed):
        await task
