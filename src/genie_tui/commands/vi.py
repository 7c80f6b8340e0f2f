"""The keys of `keymap = "vi"` that differ from the default, by context and action.

They are written as in a file of keys.
"""

from collections.abc import Mapping
from typing import Final

_SCROLL: Final = ("up", "down", "pgup", "pgdn", "k", "j", "ctrl+u", "ctrl+d")
_PAGE_UP: Final = ("pgup", "ctrl+u")
_PAGE_DOWN: Final = ("pgdn", "ctrl+d")
_FIRST: Final = ("home", "g")
_LAST: Final = ("end", "G")

VI: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "composer": {"cancel": (), "leave": ("esc",)},
    "timeline": {
        "page-up": _PAGE_UP,
        "page-down": _PAGE_DOWN,
        "first": _FIRST,
        "latest": _LAST,
        "replied-to": ("p",),
        "back-to-the-reply": ("P",),
        "write": ("i",),
    },
    "card": {"scroll": _SCROLL},
    "confirm": {"scroll": _SCROLL},
    "unsaved": {"scroll-up": ("up", "k"), "scroll-down": ("down", "j")},
    "tools": {"scroll": _SCROLL},
    "view": {"scroll": _SCROLL},
    "costs": {"scroll": _SCROLL},
    "activity-rows": {
        "page-up": _PAGE_UP,
        "page-down": _PAGE_DOWN,
        "first": _FIRST,
        "last": _LAST,
    },
    "lobby": {"move": ("up", "down", "k", "j"), "join": ("J",)},
    "offers": {"move": ("up", "down", "k", "j")},
    "session-list": {
        "page-up": _PAGE_UP,
        "page-down": _PAGE_DOWN,
        "first": _FIRST,
        "last": _LAST,
    },
    "pick": {"up": ("up", "ctrl+p"), "down": ("down", "ctrl+n")},
    "replay": {
        "next": ("right", "l"),
        "back": ("left", "h"),
        "message": ("]", "shift+right"),
        "message-before": ("[", "shift+left"),
        "start": _FIRST,
        "end": _LAST,
        "page-up": _PAGE_UP,
        "page-down": _PAGE_DOWN,
    },
    "whatif": {"older": ("left", "h"), "newer": ("right", "l")},
}
