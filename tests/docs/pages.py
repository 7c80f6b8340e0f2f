"""Reading the pages: their words without line breaks, and their lists and tables as rows.

A list of rows has a line of headings above it, `*setting — default — meaning*`, and a dash between
the cells of an item. A lone `–` is an empty cell; empty cells at the end are left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"

_ITEM: Final = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)


def one_line(page: str) -> str:
    """Join the lines of a page."""
    return " ".join(page.split())


def names_of_tests() -> set[str]:
    """Return the names of all tests, those of plugins included."""
    files = (file for place in ("tests", "plugins") for file in (ROOT / place).rglob("test_*.py"))
    return {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text())}


def rows(page: str, first: str) -> list[list[str]]:
    """Return the rows below the headings that begin with `first`, of a list or a table."""
    found = [*_lists(page, first), *_tables(page, first)]
    assert found, f"there are no rows of {first!r}"
    return found


def _lists(page: str, first: str) -> Iterator[list[str]]:
    for headings, items in re.findall(
        rf"^\*({re.escape(first)} —[^*]*)\*\n\n((?:- .*\n(?:  .*\n)*)+)", page, re.MULTILINE
    ):
        count = len(one_line(headings).split(" — "))
        for item in _ITEM.findall(items):
            cells = ["" if each == "–" else each for each in one_line(item).split(" — ")]
            yield cells + [""] * (count - len(cells))


def _tables(page: str, first: str) -> Iterator[list[str]]:
    for table in re.findall(rf"^\| {re.escape(first)} \|.*\n((?:\|.*\n)+)", page, re.MULTILINE):
        for line in table.splitlines()[1:]:
            yield [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
