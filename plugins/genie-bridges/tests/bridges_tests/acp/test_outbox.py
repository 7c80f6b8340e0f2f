"""Updates arrive in order, and a slow editor costs no memory."""

import asyncio
from typing import Any

import pytest

from genie_bridges.acp import outbox as module
from genie_bridges.acp.outbox import Outbox
from genie_bridges.acp.updates import call_ended
from genie_core.runtime.tasks import start_task


class Slow:
    """An editor that reads only while it is `open`."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.got: list[tuple[str, Any]] = []

    async def __call__(self, session: str, update: Any) -> None:
        await self.open.wait()
        self.got.append((session, update))

    @property
    def texts(self) -> list[str]:
        return [u.content.text if u.content else u.tool_call_id for _, u in self.got]


async def test_waiting_text_is_joined_in_order() -> None:
    editor = Slow()
    box = Outbox(editor)
    running = start_task(box.run())
    for session, text, id_ in (
        ("a", "1", "x"),
        ("a", "2", "x"),
        ("a", "3", "y"),
        ("b", "4", "y"),
    ):
        box.message(session, text, id_)
    box.thought("b", "5")
    box.call("b", call_ended("6", complete=True))
    box.message("b", "7", "y")
    editor.open.set()
    await box.flushed()
    assert editor.texts == ["12", "3", "4", "5\n\n", "6", "7"]
    running.cancel()
    await asyncio.wait([running])
    await box.flushed()  # nothing to wait for any more


async def test_slow_editor_misses_excess(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_CHARS", 100)
    editor = Slow()
    box = Outbox(editor)
    running = start_task(box.run())
    for number in range(100):
        box.message("a", "0123456789" * 10, str(number))
        box.call("a", call_ended(str(number), complete=True))
    editor.open.set()
    await box.flushed()
    await box.flushed()
    shown = editor.texts
    assert shown[0] == "0123456789" * 10
    assert shown[1:-1] == [str(number) for number in range(100)]
    assert "left out" in shown[-1]
    box.message("a", "again", "x")
    await box.flushed()
    assert editor.texts[-1] == "again"
    running.cancel()
    await asyncio.wait([running])
