from typing import Any

import pytest

from genie_core.text.tool_form import (
    LONGEST_FORM,
    MOST_FIELDS,
    FormFault,
    UnfitForm,
    fault_in,
    fields_of,
    read_form,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2},
        "age": {"type": "integer", "minimum": 0},
        "price": {"type": "number"},
        "fine": {"type": "boolean", "default": True},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]},
        "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    },
    "required": ["name"],
}


def test_each_field_says_what_it_expects() -> None:
    assert [field.expected for field in fields_of(SCHEMA)] == [
        "text",
        "a whole number; may stay empty",
        "a number; may stay empty",
        "yes or no; may stay empty",
        "one of: Small, l; may stay empty",
        "some of: a, b; may stay empty",
    ]
    assert fields_of(SCHEMA)[3].default == "yes"


def test_values_are_parsed_by_kind() -> None:
    typed = {
        "name": " Ann ",
        "age": "7",
        "price": "1.5",
        "fine": "No",
        "size": "small",
        "many": "b,a",
    }
    values = {"name": "Ann", "age": 7, "price": 1.5, "fine": False, "size": "s", "many": ["b", "a"]}
    assert read_form(SCHEMA, typed) == values
    assert read_form(SCHEMA, {"name": "Ann", "age": " "}) == {"name": "Ann"}


@pytest.mark.parametrize(
    ("typed", "field", "text"),
    [
        ({}, "name", "Name: it is required"),
        ({"name": "Ann", "age": "x"}, "age", "age: expected a whole number; may stay empty"),
        ({"name": "Ann", "price": "x"}, "price", "price: expected a number; may stay empty"),
        ({"name": "Ann", "fine": "x"}, "fine", "fine: expected yes or no; may stay empty"),
        ({"name": "Ann", "many": "a, c"}, "many", "many: expected some of: a, b; may stay empty"),
        ({"name": "A"}, "", "name:"),
        ({"name": "Ann", "age": "-1"}, "", "age:"),
        ({"name": "Ann", "price": "1e999"}, "", "is no number"),
    ],
)
def test_the_first_mistake_is_told(typed: dict[str, str], field: str, text: str) -> None:
    fault = read_form(SCHEMA, typed)
    assert isinstance(fault, FormFault)
    assert fault.field == field
    assert text in fault.text


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "object", "properties": {}}},
        {"a": {"type": "array", "items": {"type": "string"}}},
        {"a": "text"},
        {"a": {}},
        {"a": {"type": ["string", "null"]}},
        {"a": {"type": {"a": 1}}},
        {"a": {"type": "string", "title": "Name"}, "b": {"type": "string", "title": "Name"}},
        {"a": {"type": "string", "description": "x" * LONGEST_FORM}},
        [],
        {f"a{number}": {"type": "string"} for number in range(MOST_FIELDS + 1)},
        {"a": {"type": "string", "enum": [str(number) for number in range(300)]}},
    ],
)
def test_unfillable_schema_is_unfit(properties: Any) -> None:
    with pytest.raises(UnfitForm):
        fields_of({"type": "object", "properties": properties})


def test_no_value_beyond_the_fields_is_sent() -> None:
    assert fault_in(SCHEMA, {"name": "Ann", "password": "x"}) == "there is no field 'password'"
    assert fault_in(SCHEMA, {"name": "Ann"}) == ""
