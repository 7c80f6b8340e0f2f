"""Read the fields of another program's export, which may be missing or of any type."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

DEEPEST: Final = 64
"""Levels of a JSON value in which text is looked for; deeper words are left out by name."""

WORDS: Final = (
    *("pretext", "title", "text", "content", "parts", "extracted_content", "description"),
    *("question", "answers", "value", "fields", "summary", "result", "output", "body"),
    *("caption", "transcript", "transcription", "plain_text", "preview", "initial_comment"),
    *("comment", "alt_text", "elements", "blocks", "embeds", "footer"),
)
"""The fields that hold words in the exports of most programs, in reading order."""

_TECHNICAL: Final = frozenset(
    (
        *("type", "subtype", "id", "ids", "uuid", "url", "uris", "uri", "href", "ts", "time"),
        *("timestamp", "at", "date", "color", "colour", "style", "mode", "format"),
        *("language", "lang", "pointer", "status", "permalink", "slug", "hash", "digest"),
        *("size", "verbatim", "mimetype", "filetype", "citations", "team", "user"),
        *("username", "bot", "emoji", "thumb", "icon", "image", "proxy", "video"),
        *("signature", "discriminator", "avatar", "role", "roles", "platform", "encoding"),
        *("highlight", "preset", "kind", "variant", "direction", "access", "visibility"),
    )
)
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_NO_WORDS: Final = re.compile(r"[a-zA-Z][\w+.-]*://\S*|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)")
"""Addresses and times."""

_WORD: Final = re.compile(r"\w+")
_MILLISECONDS: Final = 1e11
"""Times beyond this many seconds (the year 5138) are milliseconds."""


def value_at(value: Any, *path: str) -> Any:
    """Return the value at a path of keys in a JSON value; None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: Any, *path: str) -> str:
    """Return the text or number at a path of keys in a JSON value; empty if there is none."""
    found = value_at(value, *path)
    if isinstance(found, int | float) and not isinstance(found, bool):
        return str(found)
    return found if isinstance(found, str) else ""


def first_text(value: Any, *keys: str) -> str:
    """Return the first text that is not blank in the fields `keys`; empty if there is none."""
    return next((text for key in keys if (text := text_at(value, key)).strip()), "")


def items_at(value: Any, *path: str) -> list[Any]:
    """Return the list at a path of keys in a JSON value; one value counts as a list of it."""
    found = value_at(value, *path)
    if found is None:
        return []
    return found if isinstance(found, list) else [found]


def file_names(value: Any, *keys: str, nameless: str = "file") -> tuple[str, ...]:
    """Return the names of files in a JSON list, which are in one of the fields `keys`."""
    files = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    names = (
        next((name for key in keys if isinstance(name := each.get(key), str) and name), nameless)
        for each in files
    )
    return tuple(filter(None, names))


def moment_of(value: Any) -> float | None:
    """Return the time that a number, a numeral or a date stands for; None if it is none."""
    if isinstance(value, str):
        return _moment_in(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    if not math.isfinite(seconds):
        return None
    return seconds / 1_000 if abs(seconds) > _MILLISECONDS else seconds


def _moment_in(text: str) -> float | None:
    try:
        return moment_of(float(text))
    except ValueError:
        pass
    try:
        date = datetime.fromisoformat(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def text_of(value: Any, keys: Sequence[str] = WORDS, deepest: int = DEEPEST) -> str:
    """Return the text of a JSON value: that of a list's items, and of the fields `keys`."""
    if isinstance(value, str) or deepest <= 0:
        return value if isinstance(value, str) else ""
    if isinstance(value, list):
        return joined(text_of(each, keys, deepest - 1) for each in value)
    found = [value[key] for key in keys if key in value] if isinstance(value, dict) else []
    return merged([text_of(each, keys, deepest - 1) for each in found])


def joined(parts: Iterable[str]) -> str:
    """Return texts as paragraphs, without blank ones."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def merged(parts: Iterable[str]) -> str:
    """Return texts of which some may say the same in another form as paragraphs, each once."""
    kept: list[str] = []
    for part in filter(str.strip, parts):
        if not lacking([part], joined(kept)):
            continue
        kept = [each for each in kept if lacking([each], part)]
        kept.append(part)
    return joined(kept)


def lacking(words: Iterable[str], shown: str) -> list[str]:
    """Return the words that a shown text lacks, each once."""
    sequence = _sequence(shown)
    return list(dict.fromkeys(each for each in words if not _is_in(each, shown, sequence)))


def _is_in(text: str, shown: str, sequence: str) -> bool:
    own = _sequence(text)
    return own in sequence if own.strip() else text.strip() in shown


def _sequence(text: str) -> str:
    """Return the words of a text, with anything between them."""
    return f" {' '.join(_WORD.findall(text)).casefold()} "


def words_in(value: Any, convert: Callable[[str], str] = str) -> list[str]:
    """Return all texts in a JSON value but ids, addresses and other technical fields, in order."""
    return [convert(text) for text in _texts_in(value) if text.strip()]


def _texts_in(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text) if not _NO_WORDS.fullmatch(text.strip()):
                yield text
            case list(items):
                waiting += reversed(items)
            case dict(fields):
                waiting += reversed(
                    [each for key, each in fields.items() if not _is_technical(key, each)]
                )


def _is_technical(key: str, value: Any) -> bool:
    """Whether a field describes its object; lists and objects with such names may hold words."""
    parts = _PARTS.findall(key)
    return isinstance(value, str) and bool(parts) and parts[-1].lower() in _TECHNICAL
