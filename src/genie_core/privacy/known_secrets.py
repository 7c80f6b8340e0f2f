"""Finding values in a text that are known to be secret, however a program wrote them down.

A value is found as it is, quoted for an address, escaped for JSON or HTML, and in base64 or
hexadecimal, also in the middle of something longer. Other ways of writing it are not recognised.
"""

import base64
import re
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final
from urllib.parse import quote, quote_plus

HIDDEN: Final = "[hidden]"

SHORTEST: Final = 6
"""Characters that a value must have to be hidden: shorter ones are part of many words."""

_DEEPEST: Final = 6
"""How many groups the pattern has in each other, at most."""


class KnownSecrets:
    """Values that are replaced wherever they appear. Any thread may use it at any time.

    Known values stay known: a value that was deleted may still be written somewhere.
    """

    def __init__(self) -> None:
        self._adding = threading.Lock()
        self._names: dict[str, str] = {}
        self._forms = _Forms({})

    def __bool__(self) -> bool:
        return bool(self._names)

    def know(self, values: Iterable[str] | Mapping[str, str]) -> None:
        """Add values, or those of a mapping under their names; short ones are ignored."""
        named = {v: n for n, v in values.items()} if isinstance(values, Mapping) else None
        fresh = named if named is not None else dict.fromkeys(values, "")
        with self._adding:
            names = {**self._names}
            for value, name in fresh.items():
                if len(value) >= SHORTEST and value not in HIDDEN:
                    names[value] = name or names.get(value, "")
            if names != self._names:
                self._names, self._forms = names, _Forms(names)

    def mask(self, text: str) -> str:
        """Replace the values by `HIDDEN`; the time depends only on the length of the text."""
        return self._forms.pattern.sub(HIDDEN, text) if self._names else text

    def found(self, text: str) -> list[str]:
        """Return the values that `mask` would replace, in order."""
        return self._forms.pattern.findall(text) if self._names else []

    def names_in(self, text: str) -> tuple[str, ...]:
        """Return the names of values in a text, each once; unnamed ones are "a secret"."""
        names = (self._forms.names[form] or "a secret" for form in self.found(text))
        return tuple(dict.fromkeys(names))

    def complete(self, text: str) -> int:
        """Return how much of a text is masked alike before any further text."""
        return self._forms.complete(text) if self._names else len(text)


class DeltaMask:
    """Masks a text that comes in pieces; a value may span several.

    A possible beginning of a value is held back until it is clear: less than the longest value. All
    that comes out is, put together, the masked form of the whole text.
    """

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._held = ""

    def feed(self, piece: str) -> str:
        """Add a piece; return the text that can be shown now, maybe none."""
        text = self._held + piece
        length = self._known.complete(text)
        self._held = text[length:]
        return self._known.mask(text[:length])

    def end(self) -> str:
        """Return the text still held back, at the end of the stream."""
        rest, self._held = self._held, ""
        return self._known.mask(rest)


class _Forms:
    """All that is looked for, ready to be found. Never changes."""

    def __init__(self, names: Mapping[str, str]) -> None:
        found = ((form, name) for value, name in names.items() for form in _written(value))
        self.names = {form: name for form, name in found if form not in HIDDEN}
        self.pattern = re.compile(_any_of(list(self.names)))
        self._sorted = sorted(self.names)
        self._longest = max(map(len, self._sorted), default=0)
        self._initials = frozenset(form[0] for form in self._sorted)

    def complete(self, text: str) -> int:
        first = max(0, len(text) - self._longest + 1)
        inside = [match.span() for match in self.pattern.finditer(text) if match.end() > first]
        for index in range(first, len(text)):
            if (
                text[index] in self._initials
                and not any(start < index < end for start, end in inside)
                and self._begins(text[index:])
            ):
                return index
        return len(text)

    def _begins(self, text: str) -> bool:
        """Whether a value starts with the text and is longer."""
        at = bisect_left(self._sorted, text)
        return any(
            len(form) > len(text) and form.startswith(text) for form in self._sorted[at : at + 2]
        )


def _written(value: str) -> Iterator[str]:
    """Return the encodings in which a value may appear."""
    import html  # here, since every start of a command imports this module
    import json

    raw = value.encode("utf-8", "surrogatepass")
    yield value
    for safe in ("", "/", "/:"):
        quoted = quote(raw, safe=safe)
        yield from (quoted, re.sub(r"%..", lambda code: code[0].lower(), quoted))
    yield quote_plus(raw)
    for ascii_only in (True, False):
        escaped = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield from (escaped, json.dumps(escaped, ensure_ascii=ascii_only)[1:-1])
    yield repr(value)[1:-1]
    yield from (html.escape(value), html.escape(value, quote=False))
    yield from (raw.hex(), raw.hex().upper())
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        padded = encode(raw).decode()
        yield from (padded, padded.rstrip("="))
        for before in range(3):  # bytes that share its first group: they change how it is written
            whole = encode(bytes(before) + raw).decode()
            yield whole[(0, 2, 3)[before] : (before + len(raw)) * 8 // 6]


def _any_of(words: list[str], depth: int = 0) -> str:
    """Return a pattern for the longest matching word; it tries each common prefix once."""
    words = sorted(set(words), key=lambda word: (word[:1], -len(word)))
    if depth == _DEEPEST:
        return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    ways = []
    for initial, group in groupby(words, key=lambda word: word[:1]):
        alike = list(group)
        begin = _shared_beginning(alike) if initial else ""
        rests = [word[len(begin) :] for word in alike]
        more = f"(?:{_any_of(rests, depth + 1)})" if len(alike) > 1 else ""
        ways.append(re.escape(begin) + more)
    ways.sort(key=lambda way: not way)  # nothing more comes last, or it would always be enough
    return "|".join(ways)


def _shared_beginning(words: list[str]) -> str:
    low, high = min(words), max(words)
    differs = (index for index, both in enumerate(zip(low, high, strict=False)) if len({*both}) > 1)
    return low[: next(differs, len(low))]
