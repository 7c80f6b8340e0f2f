"""Extracting the key sentences of a text.

The method is H. P. Luhn's, "The Automatic Creation of Literature Abstracts", IBM Journal of
Research and Development 2(2), 1958. Recurring content words are significant. A sentence scores by
its densest cluster of significant words: their number squared over the cluster's length.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_GAP: Final = 4
"""Insignificant words allowed between two significant ones of a cluster."""

MAX_SENTENCE_WORDS: Final = 80

_FUNCTION_WORDS_TEXT: Final = """
    a about above after again all also am an and any are aren't as at be because been before
    being below between both but by can can't could couldn't did didn't do does doesn't doing don't
    down during each few for from further get got had has have having he her here hers him his how
    i i'd i'll i'm i've if in into is isn't it it's its just let let's like lol me more most my no
    nor not now of off oh ok okay on once one only or other our out over own really same she should
    so some still such than that that's the their them then there these they they're think this
    those through to too under until up us very was wasn't we we'll we're well were what when where
    which while who why will with won't would yeah yes yet you you're your
"""
_FUNCTION_WORDS: Final = frozenset(_FUNCTION_WORDS_TEXT.split())
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence and its speaker."""

    text: str
    speaker: str


def sentences(text: str) -> list[str]:
    """Split a message into sentences of at least two words."""
    pieces = (" ".join(piece.split()) for piece in _SENTENCE_END.split(text))
    return [piece for piece in pieces if len(_words(piece)) >= 2]


def key_sentences(pool: Sequence[Sentence], count: int) -> list[Sentence]:
    """Return the `count` best sentences in their original order; the later one wins a tie.

    Drops repetitions and sentences without a significant word.
    """
    significant = _significant(pool)
    scored = [(_score(sentence.text, significant), n) for n, sentence in enumerate(pool)]
    telling = sorted(((score, n) for score, n in scored if score), reverse=True)
    chosen: dict[str, int] = {}
    for _, position in telling:
        if len(chosen) == count:
            break
        chosen.setdefault(pool[position].text.casefold(), position)
    return [pool[position] for position in sorted(chosen.values())]


def _significant(pool: Sequence[Sentence]) -> frozenset[str]:
    """Return the words that recur, or all content words if none does."""
    counts = Counter(word for sentence in pool for word in _content_words(sentence.text))
    recurring = frozenset(word for word, times in counts.items() if times > 1)
    return recurring or frozenset(counts)


def _score(text: str, significant: frozenset[str]) -> float:
    words = _words(text)[:MAX_SENTENCE_WORDS]
    places = [place for place, word in enumerate(words) if word in significant]
    best = 0.0
    start = 0
    for index, place in enumerate(places):
        if index and place - places[index - 1] > MAX_GAP + 1:
            start = index
        size = index - start + 1
        best = max(best, size * size / (place - places[start] + 1))
    return best


def _content_words(text: str) -> list[str]:
    return [word for word in _words(text) if word not in _FUNCTION_WORDS and len(word) > 1]


def _words(text: str) -> list[str]:
    return [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]
