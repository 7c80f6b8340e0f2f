import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genie_core.text.edited_arguments import (
    LONGEST,
    MOST_LINES,
    SHOWN_LINES,
    ArgumentFault,
    EditedArguments,
    argument_diff,
    arguments_text,
    read_arguments,
    same_arguments,
)
from genie_core.text.safe import visible, visible_line

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "minLength": 1, "maxLength": 40},
        "seconds": {"type": "integer", "minimum": 1, "maximum": 60},
        "mode": {"enum": ["fast", "slow"]},
        "paths": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "pattern": {"type": "string", "pattern": "^a"},
    },
    "required": ["command"],
    "additionalProperties": False,
}


def fault(text: str, schema: dict[str, Any] | None = None) -> str:
    found = read_arguments(text, schema)
    assert isinstance(found, ArgumentFault)
    return found.text


def with_command(**more: Any) -> str:
    return json.dumps({"command": "ls", **more})


def test_what_is_written_is_read_again() -> None:
    given = {"command": "ls ü", "n": [1, {"x": None}]}
    assert read_arguments(arguments_text(given), None) == EditedArguments(given, checked=False)
    assert "ü" in arguments_text(given)


def test_control_characters_are_escaped() -> None:
    given = {"a\u202e": "x\x9b2J\x7f\U000e0041\n👩‍🚀"}
    text = arguments_text(given)
    assert visible(text) == text
    assert "\\u202e" in text
    assert read_arguments(text, None) == EditedArguments(given, checked=False)


@given(st.dictionaries(st.text(), st.text() | st.integers(-(2**60), 2**60) | st.lists(st.text())))
@example({"": "\u0300" * 5})
def test_whatever_is_written_can_be_read(given: dict[str, Any]) -> None:
    text = arguments_text(given)
    assert visible(text) == text
    assert read_arguments(text, None) == EditedArguments(given, checked=False)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1', "line 1, column 8: a comma or the end is missing here"),
        ('{"a" 1}', "line 1, column 6: a colon is missing here"),
        ('{\n"a": }', "line 2, column 6: a value is missing here"),
        ('{"a": 1} x', "there is something after the end"),
        ('{"a": "x', 'a text begins here and has no " at its end'),
        ('{"a": "x\ny"}', r"a text has a line break or tab in it: write \n or \t"),
        ("", "a value is missing here"),
        ("[1]", "expected a JSON object in { }, not a list"),
        ('"x"', "not text"),
        ("5", "not a number"),
        ('{"a": 1, "b": 2, "a": 3}', "a is there twice"),
        ('{"a": NaN}', "NaN is no number that can be sent"),
        ('{"a": 1e999}', "a number is too large"),
        ('{"a": 99999999999999999999999}', "a number is too large"),
        ('{"a": "\\ud800"}', "half a character"),
        ('{"\\ud800": 1}', "half a character"),
        ("[" * 100_000, "goes too deep"),
        (f'{{"a": "{"x" * LONGEST}"}}', "characters can't be sent"),
    ],
)
def test_what_is_no_table_is_told_in_one_line(text: str, says: str) -> None:
    assert says in fault(text)


def test_a_fault_knows_its_line() -> None:
    assert read_arguments('{\n\n  "a": x\n}', None) == ArgumentFault(
        "line 3, column 8: a value is missing here", 3
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "command is missing"),
        ('{"command": 5}', "command: expected text, not a number"),
        ('{"command": ""}', "command: expected at least 1 characters, not 0"),
        (with_command(seconds=0), "seconds: expected at least 1"),
        (with_command(seconds=99), "seconds: expected at most 60"),
        (with_command(seconds=True), "seconds: expected a whole number, not true or false"),
        (with_command(mode="quick"), 'mode: expected one of "fast", "slow"'),
        (with_command(paths=["a", 5]), "paths.1: expected text, not a number"),
        (with_command(paths=["a", "b", "c"]), "paths: expected at most 2 entries, not 3"),
        (with_command(note=5), "note: expected text or null"),
        (with_command(secnds=5), "secnds is not known; did you mean seconds?"),
        (with_command(zzz=5), "zzz is not known; there are command, seconds"),
    ],
)
def test_fault_says_place_and_expectation(text: str, says: str) -> None:
    assert fault(text, SCHEMA).startswith(says)


def test_what_fits_is_checked() -> None:
    fits = with_command(seconds=5, mode="slow", paths=["a"], note=None)
    assert read_arguments(fits, SCHEMA) == EditedArguments(json.loads(fits), checked=True)


# -- schemas that are out to harm

BOMB = {
    "$defs": {
        "a0": {"type": "object"},
        **{
            f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}, {"$ref": f"#/$defs/a{n - 1}"}]}
            for n in range(1, 40)
        },
    },
    "$ref": "#/$defs/a39",
}


