import re
import unicodedata

import pytest
from genie_core.text.safe import plain, visible, visible_line
from genie_tui.terminal import TerminalSafe
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import ControlType, Segment
from rich.style import Style
from textual.color import Color

ESCAPED = re.compile("⟨U\\+([0-9A-F]{4,6})⟩")
NASTY = st.sampled_from(
    "\x00\x07\x08\t\n\r\x1b\x7f\x85\x9b\u00ad\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f"
    "\u2028\u2029\u202a\u202e\u2060\u2066\u2069\u3164\ufe00\ufe0e\ufe0f\ufeff\uffa0\ufff9\uffff"
    "\ud800\udfff\U000e0001\U000e0041\U000e0100\u0301\u20e3#1a字😀👩👍🏽❤\U0001f3fd"
)
TEXTS = st.text(NASTY | st.characters())


def forbidden(character: str) -> bool:
    """An independent, stricter reading of the rule: by category instead of by list."""
    category = unicodedata.category(character)
    if character == "\n":
        return False
    if category == "Cf":  # but for visible signs that Arabic and Kaithi put before numbers
        return (
            character not in "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
            and (
                not 0x110BD <= ord(character) <= 0x110CD
                and not 0x13430 <= ord(character) <= 0x13440
            )
        )
    return category in {"Cc", "Cs", "Zl", "Zp"}


@given(TEXTS)
def test_nothing_that_commands_reverses_or_hides_is_left(text: str) -> None:
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


def test_tabs_can_be_kept() -> None:
    assert visible("a\tb\x1b", tab=0) == "a\tb␛"


def test_plain_content_reads_no_markup() -> None:
    content = plain("[bold]x[/] \x1b[0m")
    assert content.plain == "[bold]x[/] ␛[0m"
    assert not content.spans


def scrub(*segments: Segment) -> list[Segment]:
    return TerminalSafe().apply(list(segments), Color(0, 0, 0))


@given(st.text(NASTY | st.characters(exclude_categories=())))
def test_the_second_wall_keeps_the_width(text: str) -> None:
    [segment] = scrub(Segment(text))
    assert not {c for c in segment.text if forbidden(c) or c == "\n"} - {"\u200d"}
    if not any(ord(c) in (0x200D, 0xFE0E, 0xFE0F) or 0x1F3FB <= ord(c) <= 0x1F3FF for c in text):
        assert segment.cell_length == sum(cell_len(c) for c in text)


def test_the_second_wall_leaves_good_lines_alone() -> None:
    line = [Segment("plain 日本 👩", Style(bold=True))]
    assert TerminalSafe().apply(line, Color(0, 0, 0)) is line
    family = Segment("👩‍👩‍👧", Style(bold=True))
    assert scrub(family) == [family]


def test_the_second_wall_leaves_the_terminals_own_codes_alone() -> None:
    control = Segment("\x1b[2J", None, [(ControlType.CLEAR,)])
    assert scrub(control, Segment("\x1b"))[0] is control


def test_the_second_wall_drops_a_link_that_would_end_itself() -> None:
    [segment] = scrub(Segment("here", Style(link="https://x\x1b\\\x1b[2J", bold=True)))
    assert segment.style is not None
    assert segment.style.link is None
    assert segment.style.bold
