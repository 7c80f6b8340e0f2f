"""Whether a subclass overrides a documented method or the one that extends it."""

from collections.abc import Iterator, Mapping
from typing import Any


def extends(holder: object, extended: str, documented: str) -> bool:
    """Return whether `extended` may be called in place of `documented`.

    It may not if a subclass, or the instance, overrides only the documented method: its author
    expects that to be called. Nor may it on an object that has neither in a class, such as a mock.
    """
    for names in _namespaces(holder):
        if extended in names:
            return True
        if documented in names:
            return False
    return False


def _namespaces(holder: object) -> Iterator[Mapping[str, Any]]:
    yield getattr(holder, "__dict__", {})
    yield from map(vars, type(holder).__mro__)
