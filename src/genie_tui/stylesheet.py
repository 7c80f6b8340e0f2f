"""Parse each piece of CSS once for a theme.

Textual parses everything again when a screen with CSS of its own is shown for the first time: 20 ms
for each dialog, and several times before the first screen is painted.
"""

from typing import Final

from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet

_SOURCES: Final = 1_024
"""More than there are widgets and screens; of more than 64, Textual's own cache keeps none."""


class KeepingStylesheet(Stylesheet):
    """A stylesheet that keeps the parsed one until the theme changes."""

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(_SOURCES)

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()
