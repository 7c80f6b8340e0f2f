import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from genie_tui.cli.table import TableColumn, laid_out

COLUMNS = [
    TableColumn("ID", ("standup-3fk9", "retro-x2")),
    TableColumn("TITLE", ("Standup of the team", "Retro"), least=8),
    TableColumn("SIZE", ("1.2 MB", "3 kB"), rank=2, right=True),
    TableColumn("TAGS", ("", ""), rank=1),
]


def test_columns_fit_contents() -> None:
    assert laid_out(COLUMNS, None) == [
        "ID            TITLE                  SIZE",
        "standup-3fk9  Standup of the team  1.2 MB",
        "retro-x2      Retro                  3 kB",
    ]


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (41, "standup-3fk9  Standup of the team  1.2 MB"),
        (36, "standup-3fk9  Standup of th…  1.2 MB"),
        (30, "standup-3fk9  Standup…  1.2 MB"),
        (29, "standup-3fk9  Standup of the…"),
        (5, "standup-3fk9  Standup…"),
    ],
)
def test_narrow_table_shrinks_then_drops(width: int, line: str) -> None:
    assert laid_out(COLUMNS, width)[1] == line


def test_dropped_columns_free_their_room() -> None:
    wide = [*COLUMNS, TableColumn("LAST", ("a long message from ann", "hi"), rank=3, least=20)]
    assert laid_out(wide, 45)[1] == "standup-3fk9  Standup of the team  1.2 MB"
    both = [TableColumn("A", ("a" * 40,), least=4), TableColumn("B", ("b" * 12,), least=4)]
    assert laid_out(both, 30)[1] == "a" * 15 + "…  " + "b" * 12
    assert laid_out(both, 20)[1] == "a" * 8 + "…  " + "b" * 8 + "…"


def test_wide_characters_count_twice() -> None:
    lines = laid_out(
        [TableColumn("T", ("会議", "a\x1b[2J\nb")), TableColumn("X", ("x", "y"))], None
    )
    assert lines == ["T        X", "会議     x", "a␛[2J b  y"]


CELLS = st.tuples(st.text(max_size=30), st.text(max_size=30))


@given(st.lists(CELLS, min_size=1, max_size=5), st.integers(40, 200))
def test_no_line_is_wider_than_the_terminal(cells: list[tuple[str, str]], width: int) -> None:
    columns = [TableColumn("H", each, rank=place, least=6) for place, each in enumerate(cells)]
    lines = laid_out(columns, width)
    assert len(lines) == 3
    assert all(cell_len(line) <= width for line in lines)
