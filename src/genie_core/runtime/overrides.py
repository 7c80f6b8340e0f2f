"""Whether a subclass overrides a documented method or the one that extends it."""


def extends(holder: object, extended: str, documented: str) -> bool:
    """Return whether `extended` may be called in place of `documented`.

    It may not if a subclass, or the instance, overrides only the documented method: its author
    expects that to be called. Nor may it on an object that has neither in a class, such as a mock.
    """
    for names in (getattr(holder, "__dict__", {}), *map(vars, type(holder).__mro__)):
        if extended in names:
            return True
        if documented in names:
            return False
    return False
