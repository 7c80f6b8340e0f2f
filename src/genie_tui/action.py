"""What a person can do by key, and where."""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Scope(Enum):
    """Where a key works; the value is the heading in the help."""

    APP = "Everywhere"
    ROOM = "In a room"
    COMPOSER = "Writing"
    TIMELINE = "Reading"
    CARD = "Answering a tool call"
    DOOR = "Answering at the door"
    CONFIRM = "Before something goes out"
    EDIT = "Changing a tool call"
    GRANTS = "What you allowed"
    INVITE = "The invite"
    SETTINGS = "Settings"
    TOOLS = "Agents and tools"
    ACTIVITY = "Activity"
    LEDGER = "Activity, row by row"
    PREFERENCES = "Your preferences"
    LOBBY = "Lobby"
    SESSIONS = "All sessions"
    SESSION_LIST = "All sessions, row by row"
    ASK = "Answering a question"
    UNSAVED = "Unsaved messages"
    EXPORT = "Exporting a session"
    OFFERS = "Choosing a model in the lobby"
    REPLAY = "Watching a replay"
    WHATIF = "What other reasoners would have decided"


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do by key.

    `run` is the Textual action, or in a guarded scope the name of what is done with the key. It is
    empty where the widget itself takes the key, which is then listed here for the help only.
    `priority` keys work wherever the focus is. `shown` puts it into the footer, `offered` into the
    palette.
    """

    scope: Scope
    keys: tuple[str, ...]
    label: str
    help: str
    run: str = ""
    display: str = ""
    shown: bool = False
    offered: bool = False
    priority: bool = False

    @property
    def key_text(self) -> str:
        """The keys as a person would say them."""
        return self.display or "  ".join(_spell(key, ctrl="ctrl+") for key in self.keys)

    @property
    def short_keys(self) -> str:
        """The keys where space is short."""
        return self.display or " ".join(_spell(key, ctrl="^") for key in self.keys)


_NAMES: Final = {
    "escape": "esc",
    "slash": "/",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
}


def _spell(key: str, *, ctrl: str) -> str:
    *modifiers, last = key.split("+")
    words = [ctrl if modifier == "ctrl" else f"{modifier}+" for modifier in modifiers]
    return "".join(words) + _NAMES.get(last, last)
