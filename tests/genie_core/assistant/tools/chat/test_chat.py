import json

import pytest

from genie_core.assistant.tools.chat.chat import MAX_HITS, Chat
from genie_core.assistant.tools.output import MAX_EXCERPT


def chat(*said: tuple[str, str]) -> Chat:
    async def fetch() -> str:
        return json.dumps(
            [{"content": text, "sender": sender, "receiver": None} for sender, text in said]
        )

    return Chat(fetch)


ROOM = chat(
    ("alice", "The invoice is due on Friday"),
    ("bob", "which INVOICE do you mean?"),
    ("alice", "@genie search for invoice"),
    ("system", "2 messages with invoice"),
    ("alice", "search this chat for invoice"),
    ("carol", "I sent the last invoice on Monday"),
)


async def test_hits_show_sender_and_number() -> None:
    assert await ROOM.search_chat("invoice") == (
        '3 messages with "invoice":\n'
        "- #1 alice: The invoice is due on Friday\n"
        "- #2 bob: which INVOICE do you mean?\n"
        "- #6 carol: I sent the last invoice on Monday"
    )


async def test_all_words_and_exact_phrase_match() -> None:
    assert "#1" in await ROOM.search_chat("friday invoice")
    assert await ROOM.search_chat('"invoice friday"') == (
        'No message contains "invoice friday" (3 searched).'
    )


async def test_own_messages_are_found_on_request() -> None:
    assert "#4 system" in await ROOM.search_chat("messages", include_assistant=True)
    assert "No message" in await ROOM.search_chat("messages")


async def test_latest_hits_fit_limit() -> None:
    room = chat(*[("bob", f"tea number {n}") for n in range(300)])
    said = await room.search_chat("tea", limit=2)
    assert said.startswith('300 messages with "tea", the latest 2:')
    assert said.count("\n") == 2
    assert "#300 " in said
    assert (await room.search_chat("tea", limit=10**6)).count("\n") == MAX_HITS


async def test_a_long_message_is_cut_down_to_the_hit() -> None:
    said = await chat(("bob", "x " * 5_000 + "needle" + " y" * 5_000)).search_chat("needle")
    assert "needle" in said
    assert len(said) < MAX_EXCERPT + 100


@pytest.mark.parametrize("words", ["", "  ", '""'])
async def test_no_words_are_no_search(words: str) -> None:
    assert await ROOM.search_chat(words) == "Cannot search: no words are given."


async def test_a_summary_quotes_people_word_for_word() -> None:
    room = chat(
        ("alice", "The launch moves to Monday."),
        ("bob", "Fine with me"),
        ("carol", "Then the launch party moves to Monday too."),
        ("alice", "@genie summarise the last 20 messages"),
    )
    said = await room.summarise_chat(20)
    assert said.startswith(
        "The last 3 messages from alice, bob, carol; 2 sentences quoted verbatim"
    )
    assert "- carol: Then the launch party moves to Monday too." in said
    assert "@genie" not in said


async def test_summary_covers_only_latest() -> None:
    said = await chat(("alice", "old news here"), ("bob", "new plan now")).summarise_chat(1)
    assert "old news" not in said
    assert "new plan now" in said


async def test_an_empty_chat_has_no_summary() -> None:
    assert await chat().summarise_chat() == "There are no messages to summarise yet."
