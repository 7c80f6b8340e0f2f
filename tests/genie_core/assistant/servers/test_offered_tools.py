from typing import Any

import pytest

from genie_core.assistant.servers.offered_tools import (
    LONGEST_SCHEMA,
    claim_of,
    cut,
    offered,
    too_large,
)


def test_a_text_that_fits_stays() -> None:
    assert cut("x" * 10, 10) == "x" * 10


def test_of_one_that_is_too_long_both_ends_stay() -> None:
    text = cut("a" * 1000 + "b" * 1000, 100)
    assert text == f"{'a' * 50}\n[… 1900 characters omitted …]\n{'b' * 50}"


def test_a_file_that_is_left_out_is_told_of() -> None:
    assert too_large(7_340_000) == "[a file of 7.3 MB, too large to pass on]"


def test_what_takes_too_much_to_describe_is_not_offered() -> None:
    deep: dict[str, Any] = {}
    for _ in range(2_000):
        deep = {"not": deep}
    schemas = {"fine": {}, "long": {"description": "x" * LONGEST_SCHEMA}, "deep": deep}
    assert offered("toy", schemas) == ["fine"]


@pytest.mark.parametrize(
    ("annotations", "claim"),
    [
        (None, ""),
        ({"readOnlyHint": True}, "it only reads"),
        ({"readOnlyHint": True, "destructiveHint": True}, "it only reads"),
        ({"destructiveHint": True}, "it can destroy data"),
        ({"readOnlyHint": False, "destructiveHint": False}, "it destroys nothing"),
        ({"readOnlyHint": "yes", "title": "Harmless"}, ""),
    ],
)
def test_a_hint_becomes_a_claim(annotations: dict[str, Any] | None, claim: str) -> None:
    assert claim_of(annotations) == claim
