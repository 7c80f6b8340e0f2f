"""Copy texts, and say so."""

from typing import Final

from textual.widget import Widget

from genie_core.text.format import counted

SHOWN: Final = 2.0
"""Seconds for which the notice is shown."""


def copy(widget: Widget, text: str, what: str = "") -> None:
    """Copy a text from a widget or a screen to the clipboard, and say how much it is, and what."""
    widget.app.copy_to_clipboard(text)
    copied = f"{what}: " if what else ""
    copied += counted(len(text), "character")
    widget.notify(f"Copied {copied}.", markup=False, timeout=SHOWN)
