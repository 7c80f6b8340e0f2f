"""Choose the entries of a transcript, and hide names and words in them."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from genie_core.errors import GenieError
from genie_core.room.protocol.events import Event
from genie_core.storage.errors import disk_access
from genie_core.text.decoding import NotText, decode_text

HIDDEN: Final = "▇▇▇"
"""Replaces redacted words."""

REDACTIONS_BYTES: Final = 1024 * 1024
"""The largest file of redactions."""

Hide: TypeAlias = Callable[[str], str]
"""Returns a text with everything replaced that an export hides."""


class NoPlace(GenieError):
    """A text names no place in a log."""

    template = (
        "{text!r} is no place in a log: give the number of an entry, a date such as "
        "2026-11-21, or a date and time such as 2026-11-21T14:30"
    )
    text: str


class BadRedactions(GenieError):
    """A file of redactions can't be used."""

    template = "{path} says nothing to redact: {why}"
    path: Path
    why: str


@dataclass(frozen=True, slots=True)
class Place:
    """Entries that one text names: by their numbers, or by the time when they were recorded."""

    first: float
    last: float
    by_number: bool

    def is_after(self, event: Event) -> bool:
        return self._of(event) < self.first

    def is_before(self, event: Event) -> bool:
        return self._of(event) > self.last

    def _of(self, event: Event) -> float:
        return event.seq if self.by_number else event.at


def read_place(text: str) -> Place:
    """Return the place that a text names: an entry's number, a day, or a moment, in local time.

    Raises:
        NoPlace: it names none.
    """
    if text.isascii() and text.isdecimal() and len(text) < 16:
        return Place(int(text), int(text), by_number=True)
    try:
        start = datetime.fromisoformat(text)
        end = start + timedelta(days=1) if len(text) == len("2026-11-21") else start
        first, after = start.astimezone().timestamp(), end.astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise NoPlace(text) from None
    return Place(first, after - 1e-6 if after > first else first, by_number=False)


@dataclass(frozen=True, slots=True)
class Choices:
    """The entries of a transcript, from one place to another, and how they are shown.

    `messages_only` leaves out all but messages and answers, `arguments` says whether to show
    arguments of tools. `pseudonyms` replaces the names of people, `redactions` their matches.
    """

    first: Place | None = None
    last: Place | None = None
    messages_only: bool = False
    arguments: bool = True
    pseudonyms: bool = False
    redactions: tuple[re.Pattern[str], ...] = ()

    @property
    def hides(self) -> bool:
        """Whether texts differ from the originals."""
        return self.pseudonyms or bool(self.redactions)

    @property
    def keeps_signatures(self) -> bool:
        """Whether the signed bytes can be shown, which have all that was written."""
        return self.arguments and not self.hides

    def covers(self, event: Event) -> bool:
        """Whether an entry is between the chosen places, both included."""
        is_early = self.first is not None and self.first.is_after(event)
        is_late = self.last is not None and self.last.is_before(event)
        return not (is_early or is_late)

    def hide(self, names: Iterable[str]) -> Hide:
        """Return the part that hides these people and everything to be redacted in a text."""
        replaced = _replace_names(names) if self.pseudonyms else _as_it_is

        def hidden(text: str) -> str:
            for pattern in self.redactions:
                text = pattern.sub(HIDDEN, text)
            return replaced(text)

        return hidden if self.hides else _as_it_is

    def told(self) -> list[str]:
        """Describe the choices, a sentence each."""
        said = (
            (self.first is not None or self.last is not None, "This is a part of the session."),
            (self.messages_only, "Only messages and answers are shown."),
            (not self.arguments, "What tools were called with is left out."),
            (self.pseudonyms, "The names of people are replaced."),
            (bool(self.redactions), f"{HIDDEN} stands for what was taken out."),
        )
        return [sentence for applies, sentence in said if applies]


EVERYTHING: Final = Choices()


def read_redactions(path: Path) -> tuple[re.Pattern[str], ...]:
    """Return a file's entries to redact: a word, or a regular expression, on each line.

    Words are found in any case where they stand as words. Blank lines, and those that begin with `#`,
    say nothing. Blocks.

    Raises:
        BadRedactions: it says nothing, or a line is no regular expression.
        DiskFailure: it can't be read.
    """
    with disk_access("read", path), path.open("rb") as file:
        data = file.read(REDACTIONS_BYTES + 1)
    if len(data) > REDACTIONS_BYTES:
        raise BadRedactions(path, f"it is over {REDACTIONS_BYTES:,} bytes long")
    try:
        lines = decode_text(data).splitlines()
    except NotText as error:
        raise BadRedactions(path, str(error)) from None
    found = [
        _redaction(path, number, line.strip())
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]
    if not found:
        raise BadRedactions(path, "it has no line with a word or /a regular expression/")
    return tuple(found)


def _redaction(path: Path, number: int, line: str) -> re.Pattern[str]:
    is_pattern = len(line) > 2 and line.startswith("/") and line.endswith("/")
    try:
        found = re.compile(line[1:-1] if is_pattern else _as_words([line]), re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadRedactions(path, f"line {number}: {error}") from None
    if found.search(""):
        raise BadRedactions(path, f"line {number} matches an empty text")
    return found


def _as_words(words: Iterable[str]) -> str:
    """Return a pattern for words where they stand as such; the longest first."""
    ordered = sorted(words, key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)"


def _replace_names(names: Iterable[str]) -> Hide:
    known = list(filter(None, names))
    if not known:
        return _as_it_is
    by_name: dict[str, str] = {}
    for name in known:
        by_name.setdefault(name.casefold(), f"Person {len(by_name) + 1}")
    found = re.compile(_as_words(known), re.IGNORECASE)
    return lambda text: found.sub(lambda match: by_name.get(match[0].casefold(), HIDDEN), text)


def _as_it_is(text: str) -> str:
    return text
