"""The model's answer, before it takes the form of one interface or the other."""

import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from genie_testing.openai.request import ModelRequest
from genie_testing.turns import Call, Calls, Cut, Say, Stall, split_words

_PART_LENGTH: Final = 5


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as it is sent: with an id, and its arguments as text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ModelReply:
    """A text, or none, and calls.

    `tag` makes ids unique, also among servers; `body` is that of the client. `cut` says that the
    length limit ended the text.
    """

    tag: str
    body: dict[str, Any]
    text: str | None
    calls: list[WrittenCall]
    tokens_in: int
    cut: bool = False
    created: int = field(default_factory=lambda: int(time.time()))
    sequence: Iterator[int] = field(default_factory=itertools.count)

    @property
    def tokens_out(self) -> int:
        """Estimate the tokens that a provider would charge."""
        written = sum(len(split_text(call.arguments)) for call in self.calls)
        return len(split_words(self.text or "")) + written


def reply_to(request: ModelRequest, tag: str, turn: Say | Call | Calls | Stall | Cut) -> ModelReply:
    """Convert a turn of the script to a reply."""
    text, calls = _spoken(turn)
    written = [_written(f"call_{tag}_{index}", call) for index, call in enumerate(calls)]
    words = sum(len(split_words(each)) for each in request.texts)
    cut = isinstance(turn, Say) and turn.cut
    return ModelReply(tag, request.body, text, written, tokens_in=words, cut=cut)


def split_text(text: str) -> list[str]:
    """Split a text regardless of words, as arguments are streamed."""
    return [text[at : at + _PART_LENGTH] for at in range(0, len(text), _PART_LENGTH)]


def media_type(address: str) -> str:
    """Return the media type of a `data:` URL; return other addresses unchanged."""
    head, comma, _data = address.partition(",")
    if not (comma and head.startswith("data:")):
        return address
    return head.removeprefix("data:").partition(";")[0]


def _spoken(turn: Say | Call | Calls | Stall | Cut) -> tuple[str | None, tuple[Call, ...]]:
    match turn:
        case Say(text) | Stall(text) | Cut(text):
            return text, ()
        case Call():
            return None, (turn,)
        case Calls(calls):
            return None, calls


def _written(call_id: str, call: Call) -> WrittenCall:
    arguments = call.arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return WrittenCall(call_id, call.name, text)
