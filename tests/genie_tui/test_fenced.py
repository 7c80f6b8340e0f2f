"""Blocks of code in what is written."""

import pytest

from genie_tui.fenced import Code, blocks


def test_fenced_code_is_set_apart() -> None:
    text = "see\n```python\nx = 1\n```\nthere"
    assert list(blocks(text)) == ["see", Code("x = 1", "python"), "there"]


@pytest.mark.parametrize("text", ["", "plain", "```\nopen", "a ``` b ``` c", "\n\n"])
def test_everything_else_is_one_plain_part(text: str) -> None:
    assert list(blocks(text)) == [text]


def test_only_code() -> None:
    assert list(blocks("```\na\n\nb\n```")) == [Code("a\n\nb", "")]


def test_a_block_of_code_may_hold_the_start_of_another() -> None:
    assert list(blocks("```a\n```b\nx\n```\ny")) == [Code("```b\nx", "a"), "y"]
    assert list(blocks("```\n```")) == [Code("", "")]
    assert list(blocks("```\nx\n```\n```\ny\n```\n")) == [Code("x", ""), Code("y", "")]
