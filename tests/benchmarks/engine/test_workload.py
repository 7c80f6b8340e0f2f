"""The conversation is the same for everybody, and burdens its people alike."""

from collections import Counter

from benchmarks.engine.workload import DELEGATED_EVERY, SENDERS, line

ROUNDS = [line(number) for number in range(SENDERS * DELEGATED_EVERY * 5)]


def test_every_fourth_message_is_a_question() -> None:
    questions = [each for each in ROUNDS if each.content.endswith("?")]
    assert len(questions) * DELEGATED_EVERY == len(ROUNDS)


def test_everybody_says_and_asks_equally_much() -> None:
    said = Counter(each.sender for each in ROUNDS)
    asked = Counter(each.sender for each in ROUNDS if each.content.endswith("?"))
    assert len(said) == len(asked) == SENDERS
    assert len(set(said.values())) == len(set(asked.values())) == 1


def test_no_two_messages_are_the_same() -> None:
    assert len({each.content for each in ROUNDS}) == len(ROUNDS)
