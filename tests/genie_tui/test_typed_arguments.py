import json
from typing import Any

import msgspec
import pytest
from genie_core.text.edited_arguments import (
    LONGEST,
    read_arguments,
)
from genie_core.text.safe import visible, visible_line
from hypothesis import example, given
from hypothesis import strategies as st

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
    assert isinstance(found, Fault)
    return found.text


def with_command(**more: Any) -> str:
    return json.dumps({"command": "ls", **more})


def test_what_is_written_is_read_again() -> None:
    given = {"command": "ls ü", "n": [1, {"x": None}]}
    assert read_arguments(written(given), None) == Typed(given, checked=False)
    assert "ü" in written(given)


def test_what_a_terminal_would_obey_or_hide_is_written_as_its_number() -> None:
    given = {"a\u202e": "x\x9b2J\x7f\U000e0041\n👩‍🚀"}
    text = written(given)
    assert visible(text) == text
    assert "\\u202e" in text
    assert read_arguments(text, None) == Typed(given, checked=False)


@given(st.dictionaries(st.text(), st.text() | st.integers(-(2**60), 2**60) | st.lists(st.text())))
@example({"": "\u0300" * 5})
def test_whatever_is_written_can_be_read(given: dict[str, Any]) -> None:
    text = written(given)
    assert visible(text) == text
    assert read_arguments(text, None) == Typed(given, checked=False)


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
    assert read_arguments('{\n\n  "a": x\n}', None) == Fault(
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
def test_the_schema_says_where_and_what_is_expected(text: str, says: str) -> None:
    assert fault(text, SCHEMA).startswith(says)


def test_what_fits_is_checked() -> None:
    fits = with_command(seconds=5, mode="slow", paths=["a"], note=None)
    assert read_arguments(fits, SCHEMA) == Typed(json.loads(fits), checked=True)


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
def test_a_schema_that_can_not_be_applied_is_none(schema: dict[str, Any]) -> None:
    assert read_arguments('{"a": "b"}', schema) == Typed({"a": "b"}, checked=False)


def test_no_regular_expression_of_a_schema_is_run() -> None:
    evil = "(a+)+$"
    schema = {
        "properties": {"a": {"pattern": evil}},
        "patternProperties": {evil: {"type": "integer"}},
        "additionalProperties": False,
        "unevaluatedProperties": False,
    }
    table = {"a": "a" * 60 + "!", "a" * 60 + "!": 1}
    assert read_arguments(json.dumps(table), schema) == Typed(table, checked=True)


def test_entries_and_names_that_are_there_twice_are_told_however_many_there_are() -> None:
    schema: dict[str, Any] = {"properties": {"rows": {"uniqueItems": True}}}
    rows: list[Any] = [{"a": number} for number in range(10_000)]  # each with each takes minutes
    assert read_arguments(json.dumps({"rows": rows}), schema) == Typed({"rows": rows}, checked=True)
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
    if isinstance(found, Typed):
        msgspec.json.encode(found.arguments)
    else:
        assert visible_line(found.text) == found.text
