"""A text area that highlights JSON, even if it is invalid."""

import re
from typing import ClassVar, Final

from rich.style import Style
from rich.text import Text

from genie_tui.widgets.keys_in_order import TextEditor

LONGEST: Final = 5_000
"""Maximum characters of a line that are highlighted."""

_PART: Final = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<keyword>\b(?:true|false|null)\b)"
)


class JsonArea(TextEditor):
    """An editor for arguments."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "json--name",
        "json--string",
        "json--number",
        "json--keyword",
    }
    DEFAULT_CSS = """
    JsonArea {
        & .json--name { color: $text-primary; }
        & .json--string { color: $text-success; }
        & .json--number { color: $text-accent; }
        & .json--keyword { color: $text-secondary; }
    }
    """

    def get_line(self, line_index: int) -> Text:
        """Return a line with syntax colours."""
        line = super().get_line(line_index)
        if len(line) <= LONGEST:
            for part in _PART.finditer(line.plain):
                style = self.get_component_rich_style(f"json--{part.lastgroup}", partial=True)
                line.stylize(Style(color=style.color), *part.span())
        return line
