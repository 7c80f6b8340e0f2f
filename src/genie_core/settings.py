"""Refusing arguments that make no sense where they are given, not where they first do harm."""

from typing import Any

from genie_core.errors import InvalidSetting


def check_setting(name: str, value: object, kind: type[Any], *, optional: bool = False) -> None:
    """Refuse an argument of another kind, such as a path instead of a store."""
    if isinstance(value, kind) or (optional and value is None):
        return
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    raise InvalidSetting(name, value, f"{article} {kind.__name__}")


def check_timeout(name: str, value: object) -> None:
    """Refuse what is neither None nor a positive number of seconds."""
    if value is None or (isinstance(value, int | float) and value > 0):
        return
    raise InvalidSetting(name, value, "a positive number of seconds")
