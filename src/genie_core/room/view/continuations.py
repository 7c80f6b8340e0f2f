"""Continuing a room as a new one, in words."""

from collections.abc import Sequence
from typing import Final

from genie_core.room.client.model import Continuation
from genie_core.text.format import duration
from genie_core.text.safe import visible_line

CONTINUE: Final = "Continue in a new room?"
FOLLOW: Final = "Follow into the new room?"

_BOTH: Final = (
    "Your copy of this room stays as it is. If {host} comes back, there are two rooms: nothing is "
    "merged by itself."
)

_TWO: Final = "There are two rooms now: nothing is merged by itself"


def about_continuing(title: str, host: str) -> str:
    """Describe continuing a room, for the person who is to confirm it."""
    host = visible_line(host)
    return (
        f"{host} hosts “{visible_line(title)}”, is not here, and has not named you as an heir. You can "
        "go on in a new room of yours with the same title, people and history, and with what you have "
        "not sent yet. The programs of the others ask them whether to follow.\n\n"
        + _BOTH.format(host=host)
    )


def about_following(found: Sequence[Continuation], now: float) -> str:
    """Describe following one of the rooms, for the person who is to confirm it."""
    told = "\n".join(f"{continues(each, now)}." for each in found)
    return (
        f"{told}\n\nYour program joins under your key, without an invite, and takes along what you "
        "have not sent yet. " + _BOTH.format(host=visible_line(found[0].host))
    )


def continues(found: Continuation, now: float) -> str:
    """Say who continues a room, since when its host is gone, and who else follows."""
    since = f" for {duration(max(0.0, now - found.since))}" if found.since else ""
    return (
        f"{visible_line(found.by)} continues this room as a new one, “{visible_line(found.title)}”; "
        f"{visible_line(found.host)} has been away{since}; {_others(found)}"
    )


def was_continued(found: Continuation) -> str:
    """Say to the host who is back that a member has continued the room meanwhile."""
    return (
        f"{visible_line(found.by)} continued this room as a new one, “{visible_line(found.title)}”, "
        f"while it had no host; {_others(found)}. {_TWO}"
    )


def is_back(host: str) -> str:
    """Say in a room that continues another one that the host of that one is back."""
    return f"{visible_line(host)} hosts the room again that this one continues. {_TWO}"


def _others(found: Continuation) -> str:
    others = ", ".join(map(visible_line, found.present))
    return f"also there: {others}" if others else "no other member is there yet"
