"""Copy texts, and say so."""

import logging
import subprocess
from typing import Final

from textual.widget import Widget

from genie_core.text.format import counted

SHOWN: Final = 2.0
"""Seconds for which the notice is shown."""

TMUX_TIMEOUT: Final = 2.0
"""Seconds that tmux has to take a text."""

logger = logging.getLogger(__name__)


def copy(widget: Widget, text: str, what: str = "") -> None:
    """Copy a text from a widget or a screen to the clipboard, and name its kind and length."""
    widget.app.copy_to_clipboard(text)
    copied = f"{what}: " if what else ""
    copied += counted(len(text), "character")
    widget.notify(f"Copied {copied}.", markup=False, timeout=SHOWN)


def copy_in_tmux(text: str) -> None:
    """Give a text to tmux, which passes it on to the terminal. Blocks; never raises.

    With tmux's default `set-clipboard external`, it ignores OSC 52 of the programs in it.
    """
    try:
        subprocess.run(
            ("tmux", "load-buffer", "-w", "-"),
            input=text.encode(errors="replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TMUX_TIMEOUT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        logger.info("tmux did not take a text: %s", error)
