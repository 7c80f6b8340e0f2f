"""The scope of a grant, as a person types and reads it."""

import re
from typing import Final

from genie_core.room.protocol.events import MOST_OF_SCOPE, Scope

_TYPED: Final = re.compile(r"(?P<count>[0-9]{1,6})\s*(?P<unit>x|m|min|h)?", re.ASCII)

HOW: Final = f"say how often or how long: 5, or 10m, up to {MOST_OF_SCOPE:,}"


def read_extent(text: str) -> tuple[Scope, int] | None:
    """So many calls, as "5", or so many minutes, as "10m" or "1h"; None if it is neither."""
    found = _TYPED.fullmatch(text.strip().lower())
    if found is None:
        return None
    count, unit = int(found["count"]), found["unit"] or "x"
    number = count * 60 if unit == "h" else count
    if not 1 <= number <= MOST_OF_SCOPE:
        return None
    return ("times" if unit == "x" else "minutes"), number


def extent_words(scope: Scope, count: int) -> str:
    """The words after "allowed", with a space before them; none for a single call."""
    match scope:
        case "session":
            return " for the session"
        case "times" if count > 1:
            return f" {count} times"
        case "minutes" if count == 1:
            return " for a minute"
        case "minutes":
            return f" for {count} minutes"
        case _:
            return ""
