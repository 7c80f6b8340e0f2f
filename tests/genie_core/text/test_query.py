import json

from hypothesis import given
from hypothesis import strategies as st

from genie_core.message import Message
from genie_core.text.query import (
    MAX_CONTEXT_CHARS,
    MAX_CONTEXT_MESSAGES,
    compose_query,
    question_in,
)


def context_of(query: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in query.split("\n") if line.startswith("{")]


def test_a_query_says_who_asks_what() -> None:
    assert compose_query("alice", "what is 12*7?") == "alice asks:\n> what is 12*7?"


def test_context_follows_question_in_order() -> None:
    heard = [Message("lunch at 12?", "bob"), Message("fine", "carol", receiver="bob")]
    query = compose_query("alice", "when is lunch?", heard)
    assert question_in(query) == "when is lunch?"
    assert context_of(query) == [
        {"from": "bob", "text": "lunch at 12?"},
        {"from": "carol", "to": "bob", "text": "fine"},
    ]


@given(st.text(), st.text(), st.text())
def test_nobody_can_write_a_line_of_their_own(asker: str, question: str, said: str) -> None:
    query = compose_query(asker, question, [Message(said, "bob")])
    head, *quoted, _empty, _heading, line = query.split("\n")
    assert head.endswith(" asks:")
    assert quoted
    assert all(part.startswith("> ") for part in quoted)
    assert json.loads(line) == {"from": "bob", "text": said}
    assert len(line.splitlines()) == 1


@given(st.text(alphabet=st.characters(exclude_categories=("C", "Z"))))
def test_a_question_is_found_again(question: str) -> None:
    assert question_in(compose_query("alice", question)) == question


def test_only_the_newest_messages_come_along() -> None:
    heard = [Message(f"message {n}", "bob") for n in range(100)]
    texts = [entry["text"] for entry in context_of(compose_query("alice", "?", heard))]
    assert texts == [f"message {n}" for n in range(100 - MAX_CONTEXT_MESSAGES, 100)]


def test_context_limit_omits_long_messages() -> None:
    heard = [Message("x" * (MAX_CONTEXT_CHARS // 2), "bob") for _ in range(3)]
    query = compose_query("alice", "?", heard)
    assert len(context_of(query)) == 1
    assert len(query) < MAX_CONTEXT_CHARS + 500


def test_a_plain_text_is_its_own_question() -> None:
    assert question_in(" what is 2+2? \n") == "what is 2+2?"
