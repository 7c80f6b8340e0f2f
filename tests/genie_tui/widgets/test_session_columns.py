import pytest
from rich.style import Style

from genie_core.sessions.listing import SessionRow, Sort
from genie_core.sessions.lock import LockHolder
from genie_tui.widgets.session_columns import columns, fitted, head, line, sort_at

ROW = SessionRow(
    "a",
    "A rather long title of a session [/red]\x1b[2J\u202e",
    names=("ann", "bob"),
    last_activity=1_000.0,
    size=12_345,
    unread=1_234,
    parked=2,
    tags=("home",),
)


def style(name: str) -> Style:
    return Style(bold=name in ("parked", "sorted"))


@pytest.mark.parametrize("width", range(1, 160))
def test_a_line_is_never_wider_than_the_list(width: int) -> None:
    assert line(ROW, width, 2_000.0, style).cell_length <= width
    wide = SessionRow("a", "日本語の部屋" * 20, tags=("日本",))
    assert line(wide, width, 0.0, style).cell_length <= width
    assert head(width, Sort.SIZE, style).cell_length <= width


def test_what_matters_most_has_room_first() -> None:
    assert [column.name for column in columns(20)] == ["title"]
    assert [column.name for column in columns(32)] == ["title", "activity"]
    assert [column.name for column in columns(55)] == ["title", "activity", "size", "new"]
    assert len(columns(100)) == 5
    assert sum(column.width for column in columns(100)) + 4 == 100


def test_everything_is_there_where_there_is_room() -> None:
    text = line(ROW, 140, 4_600.0, style).text
    for part in ("[/red]␛[2J⟨U+202E⟩", "#home", "ann, bob", "1 h ago", "12 kB", "▲2 1.2k new"):
        assert part in text
    assert "7 new" in line(SessionRow("a", "Garden", unread=7), 80, 0.0, style).text


def test_who_has_a_session_open_is_told_on_every_usual_terminal() -> None:
    held = LockHolder(7, "cleo")
    for width in (75, 115):
        assert "open by cleo" in line(SessionRow("a", "T" * 99, holder=held), width, 0, style).text
    assert "▲2 open " in line(SessionRow("a", "T", holder=held, parked=2), 75, 0, style).text + " "


def test_the_column_that_sorts_is_marked() -> None:
    assert "size ▾" in head(100, Sort.SIZE, style).text
    assert "title ▴" in head(100, Sort.TITLE, style).text
    assert "new ▾" in head(100, Sort.UNREAD, style).text


def test_a_place_in_the_head_is_one_in_a_column() -> None:
    title, people, activity, size, new = columns(100)
    assert (title.name, new.name) == ("title", "new")
    assert sort_at(100, 0) is sort_at(100, title.width - 1) is Sort.TITLE
    assert sort_at(100, title.width) is None  # between two
    assert sort_at(100, title.width + 1) is None  # nobody sorts by people
    assert sort_at(100, 100 - new.width) is sort_at(100, 99) is Sort.UNREAD
    assert sort_at(100, 100 - new.width - 1 - size.width) is Sort.SIZE
    assert sort_at(100, title.width + people.width + 2 + activity.width // 2) is Sort.ACTIVITY
    assert sort_at(100, 100) is None


def test_what_is_wrong_or_past_a_limit_is_marked() -> None:
    for row in (SessionRow("a", "Garden", note="damaged"), SessionRow("a", "Garden", due="old")):
        assert line(row, 80, 0.0, style).text.startswith("! Garden")
    assert "(no title)" in line(SessionRow("a", ""), 80, 0.0, style).text
    assert "…" in line(SessionRow("a", "Garden"), 80, 0.0, style).text


def test_text_is_cut_where_there_is_no_more_room() -> None:
    parts = [("ab", style("")), ("cd", style("parked"))]
    assert fitted(parts, 4).text == "abcd"
    assert fitted(parts, 3).text == "ab…"
    assert fitted(parts, 1).text == "…"
    assert fitted([("日本語", style(""))], 4).cell_length <= 4
