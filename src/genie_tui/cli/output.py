"""Output of commands: lines and JSON that command no terminal."""

import json
from typing import Any


def safe_line(text: str) -> str:
    """Return a text as one line that is safe for a terminal."""
    line = " ".join(text.split())
    if line.isprintable():
        return line
    from genie_core.text.safe import visible_line

    return visible_line(line)


def json_text(value: Any) -> str:
    """Return a value as indented JSON that is safe for a terminal."""
    return harmless_json(json.dumps(value, ensure_ascii=False, indent=2))


def harmless_json(text: str) -> str:
    """Escape everything in JSON that a terminal may obey or hide."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text
    )
