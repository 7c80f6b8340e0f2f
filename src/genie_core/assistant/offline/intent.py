"""Finding the tool call that a message asks for, by patterns over plain English."""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Final

from genie_core.assistant.offline.ask import Ask, PlannedCall, read_ask
from genie_core.assistant.offline.phrases import acts, arithmetic, chat, dates, files

_UNDERSTAND: Final[tuple[Callable[[Ask], PlannedCall | None], ...]] = (
    dates.understand,
    arithmetic.understand,
    files.understand,
    chat.understand,
)
MAX_SENTENCES: Final = 20
"""Sentences at the end of a long message that are searched for a request."""
MAX_CHARS: Final = 2_000
"""Characters at the end of a long message that are searched for a request."""

_SENTENCE_END = re.compile(r"(?<=[?!;])\s+|(?<=[a-z)]\.)\s+(?=[A-Z])|\n+")


def plain_ask(text: str, tools: Collection[str]) -> PlannedCall | None:
    """Return the call that an unaddressed message asks for.

    The whole message must be one plain request for one of `tools`: among people, silence is the
    better mistake.
    """
    if len(text) > MAX_CHARS or "\n" in text.strip():
        return None
    ask = read_ask(text)
    call = acts.understand(text) or (_understood(ask) if ask else None)
    return call if call and call.plain and call.tool in tools else None


def asked_of_helper(text: str) -> PlannedCall | None:
    """Return the call that any sentence of a message to the helper asks for.

    Only reading calls are found in a part of a message: an action must be the whole message. The
    tool may be unavailable, so that the request can be declined by name.
    """
    if len(text) <= MAX_CHARS and (act := acts.understand(text)):
        return act
    for sentence in _sentences(text):
        if (ask := read_ask(sentence)) and (call := _understood(ask)):
            return call
    return None


def _understood(ask: Ask) -> PlannedCall | None:
    return next((call for understand in _UNDERSTAND if (call := understand(ask))), None)


def _sentences(text: str) -> Iterator[str]:
    """Yield the whole text first, then each sentence, the last one first.

    Of a text that is too long, only sentences that begin within its end are yielded.
    """
    if len(text) > MAX_CHARS:
        pieces = _SENTENCE_END.split(text[-MAX_CHARS:])[1:]
    else:
        yield text
        pieces = _SENTENCE_END.split(text)
    pieces = [piece for piece in pieces if piece.strip()]
    if len(pieces) > 1 or len(text) > MAX_CHARS:
        yield from reversed(pieces[-MAX_SENTENCES:])
