"""The settings as text for a terminal: TOML in which each line says where its value comes from."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from genie_core.privacy.redaction import hide_secrets
from genie_tui.settings import Settings
from genie_tui.settings_keys import Key, fields_of, is_table, spell
from genie_tui.settings_source import Reading

COLUMN: Final = 44
"""Where the origins begin, if what is before them leaves room."""


def effective(reading: Reading) -> Iterator[str]:
    """Every setting with its value, as it is in effect. What is not set is a comment."""
    for key in _keys(Settings):
        if key == ("rules",):
            yield from _rules(reading)
        elif key == ("agents",):
            yield from _agents(reading)
        else:
            yield _line(key, _at(reading.settings, key), reading)


def _keys(table: type[msgspec.Struct], above: Key = ()) -> Iterator[Key]:
    for field, hint in fields_of(table).items():
        if is_table(hint):
            yield from _keys(hint, (*above, field))
        else:
            yield (*above, field)


def _at(value: Any, key: Key) -> Any:
    for part in key:
        value = getattr(value, str(part))
    return value


def _line(key: Key, value: Any, reading: Reading) -> str:
    said = f"# {spell(key)}" if value is None else f"{spell(key)} = {_toml(value)}"
    return _told(said, reading.origin(key).text)


def _told(said: str, origin: str) -> str:
    return f"{said:<{COLUMN}} # {origin}"


def _rules(reading: Reading) -> Iterator[str]:
    rules = reading.written.values.get("rules", [])
    if not rules:
        yield _told("rules = []", "default")
        return
    yield "rules = ["
    for place, rule in enumerate(rules):
        file = reading.written
        origin = f"{file.file.name}:{file.line(('rules', place))}"
        yield _told(f"  {_toml(rule)},", origin)
    yield "]"


def _agents(reading: Reading) -> Iterator[str]:
    agents = reading.written.values.get("agents", {})
    if not agents:
        yield _told("# agents", "default")
    for name, agent in agents.items():
        for field, value in agent.items():
            key = ("agents", name, field)
            yield _line(key, value, reading)


def _toml(value: Any) -> str:
    """A value on one line, without what looks like a key."""
    import tomlkit

    if isinstance(value, dict):
        pairs = (f"{tomlkit.key(key).as_string()} = {_toml(each)}" for key, each in value.items())
        inner = ", ".join(pairs)
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(each) for each in value)}]"
    clean = hide_secrets(value) if isinstance(value, str) else value
    return tomlkit.item(clean).as_string()
