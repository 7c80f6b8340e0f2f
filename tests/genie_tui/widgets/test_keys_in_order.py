"""Keys that a terminal sends in one write are taken in their order."""

from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input, TextArea

from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.json_area import JsonArea
from genie_tui.widgets.keys_in_order import LineInput, TextEditor

BURST = ("a", "b", "backspace", "c", "ctrl+u", "x", "y", "left", "z")


class Page(App[None]):
    def __init__(self, editor: Any) -> None:
        super().__init__()
        self.editor = editor
        self.submitted: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.editor

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.submitted.append(event.value)


@pytest.mark.parametrize("kind", [LineInput, TextEditor, JsonArea, Composer])
async def test_a_burst_keeps_its_order(kind: type[Any]) -> None:
    app = Page(kind())
    async with app.run_test() as pilot:
        editor: Any = app.query_one("Editor") if kind is Composer else app.editor
        editor.focus()
        await pilot.pause()
        for key in BURST:
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        text = editor.text if isinstance(editor, TextArea) else editor.value
        assert text == "xzy"


async def test_enter_in_burst_submits_prior_text() -> None:
    app = Page(LineInput())
    async with app.run_test() as pilot:
        app.editor.focus()
        await pilot.pause()
        for key in ("a", "b", "enter", "c"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.submitted == ["ab"]
        assert app.editor.value == "abc"
