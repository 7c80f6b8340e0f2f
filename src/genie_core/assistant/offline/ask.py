"""Reducing a sentence to its request."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

MAX_ASK_CHARS: Final = 500
"""Longer sentences are not treated as requests."""

_OPENING = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|so|and|then|now|well|please|pls|quick question|genie)\b[,:;!.]*\s+|"
    r"(?:can|could|would|will) (?:you|u|someone|somebody|anyone|anybody)(?: please)?\s+|"
    r"(?:do|does) (?:you|u|someone|somebody|anyone|anybody) know\s+|"
    r"(?:i(?:'d| would) like|i want|i need) you to\s+|"
    r"(?:tell|give) (?:me|us)\s+(?=what|which|how|when|who|the (?:time|date)))+",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:[\s,]*+(?:\bplease|\bpls|\bthanks|\bthank you|\bthx|\bgenie|[?!]|\.(?=\s|$)))++\s*+$",
    re.IGNORECASE,
)
_BY_NAME = re.compile(r"\s*(?:(?:hey|hi|hello|ok|okay)[,\s]+genie\b|genie\s*[,:])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ask:
    """A sentence without polite words. `question` is set if it ended in a question mark."""

    text: str
    question: bool


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """The tool call for a request.

    `plain` means that the words are unambiguous, so that acting on them is right even if the
    message is not addressed to the assistant.
    """

    tool: str
    args: dict[str, Any] = field(default_factory=dict)
    plain: bool = False


def read_ask(sentence: str) -> Ask | None:
    """Strip greetings and polite words; None for text that is empty or too long."""
    if len(sentence) > MAX_ASK_CHARS:
        return None
    text = " ".join(sentence.replace("\u2019", "'").split())
    closing = _CLOSING.search(text)
    question = closing is not None and "?" in closing.group()
    text = without_opening(_CLOSING.sub("", text))
    return Ask(text, question) if text else None


def without_opening(text: str) -> str:
    """Strip greetings and polite words from the beginning."""
    opening = _OPENING.match(text)
    return text[opening.end() :] if opening else text


def called_by_name(text: str) -> bool:
    """Return whether a message begins with the assistant's name, as in "genie, …" or "hey genie"."""
    return _BY_NAME.match(text) is not None
