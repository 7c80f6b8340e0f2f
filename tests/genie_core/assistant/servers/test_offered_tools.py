from typing import Any

from genie_core.assistant.servers.offered_tools import (
    LONGEST_SCHEMA,
    MOST_TOOLS,
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


def test_so_many_tools_are_offered() -> None:
    schemas: dict[str, Any] = {f"tool{number}": {} for number in range(MOST_TOOLS + 1)}
    assert offered("toy", schemas) == list(schemas)[:MOST_TOOLS]
