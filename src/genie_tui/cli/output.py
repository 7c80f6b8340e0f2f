"""What is written to a terminal without a screen on it, or to the program that reads it."""

import json
from typing import Any


def safe_line(text: str) -> str:
    """A text as one line that a terminal shows and does not obey, whatever it quotes."""
    line = " ".join(text.split())
    if line.isprintable():
        return line
    from genie_core.text.safe import visible_line  # loads the screen's libraries, for few lines

    return visible_line(line)


def json_text(value: Any) -> str:
    """A value as JSON for people and programs, in which a terminal finds nothing to obey either."""
    return harmless_json(json.dumps(value, ensure_ascii=False, indent=2))


def harmless_json(text: str) -> str:
    """The same JSON, with everything spelt out that a terminal may obey or hide."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text
    )
