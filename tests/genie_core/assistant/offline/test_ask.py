import pytest

from genie_core.assistant.offline.ask import MAX_ASK_CHARS, Ask, called_by_name, read_ask


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("Hey, could you please list the files?", "list the files"),
        ("what is 2+2 ?!", "what is 2+2"),
        ("Please tell me what time it is in Oslo, thanks.", "what time it is in Oslo"),
        ("so what\u2019s  the\ttime", "what's the time"),
        ("I'd like you to summarise this chat", "summarise this chat"),
        ("show me the file notes.md.", "show me the file notes.md"),
        ("history", "history"),
    ],
)
def test_politeness_is_taken_off(sentence: str, text: str) -> None:
    ask = read_ask(sentence)
    assert ask is not None
    assert ask.text == text


def test_a_question_mark_is_remembered() -> None:
    assert read_ask("2+2?") == Ask("2+2", question=True)
    assert read_ask("2+2") == Ask("2+2", question=False)


@pytest.mark.parametrize("sentence", ["", "  ", "?", "x" * (MAX_ASK_CHARS + 1)])
def test_nothing_and_far_too_much_is_no_ask(sentence: str) -> None:
    assert read_ask(sentence) is None


def test_calling_by_name_needs_more_than_the_word() -> None:
    assert called_by_name("genie, what is 2+2?")
    assert called_by_name("Hey Genie what is 2+2?")
    assert not called_by_name("Genie is a nice name")
    assert not called_by_name("ask the genie, maybe")
