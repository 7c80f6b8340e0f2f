import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_tui.widgets.fold import (
    GROWING_CHARS,
    GROWING_LINES,
    MOST_CHARS,
    MOST_LINES,
    beginning,
    ending,
)


@pytest.mark.parametrize("text", ["", "a", "a\nb\n", "x" * GROWING_CHARS, "\n" * 50])
def test_what_is_short_enough_stays_whole(text: str) -> None:
    assert beginning(text) == (text, "")
    assert ending(text) == (text, "")


def test_lines_are_cut_off_and_counted() -> None:
    text = "\n".join(str(number) for number in range(MOST_LINES + 385))
    shown, missing = beginning(text)
    assert shown.split("\n")[-1] == str(MOST_LINES - 1)
    assert missing == "385 more lines"


def test_a_long_line_is_cut_within() -> None:
    shown, missing = beginning("x" * (MOST_CHARS + 1_234))
    assert (len(shown), missing) == (MOST_CHARS, "1,234 more characters")


def test_cuts_go_between_lines_where_there_are_some() -> None:
    line = "x" * 999
    shown, missing = beginning("\n".join([line] * 100))
    assert set(shown.split("\n")) == {line}
    assert missing == f"{100 - MOST_CHARS // 1_000} more lines"


def test_nothing_but_line_breaks_is_not_worth_a_word() -> None:
    assert beginning("x\n" * MOST_LINES)[1] == ""


def test_of_a_growing_text_the_end_is_shown() -> None:
    text = "\n".join(str(number) for number in range(GROWING_LINES + 385))
    shown, missing = ending(text)
    assert shown.split("\n") == [str(385 + number) for number in range(GROWING_LINES)]
    assert missing == "385 lines above"


def test_a_growing_line_shows_its_end() -> None:
    shown, missing = ending("a" * 5_000 + "b" * GROWING_CHARS)
    assert (shown, missing) == ("b" * GROWING_CHARS, "5,000 characters above")


def test_code_that_grows_stays_code() -> None:
    shown, _ = ending("text\n```python\n" + "x = 1\n" * 1_000)
    assert shown.startswith("```python\nx = 1\n")
    closed, _ = ending("```python\nx\n```\n" + "words\n" * 1_000)
    assert closed.startswith("words\n")


@given(st.text(st.sampled_from("ab\n"), max_size=30), st.integers(0, 1_500))
def test_cutting_bounds_what_is_shown_and_keeps_its_order(part: str, times: int) -> None:
    text = part * times
    first, _ = beginning(text)
    last, _ = ending(text)
    assert text.startswith(first)
    assert text.endswith(last)
    assert len(first) <= MOST_CHARS
    assert len(last) <= max(GROWING_CHARS, len(part))
    assert first.count("\n") <= MOST_LINES
    assert last.count("\n") <= GROWING_LINES
    assert bool(first.strip()) == bool(text.strip())
