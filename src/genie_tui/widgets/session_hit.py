"""Something found in a session, in two lines: where it stands, and what it says."""

from collections.abc import Iterator
from typing import Final

from rich.style import Style
from textual.strip import Strip

from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.search.query import Snippet
from genie_core.text.format import ago
from genie_core.text.safe import visible_line
from genie_tui.widgets.session_columns import Painter, fitted

HIT_LINES: Final = 2

_WORDS: Final = {
    "title": "its title",
    "message": "by {by}",
    "answer": "answer of {by}",
    "decision": "decision for {by}",
    "approval": "tool call for {by}",
    "failure": "failure for {by}",
}


def hit_lines(hit: SearchHit, width: int, now: float, style: Painter) -> list[Strip]:
    """Draw a hit, in exactly so many lines."""
    muted = style("muted")
    about = _WORDS[hit.kind].format(by=visible_line(hit.by))
    where = [
        (visible_line(hit.title) or "(no title)", style("title")),
        (f"  {about} · {ago(now - hit.at)}", muted),
    ]
    says = [("  ", muted), *_found(hit.snippet, muted, style("found"))]
    return [fitted(where, width), fitted(says, width)]


def _found(snippet: Snippet, plain: Style, marked: Style) -> Iterator[tuple[str, Style]]:
    """A snippet in parts, of which those that were found have another style."""
    at = 0
    for low, high in snippet.marks:
        yield visible_line(snippet.text[at:low]), plain
        yield visible_line(snippet.text[low:high]), marked
        at = high
    yield visible_line(snippet.text[at:]), plain
