"""No word of an export is lost: it is in a message or in an entry that is left out by name."""

import json
import re
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from import_tests.exports import imported, lines, read, written

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.just("WORD") | st.floats(0, 1),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "content", "parts", "title", "body", "value", "elements"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
"""Any value, with words that are replaced by ones that occur once."""

IDS = st.sampled_from(["0", "1", "2", "3"]) | st.none() | st.integers(0, 3)
TIMES = st.integers(0, 2_000_000_000) | st.none() | st.just("2026-01-01T10:00:00Z") | st.booleans()
WORDS = st.just("WORD") | JSON


def fields(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


CHATGPT_MESSAGE = fields(
    {},
    id=IDS,
    author=st.sampled_from([{"role": "user"}, {"role": "assistant"}, None, 5, {"role": None}]),
    content=fields(
        {},
        content_type=st.sampled_from(["text", "code", "thoughts", "new"]),
        parts=WORDS,
        text=WORDS,
    )
    | JSON,
    recipient=st.sampled_from(["all", "python", None]),
    create_time=TIMES,
    metadata=st.none() | st.integers(),
)
CHATGPT_NODE = fields({}, message=CHATGPT_MESSAGE, parent=IDS, children=st.lists(IDS) | st.none())
CHATGPT = st.lists(
    fields(
        {"mapping": st.dictionaries(st.sampled_from("0123"), CHATGPT_NODE)},
        id=IDS,
        current_node=IDS,
        title=st.none() | st.just("Soup"),
    ),
    min_size=1,
    max_size=3,
)
CLAUDE_BLOCK = (
    fields(
        {},
        type=st.sampled_from(["text", "thinking", "tool_use", "new"]),
        text=WORDS,
        thinking=WORDS,
        input=WORDS,
    )
    | JSON
)
CLAUDE_MESSAGE = (
    fields(
        {},
        sender=st.sampled_from(["human", "assistant", "new", None]),
        text=WORDS,
        content=st.lists(CLAUDE_BLOCK, max_size=3) | st.none() | WORDS,
        attachments=st.lists(fields({}, extracted_content=WORDS, file_name=WORDS), max_size=2)
        | st.none(),
        uuid=IDS,
        created_at=TIMES,
    )
    | JSON
)
CLAUDE = st.lists(
    fields({"chat_messages": st.lists(CLAUDE_MESSAGE, max_size=4) | st.none()}, uuid=IDS),
    min_size=1,
    max_size=3,
)
SLACK_MESSAGE = (
    fields(
        {},
        ts=st.sampled_from(["1.5", "2", None]) | st.floats(0, 9),
        user=st.sampled_from(["U1", None, 5]),
        text=WORDS,
        subtype=st.sampled_from(["channel_join", "bot_message", "new", "tombstone", None]),
        blocks=WORDS | st.lists(fields({}, type=st.just("section"), text=WORDS), max_size=2),
        attachments=WORDS | st.lists(fields({}, title=WORDS, fallback=WORDS), max_size=2),
        files=st.none() | st.lists(fields({}, title=WORDS, plain_text=WORDS), max_size=2),
        thread_ts=IDS,
    )
    | JSON
)
DISCORD_MESSAGE = (
    fields(
        {},
        id=IDS,
        type=st.sampled_from(["Default", "20", "7", "New", None, "Call"]),
        timestamp=TIMES,
        author=st.just({"id": "9", "name": "bob"}) | st.none(),
        content=WORDS,
        embeds=st.lists(fields({}, title=WORDS, fields=WORDS), max_size=2) | WORDS,
        forwardedMessage=fields({}, content=WORDS) | st.none(),
        poll=WORDS,
        stickers=st.lists(fields({}, name=st.just("WORD")), max_size=2) | WORDS,
    )
    | JSON
)
IRC_LINE = st.sampled_from(
    [
        *("10:00 <ann> WORD", "10:00:01 < ann> WORD", "[11:00] * bob WORD", "10:00 WORD", "WORD"),
        *("--- Day changed WORD", "10:01 -!- WORD", "2024-01-01 10:00:00\tann\tWORD WORD", ""),
        *("10:00 * WORD", "2024-01-01 10:00:00\t-->\tWORD", "*** WORD", "(10:00) ann: WORD", "\t"),
    ]
)
STORE_ENTRY = fields({}, sender=st.sampled_from(["ann", "system", None]), content=WORDS) | JSON


def with_words(text: str) -> tuple[str, set[str]]:
    """Replace each WORD by one that occurs once; returns also all of them."""
    numbers = count()
    found = re.sub("WORD", lambda _: f"w{next(numbers)}w", text)
    return found, set(re.findall(r"w\d+w", found))


def chat_file(folder: Path, text: str) -> Path:
    return written(folder / "conversations.json", text.encode())


def slack_folder(folder: Path, text: str) -> Path:
    written(folder / "channels.json", [{"id": "C1", "name": "a"}])
    written(folder / "a/2026-01-01.json", text.encode())
    return folder


def discord_file(folder: Path, text: str) -> Path:
    return written(folder / "d.json", f'{{"channel": {{}}, "messages": {text}}}'.encode())


def irc_file(folder: Path, text: str) -> Path:
    return written(folder / "x.log", "\n".join(["10:00 <ann> hi", *json.loads(text)]).encode())


def store_folder(folder: Path, text: str) -> Path:
    written(folder / "s/session.json", f'{{"messages": {text}}}'.encode())
    return folder


EXPORTS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Path, str], Path]]] = {
    "chatgpt": (CHATGPT, chat_file),
    "claude": (CLAUDE, chat_file),
    "slack": (st.lists(SLACK_MESSAGE, max_size=5), slack_folder),
    "discord": (st.lists(DISCORD_MESSAGE, max_size=5), discord_file),
    "irc": (st.lists(IRC_LINE, max_size=8), irc_file),
    "group-genie": (st.lists(STORE_ENTRY, max_size=4), store_folder),
}


