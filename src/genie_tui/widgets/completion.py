"""What can be completed in a draft, and with what."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

MOST: Final = 8
"""How many choices are offered at once."""

_NAME: Final = re.compile(r"(?:^|[\s(,])@(?P<typed>[^\s@]*)\Z")
_COMMAND: Final = re.compile(r"/(?P<typed>\w*)")


@dataclass(frozen=True, slots=True)
class Completions:
    """What the room offers: names for `@`, and commands with what they do for `/`.

    Neither names nor commands carry their `@` or `/`.
    """

    names: Sequence[str] = ()
    commands: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to complete what is being typed."""

    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """The ways to complete the last `len(typed)` characters before the cursor, best first."""

    typed: str
    choices: tuple[Choice, ...]

    def is_complete(self, choice: Choice) -> bool:
        """Whether the choice has been typed in full."""
        return choice.text.casefold() == self.typed.casefold()


def offer(before: str, completions: Completions) -> Offer | None:
    """What to offer for the text before the cursor, None if nothing fits.

    Names come after an `@` that starts a word, commands after a `/` that starts the draft.
    """
    if command := _COMMAND.fullmatch(before):
        typed = command["typed"]
        found = _matching(typed, "/", completions.commands)
    elif name := _NAME.search(before):
        typed = name["typed"]
        found = _matching(typed, "@", [(known, "") for known in completions.names])
    else:
        return None
    choices = tuple(found)[:MOST]
    return Offer(before[-len(typed) - 1 :], choices) if choices else None


def _matching(typed: str, sign: str, known: Sequence[tuple[str, str]]) -> Iterator[Choice]:
    """First what starts with what was typed, then, from two characters on, what contains it."""
    wanted = typed.casefold()
    starting = [one for one in known if one[0].casefold().startswith(wanted)]
    containing = [one for one in known if len(wanted) > 1 and wanted in one[0].casefold()]
    for text, detail in dict.fromkeys([*starting, *containing]):
        yield Choice(sign + text, detail)
