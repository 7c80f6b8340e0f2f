import pytest

from genie_tui.output import safe_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("all in order: 80×24", "all in order: 80×24"),
        ("two\nlines\t here ", "two lines here"),
        ("no \x1b]0;x\x07 title", "no ␛]0;x␇ title"),
        ("a\u202eb\x9bc", "a⟨U+202E⟩b⟨U+009B⟩c"),
        ("half\udcff", "half⟨U+DCFF⟩"),
    ],
)
def test_a_line_is_shown_and_not_obeyed(text: str, line: str) -> None:
    assert safe_line(text) == line
