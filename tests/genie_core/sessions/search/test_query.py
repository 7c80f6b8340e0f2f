import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_core.sessions.search.query import (
    CLOSE,
    MOST_CHARS,
    MOST_TERMS,
    OPEN,
    SPLIT,
    Snippet,
    Term,
    marked,
    match_query,
    spaced,
    terms,
    whole,
)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", ()),
        ("  ?! -- ", ()),
        ("budget", (Term(("budget",), prefix=True),)),
        ("budget ", (Term(("budget",)),)),
        ("the budg", (Term(("the",)), Term(("budg",), prefix=True))),
        ('"the budget"', (Term(("the", "budget")),)),
        ('"the budg', (Term(("the", "budg"), prefix=True),)),
        ('"a b"c', (Term(("a", "b")), Term(("c",), prefix=True))),
        ("read_file.py", (Term(("read", "file", "py"), prefix=True),)),
        ("AND OR NOT ", (Term(("AND",)), Term(("OR",)), Term(("NOT",)))),
        ("日本", (Term(("日", "本"), prefix=True),)),
    ],
)
def test_what_is_typed_is_read_as_words(typed: str, expected: tuple[Term, ...]) -> None:
    assert terms(typed) == expected


def test_no_more_words_are_looked_for_than_make_sense() -> None:
    assert len(terms("word " * 1_000)) == MOST_TERMS
    for typed in ('"' + "word " * 1_000 + '"', "word_" * 1_000):
        assert [len(term.words) for term in terms(typed)] == [MOST_TERMS]
    assert terms("w" * 5_000) == (Term(("w" * MOST_CHARS,), prefix=True),)


@pytest.fixture(scope="module")
def table() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE entry USING fts5(text)")
        yield connection


def matches(table: sqlite3.Connection, typed: str, text: str) -> bool:
    table.execute("DELETE FROM entry")
    table.execute("INSERT INTO entry VALUES (?)", (spaced(whole(text)),))
    query = "SELECT count(*) FROM entry WHERE entry MATCH ?"
    return bool(table.execute(query, (match_query(terms(typed)),)).fetchone()[0])


@settings(max_examples=300)
@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from('"*^():-+{}AND '))))
def test_nothing_that_is_typed_breaks_the_query(table: sqlite3.Connection, typed: str) -> None:
    if terms(typed):
        matches(table, typed, "some text")


@pytest.mark.parametrize(
    ("typed", "text", "found"),
    [
        ("budget", "The Budgets", True),
        ("budget ", "The Budgets", False),
        ("cafe", "Café", True),
        ("CAFÉ ", "cafe", True),
        ('"b c"', "a b c", True),
        ('"b c"', "b a c", False),
        ("c b ", "b a c", True),
        ("c d ", "b a c", False),
        ("c a b", "b a c", True),
        ("本語", "日本語を話す", True),
        ("語本", "日本語を話す", False),
        ("two", "one\ntwo", True),
    ],
)
def test_words_are_found_whatever_their_case_and_accents(
    table: sqlite3.Connection, typed: str, text: str, found: bool
) -> None:
    assert matches(table, typed, text) is found


def test_a_snippet_is_one_line_and_tells_what_was_found() -> None:
    text = f"a\n  {OPEN}b{CLOSE} {OPEN}c{CLOSE}{SPLIT}{OPEN}d{CLOSE}\te"
    snippet = marked(text)
    assert snippet == Snippet("a b cd e", ((2, 3), (4, 6)))


def test_a_text_for_the_index_has_no_marks_and_can_be_encoded() -> None:
    text = whole(f"one {OPEN}two{CLOSE}{SPLIT} three\0 \ud800")
    assert text.encode()
    assert not {OPEN, CLOSE, SPLIT, "\0"} & set(text)
