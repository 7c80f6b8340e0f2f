"""The file in which a room's invites outlive the program."""

import asyncio
import threading
from pathlib import Path

import pytest

from genie_core.durable import replace_file
from genie_core.room.passes import Passes
from genie_tui.hosting import PASSES_NAME, PassFile


async def test_whoever_closes_waits_for_the_last_passes_and_the_loop_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, goes_on = threading.Event(), threading.Event()

    def write(path: Path, content: bytes) -> None:
        hangs.set()
        goes_on.wait(5)
        replace_file(path, content)

    monkeypatch.setattr("genie_tui.hosting.replace_file", write)
    passes, file = Passes(), PassFile(tmp_path / PASSES_NAME)
    made = passes.issue(0.0)
    async with asyncio.timeout(60):
        file.save(passes)
        await asyncio.to_thread(hangs.wait)
        closing = asyncio.create_task(file.aclose())
        await asyncio.sleep(0)
        assert not closing.done()
        goes_on.set()
        await closing
    assert PassFile(tmp_path / PASSES_NAME).load().newest(0.0) == made


def test_passes_that_can_not_be_read_are_void(tmp_path: Path) -> None:
    path = tmp_path / PASSES_NAME
    assert PassFile(path).load().newest(0.0) is None
    path.write_bytes(b"{")
    assert PassFile(path).load().newest(0.0) is None
