"""How much of what a tool server returns reaches a model."""

from typing import Final

LONGEST_TEXT: Final = 64_000
"""Characters of a result's text. A model can read more, but not again with each of its turns."""

LARGEST_FILE: Final = 5_000_000
"""Bytes of an image or another file in a result."""

LONGEST_DESCRIPTION: Final = 4_000
"""Characters of what a server says of a tool, which goes out with each request to a model."""


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """Leave out the middle of a text that is too long, and say so there."""
    if len(text) <= longest:
        return text
    left_out = f"\n[… {len(text) - longest} characters left out …]\n"
    return f"{text[: longest // 2]}{left_out}{text[-(longest // 2) :]}"


def too_large(size: int) -> str:
    """Stand in for a file that is not passed on."""
    return f"[a file of {size / 1_000_000:.1f} MB, which is too large to be passed on]"
