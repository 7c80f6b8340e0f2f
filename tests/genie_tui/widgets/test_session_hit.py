import pytest
from rich.style import Style

from genie_core.sessions.search.documents import DocumentKind, SearchHit
from genie_core.sessions.search.query import Snippet
from genie_tui.widgets.session_hit import HIT_LINES, hit_lines

FOUND = Style(bold=True)


def hit(kind: DocumentKind = "message") -> SearchHit:
    snippet = Snippet("plant [/red] apples\x1b[2J now", ((13, 19),))
    return SearchHit("a", "Garden", 7, 4, 100.0, "ann\u202e", kind, snippet)


def style(name: str) -> Style:
    return FOUND if name == "found" else Style()


def test_a_hit_tells_where_it_stands_and_what_it_says() -> None:
    where, says = hit_lines(hit(), 80, 4_000.0, style)
    assert where.text == "Garden  by ann⟨U+202E⟩ · 1 h ago"
    assert says.text == "  plant [/red] apples␛[2J now"
    assert [part.text for part in says if part.style == FOUND] == ["apples"]


@pytest.mark.parametrize("width", range(1, 60))
def test_it_has_exactly_its_lines_however_narrow(width: int) -> None:
    lines = hit_lines(hit(), width, 4_000.0, style)
    assert len(lines) == HIT_LINES
    assert all(line.cell_length <= width for line in lines)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("title", "its title"),
        ("answer", "answer of ann"),
        ("decision", "decision for ann"),
        ("approval", "tool call for ann"),
        ("failure", "failure for ann"),
    ],
)
def test_what_was_found_is_named(kind: DocumentKind, words: str) -> None:
    assert words in hit_lines(hit(kind), 80, 4_000.0, style)[0].text
