"""What of a session goes into a transcript, and what of it is hidden."""

import io
import re
from pathlib import Path

import pytest
from tests.genie_core.sessions.export.test_html import bodies, log, room
from tests.genie_core.sessions.sample import BORN, saved_room

from genie_core.room.protocol.events import (
    AnyBody,
    Event,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_core.sessions.errors import NotExported
from genie_core.sessions.export.choices import (
    EVERYTHING,
    HIDDEN,
    BadRedactions,
    Choices,
    NoPlace,
    read_place,
    read_redactions,
)
from genie_core.sessions.export.formats import AddedFormat, ExportFormat
from genie_core.sessions.export.html import html
from genie_core.sessions.export.markdown import markdown
from genie_core.sessions.export.writer import print_out
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.text.format import local_time

WRITERS = (html, markdown)


def written(saved: SavedSession, choices: Choices) -> list[str]:
    """A session in both formats to read."""
    return ["".join(write(saved, choices=choices)) for write in WRITERS]


@pytest.fixture
def three(tmp_path: Path) -> SavedSession:
    """A room in which three people say one thing each, a day apart."""
    saved = saved_room(tmp_path)
    entries: list[AnyBody] = [MessagePosted(word, word) for word in ("alpha", "beta", "gamma")]
    day = 86_400
    events = [Event(1, BORN, "", RoomCreated("r1", "Standup"))]
    events += [
        Event(n, BORN + n * day, by, body)
        for n, (by, body) in enumerate(zip(("ann", "bob", "cleo"), entries, strict=True), 2)
    ]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    return saved


def day_of(number: int) -> str:
    return f"{local_time(BORN + number * 86_400):%Y-%m-%d}"


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("3", "", "beta gamma"),
        ("", "3", "alpha beta"),
        ("3", "3", "beta"),
        (day_of(3), "", "beta gamma"),
        ("", day_of(3), "alpha beta"),
        (day_of(3), day_of(3), "beta"),
        (f"{day_of(3)}T00:00", day_of(4), "beta gamma"),
        ("99", "", ""),
        ("", "1", ""),
    ],
)
def test_a_transcript_has_the_chosen_entries(
    three: SavedSession, first: str, last: str, words: str
) -> None:
    ends = (read_place(text) if text else None for text in (first, last))
    for text in written(three, Choices(next(ends), next(ends))):
        assert " ".join(re.findall(r"alpha|beta|gamma", text)) == words
        assert f"{len(words.split())} message" in text
        assert "This is a part of the session." in text


@pytest.mark.parametrize(
    "text", ["", "yesterday", "-1", "2026-13-01", "9" * 20, "٣", "0001-01-01T"]
)
def test_a_place_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(NoPlace, match="no place in a log"):
        read_place(text)


def test_messages_alone_are_messages_and_answers(tmp_path: Path) -> None:
    for text in written(saved_room(tmp_path), Choices(messages_only=True)):
        assert "see the file" in text
        assert "391" in text
        assert not re.search("genie answers|asks for|allowed|joined|hosting|danced", text)


def test_what_tools_are_called_with_is_left_out(tmp_path: Path) -> None:
    saved = room(tmp_path, "hush")
    for text in written(saved, Choices(arguments=False)):
        assert "hush asks for hush" in text
        assert not re.search("<dt>(arguments|because|effects|changes)", text)
        assert "asks for hush:" not in text


NAMES = ("ann", "Bob", "Zoë", "d'Arc")


@pytest.fixture
def named(tmp_path: Path) -> SavedSession:
    """A room in which names stand in each text that there is."""
    saved = saved_room(tmp_path, title="Ann and BOB", host="ann")
    entries = [(name, MemberJoined("member", key="k" * 43)) for name in NAMES]
    everything = [each for name in NAMES for each in bodies(name)[2:3]]
    log(saved, [("", RoomCreated("r1", "of Bob")), *entries, *everything])
    return saved


def test_names_are_replaced_consistently(named: SavedSession) -> None:
    for text in written(named, Choices(pseudonyms=True)):
        shown = re.sub(r"<style>.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL)
        for name in NAMES:
            assert not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", shown, re.IGNORECASE)
        assert "the room of Person 2 was opened" in shown
        assert "Person 4" in shown
        assert "The names of people are replaced." in shown
        assert "k" * 43 not in text


def test_a_name_inside_a_word_is_none(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    log(
        saved, [("", RoomCreated("r", "R")), ("ann", MessagePosted("1", "ANN's annual plan, @ann"))]
    )
    for text in written(saved, Choices(pseudonyms=True)):
        assert "annual plan" in text
        assert "Person 1" in text
        assert not re.search(r"(?<!\w)ann(?!\w)", re.sub("<[^>]*>", "", text), re.IGNORECASE)


@pytest.mark.parametrize("secret", ["swordfish", "a.b*c", "sk-1234 5678"])
def test_what_is_redacted_is_nowhere(tmp_path: Path, secret: str) -> None:
    saved = room(tmp_path / "sessions", secret)
    (tmp_path / "hide").write_text(f"# what to hide\n\n{secret.upper()}\n/[xyz]{{9}}/\n")
    choices = Choices(redactions=read_redactions(tmp_path / "hide"))
    for text in written(saved, choices):
        shown = re.sub(r"<style>.*?</style>", " ", text, flags=re.DOTALL)
        assert secret not in re.sub(r"[\\]", "", shown)
        assert shown.count(HIDDEN) > 20


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no line"),
        (b"# only this\n", "no line"),
        (b"fine\n/(/\n", "line 2: "),
        (b"/x*/", "line 1 matches an empty text"),
        (b"\xff", "not UTF-8 text at line 1"),
    ],
)
def test_bad_redactions_are_a_clear_error(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "hide").write_bytes(content)
    with pytest.raises(BadRedactions, match=why):
        read_redactions(tmp_path / "hide")


def test_a_format_that_can_hide_nothing_says_so(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    for form in (ExportFormat.LINES, AddedFormat("cast")):
        with pytest.raises(NotExported, match="markdown or html"):
            print_out(saved, form, io.StringIO(), choices=Choices(pseudonyms=True))
    with pytest.raises(NotExported, match="attached files"):
        print_out(
            saved,
            ExportFormat.HTML,
            io.StringIO(),
            attachments=True,
            choices=Choices(pseudonyms=True),
        )
    print_out(saved, ExportFormat.LINES, io.StringIO(), choices=EVERYTHING)
