from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.text.thoughts import TextFilter, without_thoughts

HARMONY = (
    "<|channel|>analysis<|message|>secret<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Tea.<|return|>"
)
RESPONSES = {
    "<think>\nsecret\n</think>\n\nTea.": "Tea.",
    "\n<THINK>secret</THINK>Tea.": "Tea.",
    "<thinking>secret</thinking> Tea.": "Tea.",
    "[THINK]secret[/THINK]Tea.": "Tea.",
    "secret.\n</think>\n\nTea.": "Tea.",
    "Sure. <think>secret</think>Tea.": "Sure. Tea.",
    "<think>a</think>Tea.<think>b</think>": "Tea.",
    "<think>secret": "",
    HARMONY: "Tea.",
    "Hm.\n<|channel|>commentary to=functions.add<|message|>{}<|call|>": "Hm.\n",
    '<tool_call>\n{"name": "add"}\n</tool_call>': "",
    "A `b <think>secret</think>\nTea.": "A `b \nTea.",
    "~~~\n<think>\n~~~\n<think>secret</think>Tea.": "~~~\n<think>\n~~~\nTea.",
}
TEXTS = (
    "",
    " \n",
    "  plain  text \n",
    "Use `<think>` and `</think>`, or ``<tool_call>``.",
    "Look:\n```xml\n<think>x</think>\n```\nDone.",
    "```\nnever closed </think>",
    "The <think> tag marks thoughts.",
    "a < b, c[1], ~~x~~, <html>, [TOOL_CALLS] <|end|>",
)
PIECES = (
    *"` \n<[a",
    *("```", "~~~", "<think>", "</think>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]"),
    *("<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "<|end|>", "<|start|>"),
)


def read(*pieces: str, complete: bool = True, hold: bool = False) -> tuple[str, TextFilter]:
    """Return the text as it was returned bit by bit, and the filter."""
    reader, shown = TextFilter(hold=hold), ""
    steps = [partial(reader.feed, piece) for piece in pieces]
    for step in [*steps, partial(reader.finish, complete=complete)]:
        before = reader.retracted
        new = step()
        shown = new if reader.retracted > before else shown + new
    return shown, reader


@pytest.mark.parametrize(("response", "text"), RESPONSES.items())
def test_thoughts_are_dropped_at_any_cut(response: str, text: str) -> None:
    assert without_thoughts(response) == text
    for cut in range(len(response)):
        assert read(response[:cut], response[cut:])[0] == text
    assert read(*response)[0] == text


@pytest.mark.parametrize("text", TEXTS)
def test_text_with_quoted_markers_is_kept(text: str) -> None:
    assert without_thoughts(text) == text
    assert read(*text)[0] == text


def test_each_retraction_counts() -> None:
    shown, reader = read("a", "</think>b", "</think><`", "</think>")
    assert (shown, reader.retracted) == ("", 3)


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.data())
def test_pieces_never_change_the_text(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=6))
    places = [0, *sorted(cuts), len(whole)]
    shown, reader = read(*(whole[start:end] for start, end in pairwise(places)))
    assert shown == reader.text == without_thoughts(whole)


@pytest.mark.parametrize("response", [each for each in RESPONSES if "</think>" not in each[-20:]])
def test_incomplete_response_shows_no_thought(response: str) -> None:
    for end in range(len(response)):
        assert "secret" not in read(response[:end], complete=False)[0]


def test_held_text_is_shown_behind_its_thoughts() -> None:
    reader = TextFilter(hold=True)
    assert reader.feed("secret") == ""
    assert reader.feed("\n</think>\n\nTea") == "Tea"
    assert (reader.feed("."), reader.unopened, reader.retracted) == (".", True, 0)


def test_held_plain_text_shows_at_end() -> None:
    assert read("Tea", ".", hold=True)[0] == "Tea."
    assert read("Tea", ".", hold=True, complete=False)[0] == ""


@pytest.mark.parametrize(
    ("response", "name"),
    [
        ('<tool_call>{"name": "add", "arguments": {}}</tool_call>', "add"),
        ("<function=add><parameter=a>1</parameter></function>", "add"),
        ("<|channel|>commentary to=functions.add<|message|>{}", "add"),
        ('[TOOL_CALLS][{"name": "add"}]', "add"),
        ("<tool_call>?</tool_call>", ""),
    ],
)
def test_call_as_text_is_recognised(response: str, name: str) -> None:
    _, reader = read(response)
    assert (reader.call, reader.call_name, reader.text) == (True, name, "")
