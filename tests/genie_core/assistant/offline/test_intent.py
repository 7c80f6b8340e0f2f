"""What people write, and the tool call that it asks for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.offline.intent import MAX_CHARS, asked_of_helper, plain_ask
from genie_core.assistant.tools.catalog import FILE_TOOLS, TOOL_NAMES

WITHOUT_FILES = frozenset(TOOL_NAMES) - frozenset(FILE_TOOLS)

PLAIN: list[tuple[str, str, dict[str, Any]]] = [
    ("what is 12*7?", "calculate", {"expression": "12*7"}),
    ("What's 15% of 80?", "calculate", {"expression": "15% of 80"}),
    ("how much is 3 plus 4", "calculate", {"expression": "3 + 4"}),
    ("calculate the square root of 2", "calculate", {"expression": "sqrt(2)"}),
    ("what is 1,200 times 3?", "calculate", {"expression": "1200 * 3"}),
    ("Can you please calculate 2^10", "calculate", {"expression": "2^10"}),
    ("what time is it in Oslo?", "current_time", {"place": "Oslo"}),
    ("What time is it in New York right now?", "current_time", {"place": "New York"}),
    ("what's the time in Tokyo", "current_time", {"place": "Tokyo"}),
    ("what's the time?", "current_time", {}),
    ("do you know what time it is in Tokyo?", "current_time", {"place": "Tokyo"}),
    ("what's the date?", "current_time", {}),
    ("what day is it today?", "current_time", {}),
    ("how many days until 24 December?", "days_between", {"start": "today", "end": "24 December"}),
    ("days until 24 December?", "days_between", {"start": "today", "end": "24 December"}),
    ("how long until christmas?", "days_between", {"start": "today", "end": "christmas"}),
    (
        "how many days between 2024-01-01 and 2024-03-01",
        "days_between",
        {"start": "2024-01-01", "end": "2024-03-01"},
    ),
    ("what weekday was 2024-02-29?", "weekday", {"day": "2024-02-29"}),
    ("which day of the week is 4 July 2026?", "weekday", {"day": "4 July 2026"}),
    ("on what day does christmas fall?", "weekday", {"day": "christmas"}),
    (
        "what is 3pm CET in New York?",
        "convert_time",
        {"time": "3pm", "source": "CET", "target": "New York"},
    ),
    (
        "what time is 15:30 Oslo in Tokyo?",
        "convert_time",
        {"time": "15:30", "source": "Oslo", "target": "Tokyo"},
    ),
    (
        "3pm CET in New York?",
        "convert_time",
        {"time": "3pm", "source": "CET", "target": "New York"},
    ),
    (
        "convert 3pm CET to Tokyo time",
        "convert_time",
        {"time": "3pm", "source": "CET", "target": "Tokyo"},
    ),
    ("3pm IST in London?", "convert_time", {"time": "3pm", "source": "IST", "target": "London"}),
    ("what date is 10 days from now", "weekday", {"day": "10 days from now"}),
    ("what date was 3 weeks ago?", "weekday", {"day": "3 weeks ago"}),
    ("what day is it in 3 weeks?", "weekday", {"day": "in 3 weeks"}),
    ("how many days until in a month", "days_between", {"start": "today", "end": "in a month"}),
    ("what day is 3 weeks from 1 May?", "shift_date", {"start": "1 May", "days": 21}),
    ("what date will it be in 30 days", "weekday", {"day": "in 30 days"}),
    ("search this chat for invoice", "search_chat", {"words": "invoice"}),
    ("search for pizza in the chat", "search_chat", {"words": "pizza"}),
    ('find messages about the "release plan"', "search_chat", {"words": '"release plan"'}),
    ("summarise the last 20 messages", "summarise_chat", {"count": 20}),
    ("summarize this chat please", "summarise_chat", {}),
    ("could you give us a summary of the last ten messages?", "summarise_chat", {"count": 10}),
    ("recap the conversation so far", "summarise_chat", {}),
    ("list the files", "list_files", {}),
    ("list all files in docs", "list_files", {"folder": "docs"}),
    ("what files are in the workspace", "list_files", {}),
    ("search the files for TODO", "search_files", {"text": "TODO"}),
    ("find TODO in the files", "search_files", {"text": "TODO"}),
    ("show me the file notes.md", "read_file", {"path": "notes.md"}),
    (
        "show me lines 3 to 9 of notes.md",
        "read_file",
        {"path": "notes.md", "first_line": 3, "last_line": 9},
    ),
    ("which files contain password?", "search_files", {"text": "password"}),
    ("what is in the file a/b.txt?", "read_file", {"path": "a/b.txt"}),
    ("hey, what is 2+2?", "calculate", {"expression": "2+2"}),
    ("genie, what is 2+2?", "calculate", {"expression": "2+2"}),
    ("weekday of 2024-02-29", "weekday", {"day": "2024-02-29"}),
    ("hi! what is 2 + 2? thanks", "calculate", {"expression": "2 + 2"}),
]
"""Acted upon even when said to nobody in particular."""

TERSE: list[tuple[str, str, dict[str, Any]]] = [
    ("12*7", "calculate", {"expression": "12*7"}),
    ("time in Tokyo", "current_time", {"place": "Tokyo"}),
    ("days until 24 December", "days_between", {"start": "today", "end": "24 December"}),
    ("3pm CET in New York", "convert_time", {"time": "3pm", "source": "CET", "target": "New York"}),
    ("who mentioned pizza?", "search_chat", {"words": "pizza"}),
    ("summary", "summarise_chat", {}),
    ("what did I miss?", "summarise_chat", {}),
    ("tl;dr", "summarise_chat", {}),
    ("read notes.md", "read_file", {"path": "notes.md"}),
    (
        "read docs/plan.md lines 2-5",
        "read_file",
        {"path": "docs/plan.md", "first_line": 2, "last_line": 5},
    ),
    ("grep TODO", "search_files", {"text": "TODO"}),
    ("search for lunch", "search_chat", {"words": "lunch"}),
    ("Thanks for yesterday. What time is it in Oslo?", "current_time", {"place": "Oslo"}),
    ("15% of 80", "calculate", {"expression": "15% of 80"}),
    ("sqrt(2)", "calculate", {"expression": "sqrt(2)"}),
    ("today's date", "current_time", {}),
]
"""Understood when said to the helper, left alone otherwise."""

TALK = [
    "I'll call you at 3",
    "we had 2+2 people",
    "see you at 3pm in Berlin",
    "let's meet at 3pm CET",
    "what is the plan?",
    "what time do we meet?",
    "what time is it in the movie?",
    "what is 24/7 support?",
    "what is 24/7?",
    "what's 555-1234?",
    "call 555-1234",
    "what is 2024-02-29?",
    "50/50",
    "my score is 3-2",
    "what day is the party?",
    "how long until you arrive?",
    "how many days until the release?",
    "who said that?",
    "did you read notes.md?",
    "read README.md before you start",
    "find me a good restaurant",
    "search your feelings",
    "what is in the box?",
    "what's in there?",
    "days until christmas!",
    "I can list the files if you want",
    "please summarise your position",
    "what is love",
    "what's 5?",
    "can you summarise?",
    "where did we go wrong",
    "show me the money",
    "what is up - anyone?",
    "what is e?",
    "open the door/window",
    "time in lieu",
    "what day suits you?",
    "what's a 10-4?",
    "it was 2*3 = 6",
    "what's the time complexity?",
    "what's the date of the party?",
    "who wrote this file?",
    "list the pros and cons",
    "what is the date in the contract?",
    "what day is good?",
    "3pm to 5pm",
    "3 to 5",
    "what is 3pm to 5pm like?",
    "what is my 2 + your 2?",
    "good morning",
    "thanks, see you at 10:30",
    "the price went from 12 to 15 dollars",
    "what's the time frame?",
    "I'd search for a better word",
    "in 10 days we leave",
    "Berlin is 3 hours ahead",
    "2 + 2 is what I meant",
    "see lines 3-5 of the contract",
    "who is in the chat?",
    "let's look at the files tomorrow",
    "what is 2+2?\nand why do you ask?",
]
"""Ordinary talk."""


@pytest.mark.parametrize(("text", "tool", "args"), PLAIN)
def test_a_plain_ask_is_understood(text: str, tool: str, args: dict[str, Any]) -> None:
    call = plain_ask(text, TOOL_NAMES)
    assert call is not None
    assert (call.tool, call.args) == (tool, args)


@pytest.mark.parametrize(("text", "tool", "args"), TERSE)
def test_the_helper_is_addressed_in_fewer_words(text: str, tool: str, args: dict[str, Any]) -> None:
    call = asked_of_helper(text)
    assert call is not None
    assert (call.tool, call.args) == (tool, args)
    assert plain_ask(text, TOOL_NAMES) is None


@pytest.mark.parametrize("text", TALK)
def test_ordinary_talk_is_left_alone(text: str) -> None:
    assert plain_ask(text, TOOL_NAMES) is None


@pytest.mark.parametrize(
    "text",
    ["write me a poem", "what do you think of Python?", "find me a good restaurant", "hello", ""],
)
def test_what_the_helper_cannot_do_is_not_made_into_something_else(text: str) -> None:
    assert asked_of_helper(text) is None


def test_a_tool_that_is_absent_is_not_promised_to_the_room() -> None:
    assert plain_ask("list the files", TOOL_NAMES) is not None
    assert plain_ask("list the files", WITHOUT_FILES) is None
    assert asked_of_helper("list the files") is not None


def test_the_last_sentence_that_is_understood_counts() -> None:
    call = asked_of_helper("Hi there! What is 1+1? Sorry. What is 2+2?")
    assert call is not None
    assert call.args == {"expression": "2+2"}


@given(st.text(max_size=300))
def test_no_text_is_too_strange(text: str) -> None:
    call = asked_of_helper(text)
    assert call is None or call.tool in TOOL_NAMES


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "text",
    [
        "find " + "in the chat " * 40,
        "3pm " + "in to " * 80,
        "what is " + "(" * 400,
        "how many days between " + "and to " * 60,
        "list the files in " + "the folder " * 40,
        "show me lines 1 to 2 of " + "a b " * 100,
        "factorial " * 19 + "$",
        "max hypot gcd factorial floor sqrt round abs !x",
        ", " * 240 + "x",
    ],
)
def test_no_pattern_runs_away(text: str) -> None:
    call = asked_of_helper(text)
    assert call is None or call.tool in TOOL_NAMES


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "part", ["factorial ", "? ", "a. ", "a. A ", ", ", "\n", " ", "`a", "@a.", "- ", "! x", "1,"]
)
def test_long_messages_are_read_as_fast_as_short_ones(part: str) -> None:
    for text in (part * (20_000 // len(part)), "@genie a." + part * (20_000 // len(part)) + "$"):
        call = asked_of_helper(text)
        assert call is None or call.tool in TOOL_NAMES
        assert plain_ask(text, TOOL_NAMES) is None


def test_only_the_end_of_a_long_message_is_looked_at() -> None:
    filler = "Nobody asks for anything here. " * 100
    assert asked_of_helper(f"What is 2+2? {filler}") is None
    call = asked_of_helper(f"{filler}What is 2+2?")
    assert call is not None
    assert call.args == {"expression": "2+2"}


def test_half_a_sentence_is_not_taken_for_a_request() -> None:
    rest = " list the files" + "." * (MAX_CHARS - 15)
    assert asked_of_helper("please do not" + rest) is None
