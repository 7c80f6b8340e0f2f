import pytest

from genie_core.room.view.approvals import WITHHELD, arguments_line, plain_arguments
from genie_tui.widgets.approvals.call_text import arguments_content


def test_no_arguments_are_named() -> None:
    assert arguments_content({}).plain == "no arguments"
    assert plain_arguments({}) == ""


def test_short_values_stand_beside_names() -> None:
    assert arguments_content({"a": 1, "long": "text"}).plain == "a     1\nlong  text"


def test_long_texts_keep_their_lines() -> None:
    assert arguments_content({"text": "one\n two"}).plain == "text\n  one\n   two"


def test_an_empty_text_is_not_invisible() -> None:
    assert "empty text" in arguments_content({"a": ""}).plain


def test_nested_values_are_indented() -> None:
    assert '"k": true' in arguments_content({"o": {"k": True}}).plain


@pytest.mark.parametrize("hidden", ["\x1b", "\x9b", "\u202e", "\u200b", "\r", "\u2066"])
def test_nothing_hides(hidden: str) -> None:
    arguments = {f"na{hidden}me": f"va{hidden}lue", "nested": {f"k{hidden}": [f"v{hidden}"]}}
    for text in (arguments_content(arguments).plain, plain_arguments(arguments)):
        assert hidden not in text


def test_markup_stays_text() -> None:
    assert "[/red]" in arguments_content({"a": "[/red][bold]"}).plain


def test_a_long_value_is_shown_in_full() -> None:
    long = "x" * 20_000
    assert long in arguments_content({"a": long}).plain
    assert long in plain_arguments({"a": long})
    assert arguments_content({"a": "line\n" * 5_000}).plain.count("line") == 5_000


def test_many_blanks_and_empty_lines_are_counted() -> None:
    assert "… 4,000 blanks …" in arguments_content({"a": f"ls{' ' * 4000}; id"}).plain
    shown = arguments_content({"a": "echo hi" + "\n" * 70 + "id"}).plain
    assert "69 empty lines" in shown
    assert shown.endswith("  id")
    assert shown.count("\n") < 5


def test_what_is_withheld_is_said_to_be() -> None:
    assert arguments_content({}, withheld=True).plain == WITHHELD
    assert plain_arguments({}, withheld=True) == WITHHELD
    assert WITHHELD not in arguments_content({"a": 1}, withheld=True).plain


def test_in_one_line_stands_what_was_given() -> None:
    given = {"path": "a b", "content": "", "seconds": None, "shell": False, "more": ["ä", 1]}
    assert arguments_line(given) == 'path a b, content "", shell false, more ["ä", 1]'
    assert arguments_line({"seconds": None}) == "no arguments"
    assert arguments_line({}, withheld=True) == WITHHELD
