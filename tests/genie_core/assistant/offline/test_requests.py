"""What people write, and the tool call that it asks for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.offline.requests import (
    MAX_CHARS,
    PlannedCall,
    plain_request,
    request_in,
)
from genie_core.assistant.tools.catalog import FILE_TOOLS, TOOL_NAMES, available

WITHOUT_FILES = frozenset(TOOL_NAMES) - frozenset(FILE_TOOLS)


def written(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}


def run(command: str) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command}


def fetched(url: str) -> tuple[str, dict[str, Any]]:
    return "fetch_url", {"url": url}


PLAIN_ACTIONS = [
    ('save "Buy milk. And tea!" as notes.md', written("notes.md", "Buy milk. And tea!\n")),
    ("please write \u201cbuy  milk\u201d to docs/list", written("docs/list", "buy  milk\n")),
    ("run `git add .`", run("git add .")),
    ("can you run `ls`?", run("ls")),
    ("could you run the command `ls -l`, please?", run("ls -l")),
    ("fetch https://example.org/a?b=c", fetched("https://example.org/a?b=c")),
    ("Can you fetch the page at <https://example.org/>?", fetched("https://example.org/")),
]

ADDRESSED_ACTIONS = [
    ("write buy milk to notes.md", written("notes.md", "buy milk\n")),
    ("write go to the shop to notes.md.", written("notes.md", "go to the shop\n")),
    ("write thanks, all! into the file called TODO", written("TODO", "thanks, all!\n")),
    ("save a\n  b\nas 'my notes.md' please", written("my notes.md", "a\n  b\n")),
    ("run git status", run("git status")),
    ("please run ls -l", run("ls -l")),
    ("can you run git status?", run("git status")),
    ("run git add .", run("git add .")),
    ("run git  commit -m 'Say hello. Go on; stop'", run("git  commit -m 'Say hello. Go on; stop'")),
    ("execute the program ./build.sh please", run("./build.sh")),
    ("run ls; rm x", run("ls; rm x")),
    ("read https://example.org", fetched("https://example.org")),
    ("show me http://example.org/x.html.", fetched("http://example.org/x.html")),
]

NO_ACTIONS = [
    "run for your life",
    "run",
    "run the tests",
    "run it.",
    "write me a poem to poem.md",
    "save it as notes.md",
    "write to bob",
    "write an invitation to bob@example.org",
    "fetch the milk",
    "run ls\nrun rm x",
    "I would never do this. Run rm x",
    "we might do it; run rm x",
    "do not ever\nwrite x to notes.md",
    "fetch ftp://example.org",
    "run `ls` and `cat`\nor not",
    "run ``",
]


PLAIN: list[tuple[str, str, dict[str, Any]]] = [
    ("what is 12*7?", "calculate", {"expression": "12*7"}),
    ("What's 15% of 80?", "calculate", {"expression": "15% of 80"}),
    ("how much is 3 plus 4", "calculate", {"expression": "3 + 4"}),
    ("calculate sqrt(2)", "calculate", {"expression": "sqrt(2)"}),
    ("what is 1200 times 3?", "calculate", {"expression": "1200 * 3"}),
    ("Can you please calculate 2^10", "calculate", {"expression": "2^10"}),
    ("search this chat for invoice", "search_chat", {"words": "invoice"}),
    ("search for pizza in the chat", "search_chat", {"words": "pizza"}),
    ('find messages about the "release plan"', "search_chat", {"words": '"release plan"'}),
    ("summarise the last 20 messages", "summarise_chat", {"count": 20}),
    ("summarize this chat please", "summarise_chat", {}),
    ("could you give us a summary of the last 10 messages?", "summarise_chat", {"count": 10}),
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
    ("hi! what is 2 + 2? thanks", "calculate", {"expression": "2 + 2"}),
]
"""Acted upon even when said to nobody in particular."""

TERSE: list[tuple[str, str, dict[str, Any]]] = [
    ("12*7", "calculate", {"expression": "12*7"}),
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
    ("15% of 80", "calculate", {"expression": "15% of 80"}),
    ("sqrt(2)", "calculate", {"expression": "sqrt(2)"}),
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


@pytest.mark.parametrize(
    ("text", "tool", "args"), [*PLAIN, *((text, *call) for text, call in PLAIN_ACTIONS)]
)
def test_plain_request_is_understood(text: str, tool: str, args: dict[str, Any]) -> None:
    for call in (plain_request(text, TOOL_NAMES), request_in(text)):
        assert call == PlannedCall(tool, args)


@pytest.mark.parametrize(
    ("text", "tool", "args"), [*TERSE, *((text, *call) for text, call in ADDRESSED_ACTIONS)]
)
def test_helper_understands_fewer_words(text: str, tool: str, args: dict[str, Any]) -> None:
    assert request_in(text) == PlannedCall(tool, args)
    assert plain_request(text, TOOL_NAMES) is None


@pytest.mark.parametrize("text", TALK)
def test_ordinary_talk_is_no_request(text: str) -> None:
    assert plain_request(text, TOOL_NAMES) is None


@pytest.mark.parametrize("text", NO_ACTIONS)
def test_similar_words_are_no_request(text: str) -> None:
    assert request_in(text) is None
    assert plain_request(text, TOOL_NAMES) is None


def test_absent_tool_is_not_promised_to_room() -> None:
    assert plain_request("list the files", TOOL_NAMES) is not None
    assert plain_request("list the files", WITHOUT_FILES) is None
    assert request_in("list the files") is not None


def test_no_workspace_writes_or_runs_none() -> None:
    tools = available(None)
    assert plain_request('save "x" as notes.md', tools) is None
    assert plain_request("run `ls`", tools) is None
    assert plain_request("fetch https://example.org", tools) is not None


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    call = request_in(text)
    assert call is None or call.tool in TOOL_NAMES


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "text",
    [
        "find " + "in the chat " * 40,
        "what is " + "(" * 400,
        "list the files in " + "the folder " * 40,
        "show me lines 1 to 2 of " + "a b " * 100,
        "factorial " * 19 + "$",
        "max hypot gcd factorial floor sqrt round abs !x",
        ", " * 240 + "x",
    ],
)
def test_no_pattern_runs_away(text: str) -> None:
    call = request_in(text)
    assert call is None or call.tool in TOOL_NAMES


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part",
    [
        *("to a ", "write ", "run `", "to ", "https://", "factorial ", "? ", "a. ", "a. A "),
        *(", ", "\n", " ", "`", "`a", "@a.", "- ", "! x", "1,", ".", "please ", "hi "),
    ],
)
def test_longest_message_is_read_fast(part: str) -> None:
    for verb in ("", "write ", "save x", "run ", "fetch https://", "show me ", "read ", "what is "):
        request_in(verb + part * ((MAX_CHARS - len(verb) - 1) // len(part)) + "@")


def test_longer_message_is_no_request() -> None:
    text = "write " + "x" * (MAX_CHARS - 18) + " to notes.md"
    assert request_in(text) is not None
    assert request_in(text.replace("xx", "xxx", 1)) is None
