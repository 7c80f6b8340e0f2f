import pytest
from genie_core.text.format import counted, file_size, money, short_count


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (1_234_567, "1.2 MB"),
        (26_214_400, "26 MB"),
        (999_600, "1.0 MB"),
        (3_000_000_000_000_000, "3,000 TB"),
    ],
)
def test_sizes_are_as_exact_as_a_person_cares(count: int, text: str) -> None:
    assert file_size(count) == text


def test_one_is_not_many() -> None:
    assert counted(1, "message") == "1 message"
    assert counted(2_000, "message") == "2,000 messages"
    assert counted(2, "copy", "copies") == "2 copies"


def test_tokens_and_money_are_short() -> None:
    counts = [0, 999, 1000, 9940, 12_345, 999_499, 999_600, 5_600_000, 10**12]
    assert [short_count(each) for each in counts] == [
        *("0", "999", "1.0k", "9.9k", "12k", "999k", "1.0M", "5.6M", "1T"),
    ]
    assert [money(each) for each in (None, 0, 0.00001, 0.004, 0.0123, 0.5, 1234.5)] == [
        *("—", "$0.00", "<$0.0001", "$0.004", "$0.0123", "$0.50", "$1,234.50")
    ]
    assert money(0.5, partly=True) == "≥$0.50"
    assert money(None, partly=True) == "—"
