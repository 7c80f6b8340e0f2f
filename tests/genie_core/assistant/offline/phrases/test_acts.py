"""What people write when they want something done, and the call that it asks for."""

from typing import Any

import pytest

from genie_core.assistant.offline.intent import MAX_CHARS, asked_of_helper, plain_ask
from genie_core.assistant.offline.phrases.acts import understand
from genie_core.assistant.tools.catalog import TOOL_NAMES, available


def written(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}


def run(command: str) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command}


def fetched(url: str) -> tuple[str, dict[str, Any]]:
    return "fetch_url", {"url": url}


PLAIN = [
    ('save "Buy milk. And tea!" as notes.md', written("notes.md", "Buy milk. And tea!\n")),
    ("please write \u201cbuy  milk\u201d to docs/list", written("docs/list", "buy  milk\n")),
    ("run `git add .`", run("git add .")),
    ("can you run `ls`?", run("ls")),
    ("could you run the command `ls -l`, please?", run("ls -l")),
    ("fetch https://example.org/a?b=c", fetched("https://example.org/a?b=c")),
    ("Can you fetch the page at <https://example.org/>?", fetched("https://example.org/")),
]

ADDRESSED = [
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

NEITHER = [
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


@pytest.mark.parametrize(("text", "wanted"), PLAIN)
def test_plain_words_are_acted_upon(text: str, wanted: tuple[str, dict[str, Any]]) -> None:
    for call in (plain_ask(text, TOOL_NAMES), asked_of_helper(text)):
        assert call is not None
        assert (call.tool, call.args) == wanted


@pytest.mark.parametrize(("text", "wanted"), ADDRESSED)
def test_fewer_words_do_for_the_helper_only(text: str, wanted: tuple[str, dict[str, Any]]) -> None:
    call = asked_of_helper(text)
    assert call is not None
    assert (call.tool, call.args) == wanted
    assert plain_ask(text, TOOL_NAMES) is None


@pytest.mark.parametrize("text", NEITHER)
def test_what_is_only_part_of_a_message_or_means_something_else_is_left(text: str) -> None:
    assert understand(text) is None
    assert asked_of_helper(text) is None
    assert plain_ask(text, TOOL_NAMES) is None


def test_without_a_workspace_nothing_is_written_or_run_for_the_room_but_pages_are_read() -> None:
    tools = available(None)
    assert plain_ask('save "x" as notes.md', tools) is None
    assert plain_ask("run `ls`", tools) is None
    assert plain_ask("fetch https://example.org", tools) is not None


def test_a_long_message_is_no_act() -> None:
    assert asked_of_helper("write " + "x" * MAX_CHARS + " to notes.md") is None


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part", ["to a ", "write ", "run `", "to ", " ", "`", "https://", "\n", ","]
)
def test_no_pattern_runs_away(part: str) -> None:
    for verb in ("write ", "save x", "run ", "fetch https://", "show me https://"):
        understand(verb + part * (MAX_CHARS // len(part)) + "@")
