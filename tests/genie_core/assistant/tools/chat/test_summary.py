from genie_core.assistant.tools.chat.summary import Sentence, key_sentences, sentences


def pool(*texts: str) -> list[Sentence]:
    return [Sentence(text, "alice") for text in texts]


def test_recurring_words_pick_sentences() -> None:
    said = pool(
        "good morning to you all",
        "The release moves to Friday because the database migration is late.",
        "I had a nice walk",
        "Then the database migration must be finished before the release.",
        "see you later then",
    )
    assert key_sentences(said, 2) == [said[1], said[3]]


def test_the_order_is_the_conversations() -> None:
    said = pool("budget one", "budget plan two budget plan", "budget three")
    assert key_sentences(said, 3) == said


def test_a_repeated_sentence_is_taken_once() -> None:
    said = pool("The server is down!", "The server is down!", "Restart the server now.")
    assert [sentence.text for sentence in key_sentences(said, 3)] == [
        "The server is down!",
        "Restart the server now.",
    ]


def test_small_talk_is_no_part_of_a_summary() -> None:
    said = pool("the budget is late", "haha yes", "who signs the budget?")
    assert key_sentences(said, 3) == [said[0], said[2]]


def test_few_sentences_are_all_kept() -> None:
    assert key_sentences(pool("We deploy tomorrow."), 5) == pool("We deploy tomorrow.")
    assert key_sentences([], 5) == []


def test_messages_are_split_into_sentences() -> None:
    assert sentences("Ok. We ship it today! Any news?\nversion 2.5 is out") == [
        "We ship it today!",
        "Any news?",
        "version 2.5 is out",
    ]
