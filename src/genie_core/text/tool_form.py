"""The fields of a form that a tool server describes, and reading the typed values.

MCP limits such a form to an object without nesting: texts, numbers, yes or no, and choices.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from genie_core.text.edited_arguments import ArgumentFault, read_arguments

MOST_FIELDS: Final = 30
MOST_CHOICES: Final = 200
LONGEST_TITLE: Final = 200
LONGEST_FORM: Final = 20_000
"""Characters of a form's schema as JSON; a person is to read its question."""

Kind: TypeAlias = Literal["text", "a whole number", "a number", "yes or no", "one of", "some of"]

_KINDS: Final[Mapping[str, Kind]] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
}
_WORDS: Final = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


class UnfitForm(ValueError):
    """A schema that describes no form which a person could fill in here."""


@dataclass(frozen=True, slots=True)
class FormField:
    """A field. `default` is as a person would type it; `choices` are values with their titles."""

    name: str
    title: str
    kind: Kind
    is_required: bool
    about: str = ""
    default: str = ""
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def expected(self) -> str:
        """The kind of value to type, such as "a whole number" or "one of: small, large"."""
        listed = ", ".join(title for _, title in self.choices)
        kind = f"{self.kind}: {listed}" if self.choices else self.kind
        return kind if self.is_required else f"{kind}; may stay empty"


@dataclass(frozen=True, slots=True)
class FormFault:
    """A mistake, in one line that is safe to show; `field` is its name, empty if unknown."""

    field: str
    text: str


def fields_of(schema: Mapping[str, Any]) -> tuple[FormField, ...]:
    """Return the fields of a form. Raises `UnfitForm`."""
    if len(json.dumps(schema, default=repr)) > LONGEST_FORM:
        raise UnfitForm("it is too long")
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise UnfitForm("it is no form")
    if len(properties) > MOST_FIELDS:
        raise UnfitForm(f"it has more than {MOST_FIELDS} fields")
    fields = tuple(_field(name, each, name in required) for name, each in properties.items())
    if len({field.title for field in fields}) < len(fields):
        raise UnfitForm("two of its fields have the same title")
    return fields


def read_form(schema: Mapping[str, Any], typed: Mapping[str, str]) -> dict[str, Any] | FormFault:
    """Return the values of a form, without the fields left empty, or the first mistake."""
    values: dict[str, Any] = {}
    for field in fields_of(schema):
        text = typed.get(field.name, "").strip()
        if not text and field.is_required:
            return FormFault(field.name, f"{field.title}: it is required")
        if text:
            try:
                values[field.name] = _value(field, text)
            except ValueError:
                return FormFault(field.name, f"{field.title}: expected {field.expected}")
    fault = fault_in(schema, values)
    return FormFault("", fault) if fault else values


def fault_in(schema: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Say how values violate a form's schema, in one line that is safe to show; empty if not."""
    if unknown := next((name for name in values if name not in schema.get("properties", {})), ""):
        return f"there is no field {unknown!r}"
    read = read_arguments(json.dumps(values, ensure_ascii=False), schema)
    return read.text if isinstance(read, ArgumentFault) else ""


def _field(name: str, given: Any, is_required: bool) -> FormField:  # noqa: FBT001 - one caller
    if not isinstance(given, dict):
        raise UnfitForm(f"the field {name!r} is not described")
    choices = tuple(_choices(given))
    several = given.get("type") == "array"
    if several and isinstance(items := given.get("items"), dict):
        choices = tuple(_choices(items))
    named = given.get("type")
    kind = _KINDS.get(named) if isinstance(named, str) else None
    if choices:
        kind = "some of" if several else "one of"
    if kind is None or len(choices) > MOST_CHOICES:
        raise UnfitForm(f"the field {name!r} can't be typed in")
    title, about = str(given.get("title") or name), str(given.get("description") or "")
    default = _typed(given.get("default"))
    default = default if default.isprintable() else ""
    return FormField(name, title[:LONGEST_TITLE], kind, is_required, about, default, choices)


def _choices(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    titled = given.get("oneOf") or given.get("anyOf")
    if isinstance(titled, list):
        for each in titled:
            if isinstance(each, dict) and isinstance(value := each.get("const"), str):
                yield value, str(each.get("title") or value)[:LONGEST_TITLE]
        return
    values, titles = given.get("enum", []), given.get("enumNames") or []
    for number, value in enumerate(values if isinstance(values, list) else []):
        title = titles[number] if isinstance(titles, list) and number < len(titles) else value
        yield str(value), str(title)[:LONGEST_TITLE]


def _typed(default: Any) -> str:
    match default:
        case None:
            return ""
        case bool():
            return "yes" if default else "no"
        case list():
            return ", ".join(map(str, default))
        case _:
            return str(default)


def _value(field: FormField, text: str) -> Any:
    """Read one field. Raises `ValueError`."""
    match field.kind:
        case "text":
            return text
        case "a whole number":
            return int(text)
        case "a number":
            return float(text)
        case "yes or no":
            if text.lower() not in _WORDS:
                raise ValueError(text)
            return _WORDS[text.lower()]
        case "one of":
            return _choice(field.choices, text)
        case "some of":
            return [_choice(field.choices, each.strip()) for each in text.split(",")]


def _choice(choices: Sequence[tuple[str, str]], text: str) -> str:
    """Return the value of a choice, which may be typed by its value or its title."""
    for value, title in choices:
        if text in (value, title):
            return value
    for value, title in choices:
        if text.casefold() in (value.casefold(), title.casefold()):
            return value
    raise ValueError(text)
