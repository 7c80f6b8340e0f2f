"""The page about approvals says what the tests show."""

import re
from pathlib import Path

from tests.docs.attacks import rows

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "approvals.md").read_text()


def test_the_table_of_attacks_is_that_of_the_tests() -> None:
    table = PAGE.partition("| attack | before | call | outcome |\n|---|---|---|---|\n")[2]
    assert table.partition("\n\n")[0].splitlines() == list(rows())
    assert len(list(rows())) >= 60


def test_each_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    files = (ROOT / "tests").rglob("test_*.py")
    known = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text())}
    assert named
    assert named - known == set()
