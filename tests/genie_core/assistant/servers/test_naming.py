import re

from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.servers.offered_tools import LONGEST_NAME, RESERVED, public_names


def test_name_joins_server_and_tool() -> None:
    assert public_names("git", ["log", "Show-It"]) == {"git_log": "log", "git_Show-It": "Show-It"}


def test_uncallable_names_become_distinct() -> None:
    names = public_names("git", ["a.b", "a b", "a_b", "x" * 100, "x" * 101, "é"])
    assert list(names.values()) == ["a.b", "a b", "a_b", "x" * 100, "x" * 101, "é"]
    assert names["git_a_b"] == "a_b"
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)


def test_no_tool_can_pass_for_a_built_in_one() -> None:
    assert {"read_file", "run_subagent", "exceed_budget"} <= RESERVED
    (name,) = public_names("read", ["file"], RESERVED)
    assert name != "read_file"
    assert name.startswith("read_file_")


def test_duplicate_tool_is_listed_once() -> None:
    assert public_names("git", ["log", "log"]) == {"git_log": "log"}


@given(st.lists(st.text(max_size=90)), st.lists(st.text(max_size=90)))
def test_name_is_independent_of_others(some: list[str], others: list[str]) -> None:
    alone = {tool: name for name, tool in public_names("s", some).items()}
    together = {tool: name for name, tool in public_names("s", [*some, *others]).items()}
    assert all(len(name) <= LONGEST_NAME for name in together.values())
    assert {tool: together.get(tool) for tool in alone} == alone
