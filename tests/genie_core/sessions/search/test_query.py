import time
from contextlib import suppress
from dataclasses import dataclass
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.sessions.search.folding import folded, one_line
from genie_core.sessions.search.query import (
    KINDS,
    MOST_CHARS,
    DocumentKind,
    Query,
    SlowExpression,
    WrongQuery,
    room_key,
)
from genie_core.sessions.search.snippet import WIDTH, Snippet, snippet


@dataclass
class Text:
    text: str = ""
    kind: DocumentKind = "message"
    by: str = "ann"
    at: float = 0.0
    has_file: bool = False


def finds(typed: str, found: Text | str, room: str = "Standup") -> bool:
    entry = Text(found) if isinstance(found, str) else found
    text = folded(one_line(entry.text))
    return Query.parse(typed).matches(entry, text, room_key(room, "2026-10-01-standup"))


@pytest.mark.parametrize(
    ("typed", "text", "found"),
    [
        ("budget", "The Budgets", True),
        ("udge", "The Budgets", True),
        ("cafe", "Café", True),
        ("CAFÉ", "cafe", True),
        ("c a b", "b a c", True),
        ("c d", "b a c", False),
        ('"b c"', "a b\n  c", True),
        ('"b c"', "b a c", False),
        ('"open en', "open ending", True),
        ("-vendor", "the vendor", False),
        ("-vendor", "the others", True),
        ("bill -vendor", "a bill", True),
        ("bill -vendor", "a bill of the vendor", False),
        ('-"two words"', "two  words", False),
        ("--force", "git push --force", True),
        ("a -> b", "a -> b", True),
        ("read_file.py", "see read_file.py", True),
        ("12:30", "at 12:30", True),
        ("https://example.org/x", "see https://example.org/x", True),
        ('"from:ann"', "type from:ann", True),
        ("/usr/bin", "in /usr/bin", True),
        ("/b.dg/", "the budget", True),
        ("/B.DG/", "the budget", True),
        ("/^the/", "in the", False),
        (r"/a\/b/", "a/b", True),
        ("/two words/", "two words", True),
        ("-/b.dg/", "the budget", False),
        ("/caf./", "Café", True),
        ("/café/", "Cafe", True),
        ("本語", "日本語を話す", True),
        ("語本", "日本語を話す", False),
        ("か", "が", False),
        ("ἀρχη", "Ἀρχή", True),
    ],
)
def test_words_phrases_and_expressions_are_found(typed: str, text: str, found: bool) -> None:
    assert finds(typed, text) is found


def moment(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M"))


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("from:ann", True),
        ("FROM:Ann", True),
        ("from:an", False),
        ("from:bob from:ann", True),
        ("-from:ann", False),
        ("in:stand", True),
        ("in:2026-10-01", True),
        ('in:"stand up"', False),
        ("in:other", False),
        ("-in:standup", False),
        ("before:2026-10-02", True),
        ("before:2026-10-01", False),
        ("after:2026-10-01", True),
        ("after:2026-10-02", False),
        ("after:2026-10 before:2026-11", True),
        ("after:2027", False),
        ("-before:2026-11", False),
        ("kind:denied", True),
        ("kind:approval", True),
        ("kind:message kind:denied", True),
        ("kind:message", False),
        ("-kind:denied", False),
        ("has:file", True),
        ("-has:file", False),
        ("kind:denied rm", True),
        ("kind:denied -rm", False),
    ],
)
def test_fields_narrow_it(typed: str, found: bool) -> None:
    denied = Text("rm -r", "denied", "Ann", moment("2026-10-01 12:00"), has_file=True)
    assert finds(typed, denied) is found


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("before:yesterday", "write a day, month or year: before:2026-11-01"),
        ("after:2026-13", "after:2026-13 is no date"),
        ("before:99999", "is no date"),
        ("kind:foo", "kind: takes message, answer, decision, silent, approval"),
        ("has:wings", "has:file finds messages with files"),
        ("from:", "from: needs a value, such as from:ann"),
        ('in:""', "in: needs a value, such as in:standup"),
        ("/(/", "is no regular expression: missing )"),
        ("x " * 40, "at most 32"),
        ("x" * (MOST_CHARS + 1), "at most 1,000 characters"),
    ],
)
def test_a_wrong_query_says_what_works(typed: str, words: str) -> None:
    with pytest.raises(WrongQuery) as raised:
        Query.parse(typed)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("typed", ["", "  ", '"', '""', '" "'])
def test_empty_query_searches_nothing(typed: str) -> None:
    assert not Query.parse(typed)


def test_slow_expression_is_given_up() -> None:
    with pytest.raises(SlowExpression, match="write a simpler"):
        finds("/(a|aa)+$/", "a" * 60 + "!")


def test_every_kind_can_be_asked_for() -> None:
    assert set().union(*KINDS.values()) == set(get_args(DocumentKind))


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from('"*^():-+/from:in:|'))))
def test_nothing_that_is_typed_breaks_the_parser(typed: str) -> None:
    with suppress(WrongQuery, SlowExpression):
        finds(typed, "some text")


@given(st.text())
def test_a_text_is_compared_letter_by_letter(text: str) -> None:
    line = one_line(text)
    assert line.encode().decode() == line
    assert len(folded(line)) == len(line)
    assert not {"\0", "\n"} & set(line)


def test_a_snippet_shows_what_was_found() -> None:
    assert snippet(Query.parse("B /d/"), "a b c d") == Snippet("a b c d", ((2, 3), (6, 7)))
    assert snippet(Query.parse("kind:message"), "a b") == Snippet("a b")
    long = "word " * 100 + "Äpfel " + "word " * 100
    found = snippet(Query.parse("apf"), one_line(long))
    assert [found.text[low:high] for low, high in found.marks] == ["Äpf"]
    assert found.text.startswith("…word")
    assert found.text.endswith("word…")
    assert len(found.text) <= WIDTH + 2


@pytest.mark.parametrize("flags", ["(?a)(?u)", "(?V0)(?V1)", "(?au)"])
def test_conflicting_flags_are_refused(flags: str) -> None:
    with pytest.raises(WrongQuery, match="no regular expression"):
        Query.parse(f"/{flags}x/")
