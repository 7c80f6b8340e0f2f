import pytest

from genie_tui.amounts import counted, file_size


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
