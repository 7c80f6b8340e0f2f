"""Editors that take keys in the order in which they were pressed.

Textual runs the actions of a widget's bindings from the app, after the keys that the terminal has
sent by then: of "ab", backspace and "c" in one write, it would leave "ab".
"""

from textual import events
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, TextArea


class LineInput(Input):
    """An input for one line. Its cursor does not blink, so nothing is drawn while idle."""

    cursor_blink = reactive(default=False, init=False)

    async def _on_key(self, event: events.Key) -> None:
        await _act_at_once(self, event)


class TextEditor(TextArea):
    """An editor for text of several lines. Its cursor does not blink."""

    cursor_blink = reactive(default=False, init=False)

    async def _on_key(self, event: events.Key) -> None:
        await _act_at_once(self, event)


async def _act_at_once(editor: Widget, event: events.Key) -> None:
    """Run the action of the editor's own binding, if the key has one, before the next key."""
    for binding in editor._bindings.key_to_bindings.get(event.key, ()):  # noqa: SLF001 - Textual tells it nowhere else
        if not binding.priority and await editor.app.run_action(binding.action, editor):
            event.stop()
            event.prevent_default()
            return
