"""What docs/search.md says of the query language is so, and the help of the command says the same."""

import re
from pathlib import Path

import pytest

from genie_core.sessions.search import query
from genie_core.sessions.search.index import MOST_RANKED
from genie_core.sessions.search.query import FIELDS, KINDS, Query, WrongQuery
from genie_tui.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "search.md").read_text()


def test_all_that_is_written_is_a_query() -> None:
    table = PAGE.partition("| write |")[2].partition("\n\n")[0]
    for written in re.findall(r"^\| (.+?) \| ", table, re.MULTILINE)[1:]:
        for each in re.findall(r"`([^`]+)`", written):
            assert Query.parse(each)


def test_the_page_has_all_fields_and_kinds() -> None:
    assert set(re.findall(r"`(\w+):\w", PAGE)) >= set(FIELDS)
    table = PAGE.partition("| kind | |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`.+?) \| ", table, re.MULTILINE)
    assert {kind for cell in cells for kind in re.findall(r"`(\w+)`", cell)} == set(KINDS)


def test_the_refusal_on_the_page_is_that_of_the_program() -> None:
    with pytest.raises(WrongQuery) as raised:
        Query.parse("before:yesterday")
    assert f"```\n{raised.value}\n```" in PAGE


def test_the_limits_on_the_page_are_those_of_the_program() -> None:
    assert f"at most {query.MOST_CHARS:,} characters, and {query.MOST_CONDITIONS} words" in PAGE
    assert f"after {query.TEXT_SECONDS} seconds for one text or {query.SECONDS:.0f} for all" in PAGE
    assert f"more than {MOST_RANKED:,} texts" in PAGE


def test_the_help_has_all_fields_and_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sessions", "search", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert all(f"{field}:" in told for field in FIELDS)
    assert ", ".join(KINDS) in told
