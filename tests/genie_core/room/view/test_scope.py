import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.protocol.events import MOST_OF_SCOPE
from genie_core.room.view.approvals import read_scope, scope_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", ("times", 5)),
        (" 5x ", ("times", 5)),
        ("10m", ("minutes", 10)),
        ("10 min", ("minutes", 10)),
        ("1H", ("minutes", 60)),
        ("1000", ("times", 1000)),
        ("1001", None),
        ("17h", None),
        ("0", None),
        ("0m", None),
        ("-5", None),
        ("", None),
        ("5 days", None),
        ("٥", None),
        ("1.5h", None),
        ("99999999999", None),
    ],
)
def test_so_often_or_so_long(text: str, expected: tuple[str, int] | None) -> None:
    assert read_scope(text) == expected


@given(st.text(max_size=8))
def test_nothing_reaches_further_than_the_limit(text: str) -> None:
    found = read_scope(text)
    assert found is None or 1 <= found[1] <= MOST_OF_SCOPE


def test_it_is_said_in_words() -> None:
    assert scope_words("once", 0) == ""
    assert scope_words("session", 0) == " for the session"
    assert scope_words("times", 5) == " 5 times"
    assert scope_words("times", 1) == ""
    assert scope_words("minutes", 10) == " for 10 minutes"
    assert scope_words("minutes", 1) == " for a minute"
