import json

import pytest

from genie_tui.cli.output import harmless_json, json_text, safe_line


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


def test_json_escapes_control_characters() -> None:
    value = {"te\x9bxt": ["é ü 🧞", "\x1b]0;x\x07 \x7f \u202e \U000e0041 \udcff", 10**30, None]}
    text = json_text(value)
    assert json.loads(text) == value
    assert "é ü 🧞" in text
    assert text.replace("\n", "").isprintable()


def test_json_of_others_keeps_its_lines() -> None:
    line = '{"text":"a\x9bb\u2028c"}\n'
    assert harmless_json(line) == '{"text":"a\\u009bb\\u2028c"}\n'
    assert harmless_json('{"text":"plain"}') == '{"text":"plain"}'
