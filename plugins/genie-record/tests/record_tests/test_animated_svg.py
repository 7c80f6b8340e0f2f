"""Screens as an animated picture."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from genie_record.animated_svg import CELL, LINE, AnimatedSvg

SVG = "{http://www.w3.org/2000/svg}"
RED = Style.parse("bold underline #ff0000 on #000010")


def strip(*pieces: tuple[str, Style | None]) -> Strip:
    return Strip([Segment(text, style) for text, style in pieces])


def drawn(title: str, *screens: tuple[float, Sequence[Strip]]) -> str:
    picture = AnimatedSvg(10, 2)
    parts = [picture.begin(title), *(picture.screen(*each) for each in screens)]
    return "".join([*parts, picture.end(4.0)])


def test_screens_switch_at_their_times() -> None:
    one, two = [strip(("a", RED))], [strip(("b", None))]
    text = drawn("Team", (0.0, one), (1.0, two), (3.0, one))
    style = ET.fromstring(text).find(f"{SVG}style")  # noqa: S314 - our own text
    assert style is not None
    rules = style.text or ""
    for place, share in enumerate(("0%", "25.0000%", "75.0000%")):
        assert f"{share} {{ transform: translateX({-place * 10 * CELL}px); }}" in rules
    assert "4.00s step-end infinite" in rules
    assert "font-weight: bold" in rules
    assert "prefers-reduced-motion" in rules


def test_repeated_row_is_defined_once() -> None:
    row, other = strip(("same", RED)), strip(("other", RED))
    text = drawn("Team", (0.0, [row, row]), (1.0, [other, row]))
    assert text.count("<defs>") == 2
    assert text.count("<use ") == 4
    assert f'x="{10 * CELL}" y="{LINE}"' in text


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")))
def test_no_text_is_anything_but_text(hostile: str) -> None:
    text = drawn(hostile, (0.0, [strip((f"{hostile}<script>&", RED))]))
    root = ET.fromstring(text)  # noqa: S314 - as above
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags == {"svg", "title", "g", "defs", "use", "rect", "text", "style"}
    shown = [each.text for each in root.iter(f"{SVG}text")]
    assert shown == [f"{hostile}<script>&"]
    assert all(each.get("href", "#").startswith("#") for each in root.iter())
