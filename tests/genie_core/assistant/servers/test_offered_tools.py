from typing import Any

import pytest

from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.listed_tools import UNUSABLE
from genie_core.assistant.servers.offered_tools import (
    LONGEST_SCHEMA,
    ListedTool,
    claim_of,
    cut,
    offered,
    too_large,
)
from genie_core.assistant.servers.registry import ServerRegistry


def test_a_text_that_fits_stays() -> None:
    assert cut("x" * 10, 10) == "x" * 10


def test_of_one_that_is_too_long_both_ends_stay() -> None:
    text = cut("a" * 1000 + "b" * 1000, 100)
    assert text == f"{'a' * 50}\n[… 1900 characters omitted …]\n{'b' * 50}"


def test_a_file_that_is_left_out_is_told_of() -> None:
    assert too_large(7_340_000) == "[a file of 7.3 MB, too large to pass on]"


def test_tools_that_cannot_be_used_are_left_out() -> None:
    deep: dict[str, Any] = {}
    for _ in range(2_000):
        deep = {"not": deep}
    tools = {
        "fine": ListedTool({}),
        "long": ListedTool({"description": "x" * LONGEST_SCHEMA}),
        "deep": ListedTool(deep),
        "odd": ListedTool({}, {UNUSABLE: "its arguments are of the type 'string'"}),
    }
    board = ServerRegistry([ServerSpec("toy")])
    assert offered(ServerSpec("toy"), tools, board.connection("toy")) == ["fine"]
    detail = board.servers[0].detail
    assert detail.startswith("left out: long: its schema is too long; deep: its schema")
    assert detail.endswith("odd: its arguments are of the type 'string'")


def test_tools_are_those_that_the_entry_names() -> None:
    tools = {name: ListedTool({}) for name in ("list_a", "list_b", "drop_a")}
    connection = ServerRegistry([ServerSpec("toy")]).connection("toy")

    def names(**lists: Any) -> list[str]:
        return offered(ServerSpec("toy", **lists), tools, connection)

    assert names(only=("list_*",)) == ["list_a", "list_b"]
    assert names(without=("drop_*", "list_b")) == ["list_a"]
    assert names(only=()) == []


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
