"""Finding what people wrote by the words in it."""

import re
from typing import Final

MAX_EXCERPT: Final = 240


def terms_of(words: str) -> list[str]:
    """The words to look for, and phrases in quotes as they are; without regard to case."""
    pairs = re.findall(r'"([^"]+)"|(\S+)', words)
    return [(phrase or word).casefold() for phrase, word in pairs if (phrase or word).strip('"')]


def contains(content: str, terms: list[str]) -> bool:
    """Whether all terms occur."""
    folded = content.casefold()
    return all(term in folded for term in terms)


def listed(terms: list[str]) -> str:
    """The terms, for a sentence."""
    return " and ".join(f'"{term}"' for term in terms)


def excerpt(content: str, term: str) -> str:
    """Cut a long message down to the surroundings of the first hit."""
    text = " ".join(content.split())
    at = max(0, text.casefold().find(term) - MAX_EXCERPT // 3)
    return f"{'…' if at else ''}{shortened(text[at:])}"


def shortened(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= MAX_EXCERPT else f"{text[:MAX_EXCERPT]}…"
