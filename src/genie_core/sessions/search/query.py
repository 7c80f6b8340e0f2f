"""The query language: words, phrases, fields, regular expressions, and what to leave out.

One parser for all searches; `docs/search.md` describes the language.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from time import monotonic
from typing import Final, Literal, Protocol, Self, TypeAlias, get_args

from genie_core.errors import GenieError
from genie_core.sessions.search.folding import folded, one_line

DocumentKind: TypeAlias = Literal[
    "message",
    "answer",
    "decision",
    "silent",
    "approval",
    "approved",
    "denied",
    "expired",
    "parked",
    "failed",
    "stopped",
    "title",
]

KINDS: Final[Mapping[str, frozenset[DocumentKind]]] = {
    **{kind: frozenset({kind}) for kind in get_args(DocumentKind)},
    "decision": frozenset({"decision", "silent"}),
    "approval": frozenset({"approval", "approved", "denied", "expired", "parked"}),
}
"""The values of `kind:`."""

FIELDS: Final[Mapping[str, str]] = {
    "from": "from:ann",
    "in": "in:standup",
    "before": "before:2026-11-01",
    "after": "after:2026-10-01",
    "kind": "kind:denied",
    "has": "has:file",
}
"""The fields, each with an example."""

MOST_CHARS: Final = 1_000
MOST_CONDITIONS: Final = 32
"""Characters and conditions of a query."""

SECONDS: Final = 20.0
TEXT_SECONDS: Final = 0.25
"""How long a search by a regular expression may take, and a single text."""

_DATE: Final = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_PART: Final = re.compile(
    rf"""(?P<minus>-(?=[\w"/]))?
    (?: (?P<field>{"|".join(FIELDS)}): (?: "(?P<value>[^"]*)"? | (?P<bare>[^\s"]*) )
    | "(?P<phrase>[^"]*)"?
    | /(?P<expression>(?:[^/\\]|\\.)+)/(?=\s|\Z)
    | (?P<word>[^\s"]+) )""",
    re.VERBOSE | re.IGNORECASE,
)


class WrongQuery(GenieError):
    """A query can't be understood; the text says which form works."""


class SlowExpression(GenieError):
    """A regular expression takes too long to compare."""

    template = "/{source}/ takes too long to compare; write a simpler expression"
    source: str


class Expression:
    """A regular expression for one search, which may take `SECONDS`, and a text `TEXT_SECONDS`.

    Matching lets other threads run.
    """

    def __init__(self, source: str) -> None:
        import regex  # takes longer to load than most searches

        self._source = source
        self._end = 0.0
        try:
            self._pattern: regex.Pattern[str] = regex.compile(_folded(source), regex.IGNORECASE)
        except (regex.error, ValueError, OverflowError, RecursionError) as error:
            why = f"/{source}/ is no regular expression: {error}"
            raise WrongQuery(f'{why}; in quotes it is found as it is: "/{source}/"') from error

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where it matches; raises `SlowExpression`."""
        at = 0
        while at <= len(text) and (span := self.span(text, at)) is not None:
            yield span
            at = max(span[1], at + 1)

    def span(self, text: str, at: int = 0) -> tuple[int, int] | None:
        """Return where it matches first, if it does; raises `SlowExpression`."""
        now = monotonic()
        self._end = self._end or now + SECONDS
        try:
            found = self._pattern.search(text, at, timeout=TEXT_SECONDS)
        except TimeoutError as error:
            raise SlowExpression(self._source) from error
        if now > self._end:
            raise SlowExpression(self._source)
        return None if found is None else found.span()


class TextProperties(Protocol):
    """The properties of a text that a query asks about, beside its words."""

    @property
    def kind(self) -> DocumentKind: ...
    @property
    def by(self) -> str: ...
    @property
    def at(self) -> float: ...
    @property
    def has_file(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Query:
    """Conditions that must all hold, and `excluded` ones that must not.

    `words` are folded texts. Several authors, titles or kinds are alternatives; none means any. Use
    a query for one search.
    """

    words: tuple[str, ...] = ()
    expressions: tuple[Expression, ...] = ()
    authors: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    kinds: frozenset[DocumentKind] = frozenset()
    after: float = -inf
    before: float = inf
    has_file: bool = False
    excluded: "tuple[Query, ...]" = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a typed query; without any condition the query is false.

        Raises:
            WrongQuery: it can't be understood.
        """
        if len(text) > MOST_CHARS:
            raise WrongQuery(f"a search has at most {MOST_CHARS:,} characters")
        query, count = cls(), 0
        for part in _PART.finditer(one_line(text)):
            condition = _condition(part)
            count += condition is not None
            if condition is not None and part["minus"]:
                query = replace(query, excluded=(*query.excluded, condition))
            elif condition is not None:
                query = query.and_(condition)
        if count > MOST_CONDITIONS:
            raise WrongQuery(f"a search has at most {MOST_CONDITIONS} words and fields")
        return query

    def __bool__(self) -> bool:
        return self != Query()

    def is_about(self, room: str) -> bool:
        """Whether it can be met in a room, given by `room_key`."""
        return not self.titles or any(title in room for title in self.titles)

    def matches(self, entry: TextProperties, text: str, room: str) -> bool:
        """Whether all conditions hold for a folded text; raises `SlowExpression`."""
        return (
            (not self.kinds or entry.kind in self.kinds)
            and self.after <= entry.at < self.before
            and (not self.authors or folded(entry.by) in self.authors)
            and (not self.has_file or entry.has_file)
            and self.is_about(room)
            and all(word in text for word in self.words)
            and all(expression.span(text) is not None for expression in self.expressions)
            and not any(each.matches(entry, text, room) for each in self.excluded)
        )

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where a folded text has words and matches, in order and apart."""
        found = [span for word in self.words for span in _occurrences(text, word)]
        for expression in self.expressions:
            found += expression.spans(text)
        return _joined(sorted(span for span in found if span[0] < span[1]))

    def closeness(self, text: str) -> float:
        """Rate from 0 to 1 how well a folded text has the words: whole ones count most."""
        rates = [_closeness(text, word) for word in self.words]
        return sum(rates) / len(rates) if rates else 1.0

    def and_(self, other: "Query") -> Self:
        """Return a query for which the conditions of both must hold."""
        return replace(
            self,
            words=(*self.words, *other.words),
            expressions=(*self.expressions, *other.expressions),
            authors=(*self.authors, *other.authors),
            titles=(*self.titles, *other.titles),
            kinds=self.kinds | other.kinds,
            after=max(self.after, other.after),
            before=min(self.before, other.before),
            has_file=self.has_file or other.has_file,
        )


def room_key(title: str, id_: str) -> str:
    """Return the texts that the field `in:` is compared with."""
    return folded(one_line(f"{title} {id_}"))


def _folded(source: str) -> str:
    """Return an expression without accents, but with the case that its escapes need."""
    return "".join(each if each.isascii() else folded(each) for each in source)


def _condition(part: re.Match[str]) -> Query | None:
    if part["field"]:
        return _field(part["field"].lower(), part["value"] or part["bare"] or "")
    if part["expression"]:
        return Query(expressions=(Expression(part["expression"].replace(r"\/", "/")),))
    text = folded(part["word"] or part["phrase"].strip())
    return Query(words=(text,)) if text else None


def _field(name: str, value: str) -> Query:
    if not value.strip():
        raise WrongQuery(f"{name}: needs a value, such as {FIELDS[name]}")
    match name:
        case "from":
            return Query(authors=(folded(value),))
        case "in":
            return Query(titles=(folded(value),))
        case "before":
            return Query(before=_moment(name, value))
        case "after":
            return Query(after=_moment(name, value))
        case "kind":
            return Query(kinds=_kinds(value))
        case _:
            return _content(value)


def _kinds(value: str) -> frozenset[DocumentKind]:
    found = KINDS.get(value.lower())
    if found is None:
        raise WrongQuery(f"{value!r} is no kind; kind: takes {', '.join(KINDS)}")
    return found


def _content(value: str) -> Query:
    if value.lower() not in ("file", "files"):
        raise WrongQuery(f"has:{value} is not known; has:file finds messages with files")
    return Query(has_file=True)


def _moment(name: str, value: str) -> float:
    """Return the start of a day, month or year here, in seconds since the epoch."""
    found = _DATE.fullmatch(value)
    try:
        if found is not None:
            year, month, day = (int(each or 1) for each in found.groups())
            return datetime(year, month, day).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        pass
    forms = f"write a day, month or year: {name}:2026-11-01, {name}:2026-11 or {name}:2026"
    raise WrongQuery(f"{name}:{value} is no date; {forms}")


def _occurrences(text: str, word: str) -> Iterator[tuple[int, int]]:
    at = text.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = text.find(word, at + len(word))


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge ranges that touch."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _closeness(text: str, word: str) -> float:
    """Rate the first occurrence: as a word, as the beginning of one, or inside of one."""
    at = text.find(word)
    starts = at == 0 or not text[at - 1].isalnum()
    ends = not text[at + len(word) : at + len(word) + 1].isalnum()
    return 1.0 if starts and ends else 0.7 if starts else 0.4
