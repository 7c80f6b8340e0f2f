"""Finding all mistakes in the values of a settings file."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from genie_core.assistant.config import AGENT_NAME
from genie_core.privacy.redaction import hide_secrets
from genie_core.settings.setting_keys import (
    Key,
    expected,
    fields_of,
    from_text,
    is_table,
    listed_tables,
    named_tables,
    spell,
    unknown_key,
    without_none,
)

LONGEST: Final = 80
"""Characters of a wrong value shown in a message."""

_TAKEN: Final = frozenset({"system", "reasoner", "genie"})


@dataclass(frozen=True, slots=True)
class SettingMistake:
    """One wrong setting."""

    key: Key
    text: str


def mistakes(value: Any, hint: Any, key: Key = ()) -> Iterator[SettingMistake]:
    """Yield the mistakes in a value, compared with the model or the part of it at `key`."""
    tables, listed = named_tables(hint), listed_tables(hint)
    if is_table(without_none(hint)):
        hint = without_none(hint)
    if is_table(hint):
        yield from _in_table(value, hint, key)
    elif tables is not None and isinstance(value, dict):
        for name, inner in value.items():
            yield from _in_name(name, key)
            yield from mistakes(inner, tables, (*key, name))
    elif listed is not None and isinstance(value, list):
        for place, inner in enumerate(value):
            yield from mistakes(inner, listed, (*key, place))
    else:
        yield from _in_value(value, hint, key)


def _in_table(value: Any, table: type[msgspec.Struct], key: Key) -> Iterator[SettingMistake]:
    if not isinstance(value, dict):
        yield SettingMistake(key, f"{spell(key)} can't be {shown(value)}: it is a table")
        return
    fields = fields_of(table)
    for name, inner in value.items():
        if name in fields:
            yield from mistakes(inner, fields[name], (*key, name))
        else:
            yield SettingMistake((*key, name), unknown_key(name, key, tuple(fields)))
    for name in _required(table, value):
        if name not in value:
            yield SettingMistake(key, f"{spell(key)} needs {name!r}")


def _required(table: type[msgspec.Struct], given: Collection[str]) -> Sequence[str]:
    """Return the fields that must be there; `needed` of a table says so by the other ones."""
    if needed := getattr(table, "needed", None):
        return tuple(needed(given))
    return [field.name for field in msgspec.structs.fields(table) if field.required]


def _in_name(name: str, key: Key) -> Iterator[SettingMistake]:
    if not AGENT_NAME.fullmatch(name):
        why = "a name has at most 40 letters, digits, - and _"
    elif name.lower() in _TAKEN:
        why = "that name is taken"
    else:
        return
    yield SettingMistake(
        (*key, name), f"{spell(key)} can't have an entry called {shown(name)}: {why}"
    )


def _in_value(value: Any, hint: Any, key: Key) -> Iterator[SettingMistake]:
    try:
        msgspec.convert(value, hint, dec_hook=from_text)
    except msgspec.ValidationError as error:
        yield SettingMistake(key, wrong(key, value, hint, error))


def wrong(key: Key, value: Any, hint: Any, error: msgspec.ValidationError) -> str:
    """Return the message for a wrong value, with the valid ones."""
    return f"{spell(key)} can't be {shown(value)}: {expected(hint, error)}"


def shown(value: Any) -> str:
    """Format a value for a message: short, with secrets redacted."""
    text = hide_secrets(repr(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
