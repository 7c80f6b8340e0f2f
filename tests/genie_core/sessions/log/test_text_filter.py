import sys

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from genie_core.sessions.log.text_filter import _FOLDED, may_contain

TEXTS = st.text(st.sampled_from('aSsk"\\/\n\tßſKﬁé日 .i\x1b'), max_size=12)


@given(TEXTS, TEXTS, TEXTS)
def test_a_line_with_the_text_always_passes(before: str, wanted: str, after: str) -> None:
    line = msgspec.json.encode({"text": before + wanted + after})
    assert may_contain(wanted.casefold())(line)


def test_ascii_folding_chars_are_all_known() -> None:
    becoming = {
        char
        for char in map(chr, range(128, sys.maxunicode + 1))
        if any(each.isascii() for each in char.casefold())
    }
    assert set(_FOLDED) == becoming


def test_other_lines_are_passed_over() -> None:
    assert not may_contain("seeds")(b'{"text":"the garden"}\n')
    assert not may_contain("seeds")('{"text":"die Gärten"}\n'.encode())
