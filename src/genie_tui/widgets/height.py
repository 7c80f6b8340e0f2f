"""How high an entry is, guessed without drawing it."""

from genie_tui.widgets.entry import (
    Day,
    Divider,
    Earlier,
    Entry,
    Note,
    Reply,
    Speech,
    Waiting,
)
from genie_tui.widgets.fold import beginning
from genie_tui.widgets.gutter import GUTTER


def estimate(entry: Entry, width: int) -> int:
    """About how many lines an entry takes: exact for short plain messages, and always cheap."""
    room = max(1, width - GUTTER - 1)
    match entry:
        case Day() | Divider() | Earlier(between=True):
            return 2
        case Earlier():
            return 1
        case Note(opens=opens, text=text):
            return opens + _rows(text, room)
        case (
            Speech(opens=opens, text=text, emote=emote)
            | Waiting(opens=opens, text=text, emote=emote)
        ):
            brought = len(entry.files) + len(entry.quotes)
            said = _rows(text, room) if text or not brought else 0
            return (1 if emote else 2) * opens + said + brought
        case Reply(quote=quote, text=text, incomplete=incomplete):
            below = _rows(incomplete, room) if incomplete else 0
            return 2 + bool(quote) + _rows(text, room) + below


def _rows(text: str, room: int) -> int:
    shown, missing = beginning(text)
    if missing:
        return _rows(shown, room) + 1
    if "\n" in text:
        return sum(-(-len(line) // room) or 1 for line in text.split("\n"))
    length = len(text)
    if length <= room:
        return 1
    return -(-length * 21 // (room * 20))  # wrapping at words wastes about a twentieth
