"""Two programs of the examples: one hosts a room, the other joins it by invite."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.limits import scaled

from examples import host_room, join_room
from genie_core.settings.model import Settings

HERE = "127.0.0.1"


async def test_member_allows_tool_for_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("genie_core.room.open.host.EVERYWHERE", HERE)
    monkeypatch.setattr("genie_core.room.participant.presence.reachable_hosts", lambda: (HERE,))
    (tmp_path / "ben").mkdir()
    hosting = asyncio.create_task(host_room.main(tmp_path / "ann", Settings(announce=False)))
    printed = ""
    async with asyncio.timeout(scaled(120)):
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


@pytest.mark.parametrize("name", ["host_room.py", "join_room.py"])
def test_engine_page_shows_example(name: str) -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs/engine.md").read_text()
    code = re.search(rf"^```python {name}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert code is not None
    assert code[1] == (root / "examples" / name).read_text()


def test_public_room_names_load_no_engine() -> None:
    code = (
        "import sys, genie_core.room as room\n"
        "loaded = [name for name in sys.modules if name.startswith('genie_core.room.')]\n"
        "assert loaded == [], loaded\n"
        "assert all(getattr(room, name) is not None for name in room.__all__)\n"
        "assert not {'pydantic_ai', 'agents', 'openai', 'textual', 'rich'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
