"""The page about approvals says what the tests show."""

import re

from tests.docs import attacks
from tests.docs.pages import DOCS, names_of_tests, rows

PAGE = (DOCS / "approvals.md").read_text()


def test_attack_table_matches_tests() -> None:
    tried = [[" ".join(cell.split()) for cell in row] for row in attacks.rows()]
    assert rows(PAGE, "attack — before") == tried
    assert len(tried) >= 60


def test_each_test_that_is_named_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named
    assert named - names_of_tests() == set()
