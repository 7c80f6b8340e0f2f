"""Arguments of a tool call as a person edits them: as JSON text, read back, and compared.

They are held to the schema of their tool; one that can't be applied counts as none. Lines show the
changes: arguments are laid out one below the other first, texts of several lines as they are, so
that a change in a long text shows as such.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches, unified_diff
from itertools import islice
from typing import Any, Final

from genie_core.text.safe import visible, visible_line

LONGEST: Final = 200_000
"""Characters of arguments that can be edited."""

LONGEST_FAULT: Final = 200

CONTEXT: Final = 2
MOST_LINES: Final = 2_000
"""Lines that are compared with each other; where more differ, they are only counted."""

SHOWN_LINES: Final = 1_000
LONGEST_LINE: Final = 2_000

_HEAD: Final = re.compile(r"@@ -([0-9]+)")

_WORDS: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class EditedArguments:
    """Arguments that are in order. `checked` says that they were held to a schema."""

    arguments: dict[str, Any]
    checked: bool


@dataclass(frozen=True, slots=True)
class ArgumentFault:
    """A mistake, in one line that is safe to show. `line` counts from 1, 0 if nowhere."""

    text: str
    line: int = 0


class _Unfit(ValueError):
    """JSON that can't be arguments."""


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Format arguments for editing, with control and hidden characters as escapes."""
    text = json.dumps(arguments, indent=2, ensure_ascii=False, default=repr)
    if visible(text) == text:
        return text
    spelt = "".join(each if visible(each) == each else json.dumps(each)[1:-1] for each in text)
    # Characters that hide only in company, such as marks that pile up, leave nothing but plain
    # letters.
    return spelt if visible(spelt) == spelt else json.dumps(arguments, indent=2, default=repr)


def read_arguments(text: str, schema: Mapping[str, Any] | None) -> EditedArguments | ArgumentFault:
    """Parse a typed value, or return its mistake."""
    if len(text) > LONGEST:
        return ArgumentFault(f"more than {LONGEST:,} characters can't be sent")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
        _check(value)
        text.encode()
    except json.JSONDecodeError as error:
        return ArgumentFault(
            f"line {error.lineno}, column {error.colno}: {_said(error.msg)}", error.lineno
        )
    except UnicodeEncodeError:
        return ArgumentFault("it has half a character, which can't be sent")
    except RecursionError:
        return ArgumentFault("it goes too deep")
    except ValueError as error:
        return ArgumentFault(str(error))
    if not isinstance(value, dict):
        return ArgumentFault(f"expected a JSON object in {{ }}, not {_sort(value)}")
    if schema is None:
        return EditedArguments(value, checked=False)
    return _against(schema, value)


def _against(schema: Mapping[str, Any], value: dict[str, Any]) -> EditedArguments | ArgumentFault:
    from genie_core.agent.provider.schemas import faults_in  # the screen is up before any engine

    try:
        faults = list(faults_in(value, schema))
    except Exception:  # noqa: BLE001 - a server may call anything a schema; the tool itself checks too
        return EditedArguments(value, checked=False)
    if not faults:
        return EditedArguments(value, checked=True)
    worst = min(faults, key=lambda error: len(error.absolute_path))
    path = ".".join(str(step) for step in worst.absolute_path)
    where = f"{path}: " if path else ""
    return ArgumentFault(_short(where + _expected(worst)))


def _expected(error: Any) -> str:
    """Word an error of jsonschema."""
    given, value = error.validator_value, error.instance
    match error.validator:
        case "type":
            kinds = [given] if isinstance(given, str) else list(given)
            words = " or ".join(_WORDS.get(kind, str(kind)) for kind in kinds)
            return f"expected {words}, not {_sort(value)}"
        case "required":
            missing = [name for name in given if name not in value]
            return f"{', '.join(map(str, missing))} is missing"
        case "additionalProperties":
            known = list(error.schema.get("properties", {}))
            name = next((each for each in value if each not in known), "")
            near = get_close_matches(name, known, n=1)
            return f"{name} is not known; " + (
                f"did you mean {near[0]}?" if near else f"there are {', '.join(known) or 'none'}"
            )
        case "enum":
            choices = ", ".join(json.dumps(each, ensure_ascii=False) for each in given)
            return f"expected one of {choices}"
        case "const":
            return f"expected {json.dumps(given, ensure_ascii=False)}"
        case "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum":
            least = "more than" if "exclusive" in error.validator else "at least"
            most = "less than" if "exclusive" in error.validator else "at most"
            return f"expected {least if 'inimum' in error.validator else most} {given}"
        case "minLength" | "maxLength":
            bound = "at least" if error.validator == "minLength" else "at most"
            return f"expected {bound} {given} characters, not {len(value)}"
        case "uniqueItems":
            return "an entry is there twice"
        case "minItems" | "maxItems":
            bound = "at least" if error.validator == "minItems" else "at most"
            return f"expected {bound} {given} entries, not {len(value)}"
        case "anyOf" | "oneOf":
            kinds = [each.get("type") for each in given if isinstance(each, Mapping)]
            if kinds and all(isinstance(kind, str) for kind in kinds):
                return f"expected {' or '.join(_WORDS.get(kind, kind) for kind in kinds)}"
            return "it has none of the forms that are allowed"
        case other:
            return f"it does not fit what the tool says about {other}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise _Unfit(_short(f"{twice} is there twice"))
    return table


def _no_constant(name: str) -> Any:
    raise _Unfit(f"{name} is no number that can be sent")


def _check(value: Any) -> None:
    """Refuse values that JSON can write and a room can't carry."""
    match value:
        case bool():
            return
        case int() if not -(2**63) <= value < 2**64:
            raise _Unfit("a number is too large")
        case float() if not math.isfinite(value):
            raise _Unfit("a number is too large")
        case str():
            value.encode()
        case list():
            for each in value:
                _check(each)
        case dict():
            for name, each in value.items():
                name.encode()
                _check(each)


