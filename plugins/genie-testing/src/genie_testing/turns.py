"""The act of a scripted model when it is its turn to speak."""

import re
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Say:
    """Answer with a text; with JSON in it where structured output is asked for.

    With `cut`, the length limit ends the answer here.
    """

    text: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """Call one tool.

    Arguments given as a string are sent as they stand: a model may write broken JSON.
    """

    name: str
    arguments: dict[str, Any] | str


@dataclass(frozen=True, slots=True, init=False)
class Calls:
    """Call several tools in parallel."""

    calls: tuple[Call, ...]

    def __init__(self, *calls: Call) -> None:
        object.__setattr__(self, "calls", calls)


@dataclass(frozen=True, slots=True)
class Refuse:
    """Fail the request with an HTTP status.

    Without a message or code, the usual ones of that status are sent. `retry_after` is in seconds
    and becomes the header that clients heed before they try again.
    """

    status: int
    message: str = ""
    code: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Stall:
    """Stream this much of an answer, then send nothing until the client leaves.

    Without streaming, send nothing at all.
    """

    after: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """Send this much of an answer, then drop the connection in the middle of the response."""

    after: str = ""


@dataclass(frozen=True, slots=True, init=False)
class Raw:
    """Send these events as they are, and end the response; without streaming, the first one.

    A text is sent as a line of its own. For answers as other services give them, also those that
    are not `streamed` although a client asks for it.
    """

    events: tuple[dict[str, Any] | str, ...]
    streamed: bool

    def __init__(self, *events: dict[str, Any] | str, streamed: bool = True) -> None:
        object.__setattr__(self, "events", events)
        object.__setattr__(self, "streamed", streamed)


Turn: TypeAlias = Say | Call | Calls | Refuse | Stall | Cut | Raw


def split_words(text: str) -> list[str]:
    """Split a text as models stream it."""
    return re.findall(r"\s*\S+\s*|\s+", text)
