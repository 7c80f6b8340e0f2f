"""What broke, in words that leave out what everybody in a room knows."""

import re
from typing import Final

from genie_core.room.protocol.events import Stage

CUT: Final = "incomplete: the model's length limit ended this answer"
CUT_MARK: Final = "✂"

_WHOSE: Final = re.compile(r"(?:agent 'system'|reasoner) of [^:]{1,64}: ")
_PARTS: Final[dict[Stage, str]] = {"factory": "set-up"}


def part(stage: Stage) -> str:
    """Where it broke, as people call it."""
    return _PARTS.get(stage, stage)


def why_failed(error: str) -> str:
    """Why it broke: without the name of the one agent, and person, whose line says so already."""
    whose = _WHOSE.match(error)
    return error[whose.end() :] or error if whose else error
