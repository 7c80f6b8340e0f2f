"""A room as Markdown, of which nothing that people write is markup."""

import re
from html import unescape
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.genie_core.sessions.export.test_markdown_escape import HOSTILE, RENDERERS
from tests.genie_core.sessions.sample import BORN, DIGEST, saved_room

from genie_core.room.protocol.events import (
    Event,
    FileRef,
    MessagePosted,
    RoomCreated,
    UnreadableEvent,
)
from genie_core.room.text.events import Code, blocks
from genie_core.sessions.export.markdown import content, markdown
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.text.safe import visible


@pytest.mark.parametrize("renderer", RENDERERS)
def test_fenced_code_stays_code_and_names_no_language(renderer: MarkdownIt) -> None:
    page = renderer.render(content("see\n```mermaid\nif *x*:\n\n    # <y>\n```\nthere"))
    code = "<pre><code>if *x*:\n\n    # &lt;y&gt;\n</code></pre>"
    assert page == f"<p>see</p>\n<p>mermaid:</p>\n{code}\n<p>there</p>\n"


CODE = st.text(alphabet="`~ \n\t>-#*<a\\", max_size=40)


@pytest.mark.parametrize("renderer", RENDERERS)
@given(code=CODE, after=HOSTILE)
@example("````\n", "x")
@example("   ```", "```")
def test_nothing_in_code_ends_it(renderer: MarkdownIt, code: str, after: str) -> None:
    raw = f"```\n{code}\n```\n{after}"
    parts = list(blocks(visible(raw)))
    page = renderer.render(content(raw))
    wanted = [each.code for each in parts if isinstance(each, Code)]
    assert [
        unescape(each).removesuffix("\n")
        for each in re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)
    ] == wanted
    rest = re.sub(r"<pre><code>.*?</code></pre>", "", page, flags=re.DOTALL)
    assert "<" not in re.sub(r"</?p>|<br ?/?>", "", rest)


@pytest.mark.parametrize("renderer", RENDERERS)
def test_a_message_of_nothing_but_code_is_one(tmp_path: Path, renderer: MarkdownIt) -> None:
    page = renderer.render("".join(markdown(room(tmp_path, "```\nx = 1\n```"))))
    assert "<pre><code>x = 1\n</code></pre>" in page
    assert "\\</p>" not in page


def test_a_room_reads_like_this(tmp_path: Path) -> None:
    text = "".join(markdown(saved_room(tmp_path)))
    head, *rest = text.split("\n\n")
    assert head == "# Standup"
    assert rest[0].startswith("ann\\\n20")
    said = next(each for each in rest if each.startswith("**ann**") and "[^4]\\" in each)
    assert said.endswith("\nwhat is 17\\*23? see the file")
    assert "- 📎 notes.txt (text/plain · 6.4 kB)" in rest
    assert any(
        re.fullmatch(r"\*\*genie\*\* → ann [0-9:]+, after 2.5 s\\\n391", each) for each in rest
    )
    assert "\n[^9]: ○" in text
    assert "stays silent: nothing is asked (marked as wrong)" in text
    assert text.count("[^4]") == text.count("[^9]") == 2
    assert "what is 17\\*23?" in text
    assert "danced" in text


def test_footnotes_are_rendered_as_part_of_them(tmp_path: Path) -> None:
    text = "".join(markdown(saved_room(tmp_path)))
    note = text[text.index("\n[^4]: ") + 1 : text.index("\n[^9]: ")]
    assert all(line.startswith("    ") for line in note.split("\n")[1:] if line)
    assert "ann's agent takes it up: what is 17\\*23? (reason: a question)" in note
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


def test_what_could_not_be_read_is_told_at_the_top(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    with saved.log_path.open("ab") as log:
        log.write(b"junk\n")
    assert "> ⚠ line 12 is damaged" in "".join(markdown(saved))


def test_an_empty_log_makes_an_empty_page(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    saved.log_path.unlink()
    assert "".join(markdown(saved)).startswith("# Standup\n\nnobody\\\n")


def room(base: Path, text: str) -> SavedSession:
    """A room in which everything is called, and says, the same."""
    saved = saved_room(base)
    events = [
        Event(1, BORN, "", RoomCreated("r1", text)),
        Event(2, BORN, text, MessagePosted("m", text, files=(FileRef("ab" * 32, text, 1, ""),))),
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
        for tag in ("h1", "h2", "p", "br", "strong", "blockquote", "ul", "li", "ol")
        for each in (tag, f"/{tag}")
    }