def _sort(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"


_SAID: Final = {
    "Expecting value": "a value is missing here",
    "Expecting ',' delimiter": "a comma or the end is missing here",
    "Expecting ':' delimiter": "a colon is missing here",
    "Expecting property name enclosed in double quotes": 'a name in "" is missing here',
    "Extra data": "there is something after the end",
    "Illegal trailing comma before end of object": "a comma too many",
    "Illegal trailing comma before end of array": "a comma too many",
}


def _said(message: str) -> str:
    if message.startswith("Unterminated string"):
        return 'a text begins here and has no " at its end'
    if message.startswith("Invalid control character"):
        return r"a text has a line break or tab in it: write \n or \t"
    return _SAID.get(message, message.lower())


def _short(text: str) -> str:
    line = visible_line(text)
    return line if len(line) <= LONGEST_FAULT else f"{line[:LONGEST_FAULT]}…"


def same_arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two values are the same JSON; 1, 1.0 and true differ."""
    return _canonical(before) == _canonical(after)


def argument_diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the lines of a unified diff; each starts with "+", "-", " " or "@". Safe to show."""
    old, new = list(_table(before, "")), list(_table(after, ""))
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    parted = max(len(old), len(new)) - start - end
    if parted > MOST_LINES:
        gone, come = len(old) - start - end, len(new) - start - end
        return [f"- {gone:,} lines, beginning with line {start + 1}", f"+ {come:,} other lines"]
    first, last = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    diff = unified_diff(
        old[first : len(old) - last], new[first : len(new) - last], n=CONTEXT, lineterm=""
    )
    lines = [
        _shown(_place(line, first) if line.startswith("@") else line)
        for line in islice(diff, 2, SHOWN_LINES + 3)
    ]
    if len(lines) > SHOWN_LINES:
        lines[SHOWN_LINES:] = ["@ … and more"]
    return lines


def _table(table: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in table.items():
        yield from _entry(f"{indent}{name}:", value, f"{indent}  ")


def _entry(label: str, value: Any, indent: str) -> Iterator[str]:
    match value:
        case str() if "\n" in value:
            yield f"{label} |"
            for line in value.split("\n"):
                yield indent + line
        case dict() if value:
            yield label
            yield from _table(value, indent)
        case list() if value and any(isinstance(each, dict | list | str) for each in value):
            yield label
            for each in value:
                yield from _entry(f"{indent}-", each, f"{indent}  ")
        case _:
            yield f"{label} {json.dumps(value, ensure_ascii=False, default=repr)}"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _place(head: str, before: int) -> str:
    """Return where a part of the diff starts, counting the lines left out before it."""
    found = _HEAD.match(head)
    return f"@ from line {max(int(found[1]), 1) + before}" if found else head


def _shown(line: str) -> str:
    """Return one line, with the breaks and tabs of a name spelt out."""
    text = visible(line, tab=0).replace("\t", "⇥").replace("\n", "␤")
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"


def _canonical(table: Mapping[str, Any]) -> str:
    return json.dumps(table, sort_keys=True, default=repr)
