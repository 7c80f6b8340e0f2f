"""Changing one setting in a file's text while keeping its comments and layout."""

from collections.abc import Mapping
from typing import Any

from genie_core.settings.load import statements
from genie_core.settings.setting_keys import Key


def put(text: str, key: Key, value: Any) -> str:
    """Return the text with a setting changed and everything else unchanged."""
    import tomlkit

    plain = list(value) if isinstance(value, tuple) else value
    doc = tomlkit.parse(text)
    if key[0] not in doc:
        if len(key) == 1:
            return _insert(text, tomlkit.dumps({str(key[0]): plain}))
        doc = tomlkit.parse(_with_gap(text))
    *above, last = (str(part) for part in key)
    table: Any = doc
    for place, part in enumerate(above):
        if part not in table:
            table[part] = tomlkit.table(is_super_table=place < len(above) - 1)
        table = table[part]
    table[last] = plain
    return tomlkit.dumps(doc)


def remove(text: str, key: Key) -> str:
    """Return the text without a setting or the tables it leaves empty. Raises `KeyError`."""
    import tomlkit
    from tomlkit.exceptions import NonExistentKey

    doc = tomlkit.parse(text)
    try:
        _remove(doc, [str(part) for part in key])
    except (NonExistentKey, TypeError, AttributeError) as error:
        raise KeyError(key) from error
    return tomlkit.dumps(doc)


def _remove(table: Any, parts: list[str]) -> None:
    part, *rest = parts
    if rest:
        _remove(table[part], rest)
        if table[part]:
            return
    elif part not in table:
        raise KeyError(part)
    del table[part]


def add_rule(text: str, *, rule: Mapping[str, str]) -> str:
    """Return the text with another rule at the end of the rules."""
    import tomlkit

    doc = tomlkit.parse(text)
    if "rules" not in doc:
        doc = tomlkit.parse(_with_gap(text))
        doc["rules"] = tomlkit.aot()
    rules: Any = doc["rules"]
    rules.append(dict(rule))
    return tomlkit.dumps(doc)


def ask_about_reads(text: str, *, ask: bool) -> str:
    """Return the text with or without a rule that asks about reading."""
    import tomlkit

    if ask:
        return add_rule(text, rule={"effect": "ask", "risk": "read"})
    doc = tomlkit.parse(text)
    rules: Any = doc.get("rules")
    if rules is not None:
        for place in reversed(range(len(rules))):
            if asks_about_reads(rules[place]):
                del rules[place]
        if not rules:
            del doc["rules"]
    return tomlkit.dumps(doc)


def asks_about_reads(rule: Any) -> bool:
    """Return whether a rule asks about everything that reads."""
    rest = {name: value for name, value in rule.items() if value not in ("*", {}, False)}
    rest = {name: value for name, value in rest.items() if value != "" or name == "risk"}
    return rest in (
        {"effect": "ask"},
        {"effect": "ask", "risk": ""},
        {"effect": "ask", "risk": "read"},
    )


def _with_gap(text: str) -> str:
    """Return the text with room for another table at its end."""
    return f"{text.rstrip()}\n\n" if text.strip() else ""


def _insert(text: str, line: str) -> str:
    """Insert a line below the last top-level setting, or above the first table's comment."""
    lines = text.split("\n")
    found = list(statements(text))
    heads = [each.first for each in found if each.head]
    singles = [each.last for each in found if not heads or each.first < heads[0]]
    if singles:
        place = singles[-1]
    elif heads:
        place = heads[0] - 1
        while place and lines[place - 1].lstrip().startswith("#"):
            place -= 1
        line += "\n"
    else:
        place = len(lines) if lines[-1] else len(lines) - 1
    return "\n".join([*lines[:place], *line.removesuffix("\n").split("\n"), *lines[place:]])