@pytest.mark.parametrize(
    "schema",
    [
        BOMB,
        {"$ref": "#"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$schema": "http://127.0.0.1:9/s", "$ref": "#/nowhere"},
        {"type": 5},
        {"properties": 7},
        {"required": 5},
        {"type": "nonsense"},
        {"additionalProperties": {"$ref": "#/x"}},
    ],
)
def test_unusable_schema_checks_nothing(schema: dict[str, Any]) -> None:
    assert read_arguments('{"a": "b"}', schema) == EditedArguments({"a": "b"}, checked=False)


def test_schema_patterns_are_never_run() -> None:
    evil = "(a+)+$"
    schema = {
        "properties": {"a": {"pattern": evil}},
        "patternProperties": {evil: {"type": "integer"}},
        "additionalProperties": False,
        "unevaluatedProperties": False,
    }
    table = {"a": "a" * 60 + "!", "a" * 60 + "!": 1}
    assert read_arguments(json.dumps(table), schema) == EditedArguments(table, checked=True)


def test_duplicates_are_found_in_long_lists() -> None:
    schema: dict[str, Any] = {"properties": {"rows": {"uniqueItems": True}}}
    rows: list[Any] = [{"a": number} for number in range(10_000)]  # each with each takes minutes
    assert read_arguments(json.dumps({"rows": rows}), schema) == EditedArguments(
        {"rows": rows}, checked=True
    )
    assert fault(json.dumps({"rows": [*rows, {"a": 1}]}), schema) == "rows: an entry is there twice"
    names = ", ".join(f'"{number}": 1' for number in range(10_000))
    assert fault(f'{{{names}, "z": 1, "z": 2}}') == "z is there twice"


def test_hostile_names_are_spelt_out() -> None:
    schema = {"properties": {"\x1b[2J": {"type": "string"}}, "required": ["\u202ex" * 500]}
    for text in ('{"\\u001b[2J": 5}', "{}"):
        line = fault(text, schema)
        assert line.isprintable()
        assert len(line) < 300


@given(st.text(max_size=30) | st.text('{}[]",:0e\\u ', max_size=30))
def test_whatever_is_typed_is_read_or_told(text: str) -> None:
    found = read_arguments(text, SCHEMA)
    if isinstance(found, EditedArguments):
        msgspec.json.encode(found.arguments)
    else:
        assert visible_line(found.text) == found.text


def test_diff_shows_before_and_after() -> None:
    assert argument_diff({"command": "rm -rf x", "n": 1}, {"command": "ls x", "n": 1}) == [
        "@ from line 1",
        '-command: "rm -rf x"',
        '+command: "ls x"',
        " n: 1",
    ]


def test_diff_finds_line_in_long_text() -> None:
    old = "\n".join(f"line {n}" for n in range(1000))
    new = old.replace("line 500", "line five hundred")
    lines = argument_diff({"content": old}, {"content": new})
    assert [line for line in lines if line[0] in "+-"] == [
        "-  line 500",
        "+  line five hundred",
    ]
    assert len(lines) == 7
    assert lines[0] == "@ from line 500"  # the first line names the argument


def test_names_that_come_and_go() -> None:
    assert argument_diff({"a": 1}, {"b": [1, 2]})[1:] == ["-a: 1", "+b: [1, 2]"]
    assert argument_diff({"a": {"x": "1\n2"}}, {"a": {"x": "1\n3"}})[1:] == [
        "   x: |",
        "     1",
        "-    2",
        "+    3",
    ]
    assert argument_diff({}, {"l": ["one", {"k": None}]})[1:] == [
        "+l:",
        '+  - "one"',
        "+  -",
        "+    k: null",
    ]


def test_numbers_texts_and_truth_are_told_apart() -> None:
    for one, other in ((1, "1"), (1, True), (1, 1.0), (None, "null")):
        assert not same_arguments({"a": one}, {"a": other})
        assert len(argument_diff({"a": one}, {"a": other})) == 3
    assert same_arguments({"a": 1, "b": 2}, {"b": 2, "a": 1})


def test_diff_escapes_control_characters() -> None:
    (_, old, new) = argument_diff({"a\n+b": "x"}, {"a\x1b[2J": "\u202ey"})
    assert old == '-a␤+b: "x"'
    assert "\x1b" not in new
    assert "\u202e" not in new
    assert argument_diff({"a": "x\n\ty"}, {"a": "x\n    y"})[-2:] == ["-  ⇥y", "+      y"]


def test_much_is_counted_or_cut() -> None:
    many = "\n".join(f"a{n}" for n in range(MOST_LINES + 5))
    other = "\n".join(f"b{n}" for n in range(MOST_LINES + 6))
    assert argument_diff({"a": many}, {"a": other}) == [
        f"- {MOST_LINES + 5:,} lines, beginning with line 2",
        f"+ {MOST_LINES + 6:,} other lines",
    ]
    some = "\n".join("x" * n for n in range(SHOWN_LINES))
    lines = argument_diff({"a": some}, {"a": ""})
    assert len(lines) == SHOWN_LINES + 1
    assert lines[-1] == "@ … and more"
    assert len(argument_diff({"a": "x" * 9000}, {})[-1]) < 2100


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
    for line in argument_diff(before, after):
        assert line[0] in "+- @"
        assert visible_line(line) == line
