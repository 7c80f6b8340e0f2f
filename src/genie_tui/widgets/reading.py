"""Scroll a text by keys."""

from textual.containers import VerticalScroll


def read_on(area: VerticalScroll, key: str) -> None:
    """Scroll by a line with `up` and `down`; `pageup` and `pagedown` keep one line in view."""
    page = max(area.size.height - 1, 1)
    distance = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}[key]
    area.scroll_relative(y=distance, animate=False)
