"""Reach a person who looks elsewhere: the terminal's bell, its title, and desktop notifications.

Sequences: OSC 2 sets the title, and XTWINOPS 22 and 23 save and restore it (xterm's "Control
Sequences"). OSC 9 is iTerm2's notification, which WezTerm, Ghostty, kitty and others know; OSC 777 is
that of rxvt-unicode, foot and GNOME's terminals. tmux drops both, unless they come in its own DCS
sequence with each ESC doubled, and its option `allow-passthrough` is on (tmux(1)).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from genie_core.settings.model import Desktop, Notify, Settings
from genie_core.text.safe import visible_line

LONGEST: Final = 120
"""Characters of a title or a notification."""

_OSC: Final = "\x1b]"
_END: Final = "\x1b\\"
SAVE_TITLE: Final = "\x1b[22;2t"
RESTORE_TITLE: Final = "\x1b[23;2t"


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """How a person wants to be reached."""

    bell: bool = True
    title: bool = True
    desktop: Desktop = "none"
    notify: Notify = "mine"
    """The news of a room that call for an alert."""

    @classmethod
    def of(cls, settings: Settings) -> "AlertSettings":
        return cls(settings.bell, settings.window_title, settings.desktop, settings.notify)


class Alerts:
    """Writes alerts to a terminal. `settings` may be replaced at any time.

    Texts of people and agents can't end a sequence: they are written as `visible_line` returns them.
    `in_tmux` says that tmux is between the program and the terminal.
    """

    def __init__(
        self, write: Callable[[str], None], settings: AlertSettings, *, in_tmux: bool = False
    ) -> None:
        self.settings = settings
        self._write = write
        self._in_tmux = in_tmux
        self._title = ""

    def ring(self, text: str, *, attended: bool) -> None:
        """Ring the bell; notify the desktop, too, unless the person has the terminal before them."""
        if self.settings.bell:
            self._write("\x07")
        if not attended and self.settings.desktop != "none":
            sequence = desktop_sequence(self.settings.desktop, text)
            self._write(through_tmux(sequence) if self._in_tmux else sequence)

    def show_title(self, title: str) -> None:
        """Set the terminal's title if it changed."""
        if not self.settings.title or title == self._title:
            return
        if not self._title:
            self._write(SAVE_TITLE)
        self._title = title
        self._write(f"{_OSC}2;{_plain(title)}{_END}")

    def end(self) -> None:
        """Give the terminal its title back."""
        if self._title:
            self._title = ""
            self._write(RESTORE_TITLE)


def desktop_sequence(desktop: Desktop, text: str) -> str:
    """Return the sequence by which a terminal shows a notification; empty for none.

    In some terminals OSC 9 and a number is a command ("4;1;50" shows progress, "6;macro" types), so
    the text begins with a word and has no semicolon.
    """
    match desktop:
        case "osc9":
            return f"{_OSC}9;genie: {_field(text)}{_END}"
        case "osc777":
            return f"{_OSC}777;notify;genie;{_field(text)}{_END}"
        case "none":
            return ""


def through_tmux(sequence: str) -> str:
    """Return the wrapper by which tmux passes a sequence on to its terminal."""
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}{_END}"


def title_of(room: str, waiting: int, missed: int) -> str:
    """Return a terminal's title: approvals that wait, messages that were missed, and the room."""
    counts = [f"▲{waiting}"] * (waiting > 0) + [str(missed)] * (missed > 0)
    before = f"({' '.join(counts)}) " if counts else ""
    return f"{before}{room} · genie"


def _field(text: str) -> str:
    return _plain(text).replace(";", ",")


def _plain(text: str) -> str:
    return visible_line(text)[:LONGEST]
