from typing import Any

from genie_core.text.edited_arguments import MOST_LINES
from genie_core.text.safe import visible_line
from hypothesis import given
from hypothesis import strategies as st


def test_a_changed_value_shows_as_before_and_after() -> None:
    assert changes({"command": "rm -rf x", "n": 1}, {"command": "ls x", "n": 1}) == [
        "@ from line 1",
        '-command: "rm -rf x"',
        '+command: "ls x"',
        " n: 1",
    ]


def test_a_line_of_a_long_text_is_found_among_the_others() -> None:
    old = "\n".join(f"line {n}" for n in range(1000))
    new = old.replace("line 500", "line five hundred")
    lines = changes({"content": old}, {"content": new})
    assert [line for line in lines if line[0] in "+-"] == [
        "-  line 500",
        "+  line five hundred",
    ]
    assert len(lines) == 7
    assert lines[0] == "@ from line 500"  # the first line names the argument


def test_names_that_come_and_go() -> None:
    assert changes({"a": 1}, {"b": [1, 2]})[1:] == ["-a: 1", "+b: [1, 2]"]
    assert changes({"a": {"x": "1\n2"}}, {"a": {"x": "1\n3"}})[1:] == [
        "   x: |",
        "     1",
        "-    2",
        "+    3",
    ]
    assert changes({}, {"l": ["one", {"k": None}]})[1:] == [
        "+l:",
        '+  - "one"',
        "+  -",
        "+    k: null",
    ]


def test_numbers_texts_and_truth_are_told_apart() -> None:
    for one, other in ((1, "1"), (1, True), (1, 1.0), (None, "null")):
        assert not same({"a": one}, {"a": other})
        assert len(changes({"a": one}, {"a": other})) == 3
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})


def test_what_would_be_obeyed_or_hidden_is_spelt_out() -> None:
    (_, old, new) = changes({"a\n+b": "x"}, {"a\x1b[2J": "\u202ey"})
    assert old == '-a␤+b: "x"'
    assert "\x1b" not in new
    assert "\u202e" not in new
    assert changes({"a": "x\n\ty"}, {"a": "x\n    y"})[-2:] == ["-  ⇥y", "+      y"]


def test_much_is_counted_or_cut() -> None:
    many = "\n".join(f"a{n}" for n in range(MOST_LINES + 5))
    other = "\n".join(f"b{n}" for n in range(MOST_LINES + 6))
    assert changes({"a": many}, {"a": other}) == [
        f"- {MOST_LINES + 5:,} lines, beginning with line 2",
        f"+ {MOST_LINES + 6:,} other lines",
    ]
    some = "\n".join("x" * n for n in range(SHOWN))
    lines = changes({"a": some}, {"a": ""})
    assert len(lines) == SHOWN + 1
    assert lines[-1] == "@ … and more"
    assert len(changes({"a": "x" * 9000}, {})[-1]) < 2100


tables = st.dictionaries(
    st.text(max_size=3),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("ab\n\t\x1b", max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=4,
    ),
    max_size=3,
)


@given(tables, tables)
def test_every_line_is_one_line_and_has_its_mark(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    for line in changes(before, after):
        assert line[0] in "+- @"
        assert visible_line(line) == line
