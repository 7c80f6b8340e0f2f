"""What can be completed in a draft, and with what."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Completions:
    """What the room offers: names for `@`, and commands with what they do for `/`.

    Neither names nor commands carry their `@` or `/`.
    """

    names: Sequence[str] = ()
    commands: Sequence[tuple[str, str]] = ()
