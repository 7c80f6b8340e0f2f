"""A room as Markdown, in which nothing that people write can pass for a part of the transcript."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tests.genie_core.sessions.export.test_markdown_escape import RENDERERS
from tests.genie_core.sessions.sample import BORN, DIGEST, saved_room

from genie_core.room.protocol.events import (
    Event,
    FileRef,
    MessagePosted,
    RoomCreated,
    UnreadableEvent,
)
from genie_core.sessions.export.markdown import markdown
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession


@pytest.mark.parametrize("renderer", RENDERERS)
def test_a_message_of_nothing_but_code_is_one(tmp_path: Path, renderer: MarkdownIt) -> None:
    page = renderer.render("".join(markdown(room(tmp_path, "```\nx = 1\n```"))))
    assert "<blockquote>\n<pre><code>x = 1\n</code></pre>\n</blockquote>" in page


def test_a_room_reads_like_this(tmp_path: Path) -> None:
    text = "".join(markdown(saved_room(tmp_path)))
    head, *rest = text.split("\n\n")
    assert head == "# Standup"
    assert rest[0].startswith("ann\\\n20")
    said = next(at for at, each in enumerate(rest) if re.fullmatch(r"\*\*ann\*\* .*\[\^4\]", each))
    assert rest[said + 1] == "> what is 17\\*23? see the file"
    assert "- 📎 notes.txt (text/plain · 6.4 kB)" in rest
    answer = next(at for at, each in enumerate(rest) if each.startswith("**genie** → ann"))
    assert rest[answer].endswith(", after 2.5 s")
    assert rest[answer + 1] == "> 391"
    assert "\n[^9]: ○" in text
    assert "stayed silent: nothing is asked (marked as wrong)" in text
    assert text.count("[^4]") == text.count("[^9]") == 2
    assert "what is 17\\*23?" in text
    assert "danced" in text


def test_footnotes_are_rendered_as_part_of_them(tmp_path: Path) -> None:
    text = "".join(markdown(saved_room(tmp_path)))
    note = text[text.index("\n[^4]: ") + 1 : text.index("\n[^9]: ")]
    assert all(line.startswith("    ") for line in note.split("\n")[1:] if line)
    assert "genie answers ann: what is 17\\*23? (reason: a question)" in note
    assert "✓" in note
    assert "allowed calculate by ann" in note


def test_files_are_linked_where_they_are_kept(tmp_path: Path) -> None:
    def place(file: FileRef) -> str:
        assert file.digest == DIGEST
        return "x-files/notes.txt"

    text = "".join(markdown(saved_room(tmp_path), place))
    assert "- 📎 [notes.txt (text/plain · 6.4 kB)](x-files/notes.txt)" in text


def test_pictures_are_shown_below_their_names(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    kinds = {"a]b.png": "image/png", "c.svg": "image/svg+xml"}
    files = tuple(FileRef("ab" * 32, name, 3, media) for name, media in kinds.items())
    saved.log_path.write_bytes(
        encode_line(Event(1, BORN, "ann", MessagePosted("m", "", files=files)))
    )
    text = "".join(markdown(saved, lambda file: f"x-files/{len(file.name)}"))
    page = RENDERERS[0].render(text)
    assert page.count("<img") == 1
    assert '<a href="x-files/7">a]b.png (image/png' in page
    assert '<br />\n<img src="x-files/7" alt="" /></li>' in page
    assert '<a href="x-files/5">c.svg' in page


def test_unreadable_lines_are_listed_first(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    with saved.log_path.open("ab") as log:
        log.write(b"junk\n")
    assert "\n⚠ line 12 is damaged" in "".join(markdown(saved))


def test_an_empty_log_makes_an_empty_page(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    saved.log_path.unlink()
    assert "".join(markdown(saved)).startswith("# Standup\n\nno members\\\n")


def room(base: Path, text: str, said: str = "") -> SavedSession:
    """A room in which everything is called, and says, the same."""
    said = said or text
    saved = saved_room(base)
    events = [
        Event(1, BORN, "", RoomCreated("r1", text)),
        Event(2, BORN, text, MessagePosted("m", said, files=(FileRef("ab" * 32, text, 1, ""),))),
        Event(3, BORN, text, UnreadableEvent(text)),
    ]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    return saved


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize(
    "text", ["<img src=x>", "![](http://x/y.png)", "[a](javascript:b)", "</p><script>x</script>"]
)
def test_no_name_or_file_is_markup(tmp_path: Path, renderer: MarkdownIt, text: str) -> None:
    page = renderer.render("".join(markdown(room(tmp_path, text))))
    tags = {tag.lower() for tag in re.findall(r"<(/?\w+)", page)}
    assert tags <= {
        each
        for tag in ("h1", "h2", "p", "br", "strong", "blockquote", "ul", "li", "ol", "a")
        for each in (tag, f"/{tag}")
    }


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize(
    "text",
    [
        "hi\n\n**ann** 10:00:00\n\nI agree",
        "hi\n\n## Friday, 1 January\n\n**ann** 10:00",
        "```\n\n**ann** 10:00:00",
        "- a\n\n**ann** 10:00:00",
        "hi\n\n[^2]: ✓ 10:00:00 allowed rm by ann",
        "> a\n**ann** 10:00:00",
        "| a |\n|---|\n\n◇ 10:00 ann is hosting",
    ],
)
def test_no_message_can_pass_for_another_part(
    tmp_path: Path, renderer: MarkdownIt, text: str
) -> None:
    page = renderer.render("".join(markdown(room(tmp_path, "x", said=text))))
    outside = re.sub(r"<blockquote>.*</blockquote>", "", page, flags=re.DOTALL)
    assert "10:00" not in outside
    assert "Friday" not in outside
    assert page.count("<h2>") == 1
