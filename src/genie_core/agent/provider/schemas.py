"""Validate values by JSON schemas of others.

A tool server's schema is untrusted data: it is applied without remote references, without its
regular expressions, and for a limited number of steps.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

MOST_STEPS: Final = 20_000
"""The number of keywords applied before a schema counts as too expensive."""


class _TooMuch(Exception):
    """The schema needs too many steps."""


def faults_in(value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Return how a value violates a schema, as errors of jsonschema.

    Raises any exception for a schema that can't be applied.
    """
    from jsonschema import validators  # type: ignore[import-untyped]  # it has no stubs
    from referencing import Registry

    base = validators.validator_for(schema, default=validators.validator_for({}))
    steps = 0

    def counted(rule: Any) -> Any:
        def apply(validator: Any, given: Any, instance: Any, part: Any) -> Iterator[Any]:
            nonlocal steps
            steps += 1
            if steps > MOST_STEPS:
                raise _TooMuch
            yield from rule(validator, given, instance, part) or ()

        return apply

    def additional(validator: Any, given: Any, instance: Any, part: Any) -> Iterator[Any]:
        if "patternProperties" not in part:
            yield from base.VALIDATORS["additionalProperties"](validator, given, instance, part)

    rules = {
        **base.VALIDATORS,
        "uniqueItems": _unique,
        "pattern": _nothing,
        "patternProperties": _nothing,
        "unevaluatedProperties": _nothing,
        "additionalProperties": additional,
    }
    kind = validators.extend(base, {name: counted(rule) for name, rule in rules.items()})
    yield from kind(schema, registry=Registry()).iter_errors(value)


def _nothing(*_: Any) -> Iterator[Any]:
    """Leave checks that need a regular expression to the tool itself."""
    yield from ()


def _unique(_validator: Any, wanted: Any, instance: Any, _part: Any) -> Iterator[Any]:
    """Check each entry once; the library compares all pairs, which would block the screen."""
    from jsonschema import ValidationError

    if wanted is True and isinstance(instance, list):
        different = {json.dumps(each, sort_keys=True) for each in instance}
        if len(different) < len(instance):
            yield ValidationError("")
