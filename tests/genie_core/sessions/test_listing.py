import pytest

from genie_core.sessions.listing import SessionRow, Sort, arrange, fold, past_line

ROWS = [
    SessionRow("a", "Café plans", last_activity=3.0, size=10, tags=("work",), names=("ann", "bob")),
    SessionRow("b", "Budget 2027", last_activity=2.0, size=30, unread=2, names=("cleo",)),
    SessionRow("c", "the garden", last_activity=1.0, size=20, parked=1, host="dan"),
    SessionRow("d", "", last_activity=0.0, unread=5),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "abcd"),
        ("cafe", "a"),
        ("CAFÉ", "a"),
        ("work", "a"),
        ("#work", "a"),
        ("cleo", "b"),
        ("@dan", "c"),
        ("bob plans", "a"),
        ("bob budget", ""),
        ("arde", "c"),
        ("bgt", "b"),
        ("gdn", "c"),
        ("rdn", ""),
        ("zzz", ""),
        ("  ", "abcd"),
    ],
)
def test_text_filters_by_title_tag_person(text: str, expected: str) -> None:
    assert "".join(row.id for row in arrange(ROWS, text, Sort.ACTIVITY)) == expected


def test_only_telling_id_part_is_found() -> None:
    row = SessionRow("2026-11-21-standup-77fk", "Standup")
    for text, found in (("77fk", [row]), ("2026-11", [row]), ("77", []), ("stand", [row])):
        assert arrange([row], text, Sort.ACTIVITY) == found


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        (Sort.ACTIVITY, "abcd"),
        (Sort.TITLE, "dbac"),
        (Sort.SIZE, "bcad"),
        (Sort.UNREAD, "cdba"),
    ],
)
def test_rows_are_sorted_as_chosen(sort: Sort, expected: str) -> None:
    assert "".join(row.id for row in arrange(reversed(ROWS), "", sort)) == expected


def test_what_fits_best_comes_first() -> None:
    rows = [
        SessionRow("scattered", "b a r", last_activity=3.0),
        SessionRow("inside", "crowbar", last_activity=2.0),
        SessionRow("start", "the bar", last_activity=1.0),
    ]
    assert [row.id for row in arrange(rows, "bar", Sort.ACTIVITY)] == [
        "start",
        "inside",
        "scattered",
    ]


def test_all_ways_to_sort_come_in_turn() -> None:
    sort, seen = Sort.ACTIVITY, []
    for _ in Sort:
        seen.append(sort)
        sort = sort.after()
    assert seen == list(Sort)
    assert sort is Sort.ACTIVITY


def test_comparing_forgets_case_and_accents() -> None:
    assert fold("ÁVILA Straße") == "avila strasse"


@pytest.mark.parametrize(
    ("count", "line"),
    [
        (0, ""),
        (1, "1 session is past your limit: genie-tui sessions prune"),
        (3, "3 sessions are past your limit: genie-tui sessions prune"),
    ],
)
def test_it_is_said_how_many_are_past_a_limit(count: int, line: str) -> None:
    assert past_line(count) == line
