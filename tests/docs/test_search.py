"""docs/search.md and the help of the command describe the query language that the program reads."""

import re

import pytest
from tests.docs.pages import DOCS, one_line, rows

from genie_core.sessions.search import query
from genie_core.sessions.search.index import MOST_RANKED
from genie_core.sessions.search.query import FIELDS, KINDS, Query, WrongQuery
from genie_tui.cli.main import main

PAGE = (DOCS / "search.md").read_text()


def test_all_that_is_written_is_a_query() -> None:
    for written, _ in rows(PAGE, "write"):
        for each in re.findall(r"`([^`]+)`", written):
            assert Query.parse(each)


def test_the_page_has_all_fields_and_kinds() -> None:
    assert set(re.findall(r"`(\w+):\w", PAGE)) >= set(FIELDS)
    cells = [kinds for kinds, _ in rows(PAGE, "kind")]
    assert {kind for cell in cells for kind in re.findall(r"`(\w+)`", cell)} == set(KINDS)


def test_refusal_text_matches_program() -> None:
    with pytest.raises(WrongQuery) as raised:
        Query.parse("before:yesterday")
    assert f"*{raised.value}*" in one_line(PAGE)


def test_page_limits_match_program() -> None:
    assert (
        f"at most {query.MOST_CHARS:,} characters, and {query.MOST_CONDITIONS} words"
        in one_line(PAGE)
    )
    assert (
        f"after {query.TEXT_SECONDS} seconds for one text or {query.SECONDS:.0f} for all"
        in one_line(PAGE)
    )
    assert f"more than {MOST_RANKED:,} texts" in one_line(PAGE)


def test_the_help_has_all_fields_and_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sessions", "search", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert all(f"{field}:" in told for field in FIELDS)
    assert ", ".join(KINDS) in told
