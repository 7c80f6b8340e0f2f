"""Two programs of the examples: one hosts a room, the other joins it by invite."""

import asyncio
from pathlib import Path

import pytest

from examples import host_room, join_room
from genie_core.settings.model import Settings

HERE = "127.0.0.1"


async def test_a_member_asks_allows_a_tool_and_leaves_with_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("genie_core.room.open.host.EVERYWHERE", HERE)
    monkeypatch.setattr("genie_core.room.open.presence.reachable_hosts", lambda: (HERE,))
    (tmp_path / "ben").mkdir()
    hosting = asyncio.create_task(host_room.main(tmp_path / "ann", Settings(announce=False)))
    printed = ""
    async with asyncio.timeout(120):
        while not printed.endswith("\n"):
            await asyncio.sleep(0.01)
            assert not hosting.done()
            printed += capsys.readouterr().out
        answer = await join_room.main(printed.strip(), tmp_path / "ben")
        hosting.cancel()
        await asyncio.wait([hosting])
    assert "hello" in answer
    said = capsys.readouterr().out
    assert said == f"ben: @genie run echo hello\nben: {answer}\n"