def words_read(path: Path) -> set[str]:
    """Return the words of messages and of entries left out; each of these has a reason."""
    messages, left = read(path)
    assert all(each.reason for each in left)
    shown = [text for each in messages for text in (each.text, *each.files, each.author.name)]
    return set(re.findall(r"w\d+w", "\n".join((*shown, *(each.text for each in left)))))


def words_imported(path: Path, base: Path) -> set[str]:
    """Return the words in the rooms of an export and in the files beside them."""
    report = imported(base, path)
    texts = [line for room in report.rooms for line in lines(room.saved)]
    files = [room.left_path for room in report.rooms if room.left_path.exists()]
    texts += [file.read_text() for file in files]
    return set(re.findall(r"w\d+w", "\n".join(texts)))


@pytest.mark.parametrize("source", EXPORTS)
def test_words_are_imported_or_named(source: str) -> None:
    strategy, write = EXPORTS[source]

    @settings(max_examples=150, deadline=None)
    @given(strategy)
    def check(value: Any) -> None:
        text, words = with_words(json.dumps(value))
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder, "export"), text)
            assert words - words_read(path) == set()

    check()


@pytest.mark.parametrize("source", EXPORTS)
def test_words_are_in_room_or_beside_it(source: str) -> None:
    strategy, write = EXPORTS[source]

    @settings(max_examples=15, deadline=None)
    @given(strategy)
    def check(value: Any) -> None:
        text, words = with_words(json.dumps(value))
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder, "export"), text)
            messages, _ = read(path)
            found = words_imported(path, Path(folder, "base"))
            if messages and source not in ("chatgpt", "claude"):
                assert words - found == set()
            for each in messages:
                assert set(re.findall(r"w\d+w", each.text)) <= found

    check()


def test_claude_other_fields_are_left_out(tmp_path: Path) -> None:
    message = {"content": "said", "title": "w0w", "parts": ["w1w"]}
    path = chat_file(tmp_path, json.dumps([{"chat_messages": [message]}]))
    assert words_read(path) == {"w0w", "w1w"}
