import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_core.text.nasty import NASTY, forbidden

from genie_core.text.safe import is_emoji, quoted_line, visible, visible_line

ESCAPED = re.compile("⟨U\\+([0-9A-F]{4,6})⟩")
TEXTS = st.text(NASTY | st.characters())


@given(TEXTS)
def test_no_control_characters_remain(text: str) -> None:
    shown = visible(text)
    left = {character for character in shown if forbidden(character)}
    assert left <= {"\u200d"}
    for joiner in re.finditer("\u200d", shown):
        before, after = shown[joiner.start() - 1], shown[joiner.end()]
        assert unicodedata.category(before) in {"So", "Sk", "Mn", "Sm", "Po", "Cn"}
        assert unicodedata.category(after) in {"So", "Sm", "Po", "Cn"}


@given(TEXTS)
def test_it_changes_nothing_the_second_time(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(st.text(NASTY | st.characters(exclude_characters="⟨⟩", max_codepoint=0x23FF)))
def test_nothing_is_lost(text: str) -> None:
    shown = visible(text, tab=0)
    read = ESCAPED.sub(lambda match: chr(int(match[1], 16)), shown)
    read = re.sub("[␀-␟]", lambda match: chr(ord(match[0]) - 0x2400), read).replace("␡", "\x7f")
    assert read == text.replace("\r\n", "\n")


@given(TEXTS)
def test_one_line_stays_one_line(text: str) -> None:
    assert len(visible_line(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\r\nb\rc", "a\nb␍c"),
        ("ab\tc", "ab  c"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("abc\u202edef", "abc⟨U+202E⟩def"),
        ("\u061c", "⟨U+061C⟩"),
        ("pass\u200bword", "pass⟨U+200B⟩word"),
        ("a\u2028b", "a⟨U+2028⟩b"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("\udc80", "⟨U+DC80⟩"),
        ("x\ufe0f", "x⟨U+FE0F⟩"),
        ("😀" + "\ufe01" * 2, "😀⟨U+FE01⟩⟨U+FE01⟩"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("z" + "\u0301" * 6, "z" + "\u0301" * 4 + "⟨U+0301⟩" * 2),
    ],
)
def test_what_is_spelt_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧‍👦",
        "🏳️‍🌈",
        "👍🏽",
        "1️⃣",
        "❤️",
        "naïve e\u0301",
        "日本語\u3000全角",
        "葛\U000e0100",
        "שלום",
        "a\nb",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("text", ["👍", "❤️", "1️⃣", "👩‍💻", "👍🏽", "\U0001f1e9\U0001f1ea", "✅"])
def test_an_emoji_is_one(text: str) -> None:
    assert is_emoji(text)
    assert visible_line(text) == text


@pytest.mark.parametrize(
    "text", ["", "1", "ok", "+1", "👍 ", "a👍", "\u0301", "\u2800", "\u200d", "´"]
)
def test_other_texts_are_none(text: str) -> None:
    assert not is_emoji(text)


def test_tabs_can_be_kept() -> None:
    assert visible("a\tb\x1b", tab=0) == "a\tb␛"


@given(TEXTS)
def test_a_quote_is_one_line_without_breaks(text: str) -> None:
    quoted = quoted_line(text)
    assert quoted == visible_line(quoted)
    assert "␤" in quoted or "␤" not in text
    assert quoted_line("first\n\n  - second\n") == "first - second"
