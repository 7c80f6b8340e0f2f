from pathlib import Path

import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom
from textual.app import App, ComposeResult

from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.protocol.events import FileRef, MemberJoined, Quote, QuotedLine
from genie_tui.transfers import FileTransfers
from genie_tui.widgets.composer.attachments import (
    LONGEST_PASTE,
    AttachmentLine,
    Attachments,
    agents_here,
    files_named,
    may_name_files,
    others_here,
    quote_question,
    quoted_chars,
    sending_question,
)

QUOTE = Quote("r", "Garden", (QuotedLine("ann", "hello"),))


def test_it_is_full_until_it_is_unloaded() -> None:
    attached = Attachments()
    assert not attached
    assert attached.add(FileRef("d", "a.pdf", 7))
    assert not attached.add(FileRef("d", "b.pdf", 7))
    attached.quotes.append(QUOTE)
    assert attached.quoted == quoted_chars(QUOTE) == 8
    assert attached.take() == ((FileRef("d", "a.pdf", 7),), (QUOTE,))
    assert not attached


def test_things_are_taken_out_by_name() -> None:
    attached = Attachments([Path("/x/b.pdf")], [FileRef("d", "A.pdf", 7)], [QUOTE])
    assert attached.names() == ["A.pdf", "b.pdf", "Garden"]
    assert not attached.remove("c.pdf")
    assert attached.remove("a.PDF")
    assert attached.remove("garden")
    assert attached.names() == ["b.pdf"]
    assert attached.remove("")
    assert not attached
    assert not attached.remove("")


class Host(App[None]):
    """Only the line."""

    def __init__(self) -> None:
        super().__init__()
        self.attached, self.transfers = Attachments(), FileTransfers()
        self.line = AttachmentLine(self.attached, self.transfers)

    def compose(self) -> ComposeResult:
        yield self.line


async def test_line_shows_exactly_attachments() -> None:
    app = Host()
    async with app.run_test(size=(100, 10)):
        assert not app.line.display
        app.attached.files.append(FileRef("d", "[a]\x1b.pdf", 100))
        app.attached.reading.append(Path("/x/b.pdf"))
        app.attached.quotes.append(Quote("r", "Garden", (QuotedLine("ann", "hi"),)))
        app.line.show()
        text = str(app.line.render())
        for part in ("▤ [a]␛.pdf 100 bytes", "b.pdf reading…", "❝ Garden 1 message", "/detach"):
            assert part in text
        app.transfers.update(Transfer("d", "a", Direction.UP, 30, 100))
        app.line.show()
        assert "sending 30 %" in str(app.line.render())
        app.attached.remove("")
        app.line.show()
        assert not app.line.display


async def test_it_asks_about_what_was_pasted() -> None:
    app = Host()
    async with app.run_test(size=(100, 10)):
        app.line.offer([(Path("/x/[b].pdf"), 1_200)])
        assert "attach [b].pdf (1.2 kB)?" in str(app.line.render())
        app.line.offer(())
        assert not app.line.display


REPORT = FileRef("d", "a\x1b.pdf", 1_200_000)
NOTES = Quote("r1", "[Garden]", (QuotedLine("carol", "hello\x1b", 1.0),))


def crowd() -> ScriptedJoinedRoom:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    joined.feed(MemberJoined("guest"), by="cleo")
    return joined


def test_it_knows_who_and_whose_agents_are_here() -> None:
    joined = crowd()
    assert others_here(joined.state, "ann") == ["bob", "cleo"]
    assert agents_here(joined.state) == ["ann", "bob"]


def test_what_is_sent_is_listed_with_who_gets_it() -> None:
    text = sending_question("look\x1b", [REPORT], [NOTES], crowd().state, "ann").plain
    for part in (
        "look␛",
        "a␛.pdf (1.2 MB)",
        "[Garden] (1 message)",
        "Every member of this room sees these 2: bob and cleo.",
        "ann's agent and bob's agent get these 2",
    ):
        assert part in text
    assert "“" not in sending_question(" ", [REPORT], [], crowd().state, "ann").plain


def test_a_preview_shows_all_of_it() -> None:
    text = quote_question(NOTES, crowd().state, "ann").plain
    for part in ("[Garden]", "r1", "1 message, 11 characters", "hello␛", "bob and cleo"):
        assert part in text


def test_without_agents_none_is_named() -> None:
    joined = ScriptedJoinedRoom()
    joined.feed(MemberJoined("host"))
    text = sending_question("", [REPORT], [], joined.state, "ann").plain
    assert "agent" not in text
    assert "No other member is here now" in text


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    plain, odd = tmp_path / "plain.txt", tmp_path / "it's an odd (name).txt"
    for path in (plain, odd):
        path.write_text("x")
    return plain, odd


def test_paths_as_terminals_paste_them(files: tuple[Path, Path]) -> None:
    plain, odd = files
    escaped = str(odd).replace("'", "\\'").replace(" ", "\\ ").replace("(", "\\(")
    escaped = escaped.replace(")", "\\)")
    for text in (
        str(odd),
        f'"{odd}"',
        f'"{odd}" ',
        escaped,
        f"{escaped} ",
        odd.as_uri(),
        f"{odd.as_uri()}\r\n",
    ):
        assert may_name_files(text), text
        assert files_named(text) == (odd,), text
    for text in (
        f"{plain} {escaped}",
        f"{plain}\n{odd}\n",
        f"'{plain}' \"{odd}\"",
        f"{plain.as_uri()}\r\n{odd.as_uri()}",
        f"{plain.as_uri()} {odd.as_uri()}",
    ):
        assert files_named(text) == (plain, odd), text


def test_homes_are_found(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files_named("~/plain.txt") == (files[0],)


def test_the_same_file_twice_is_one(files: tuple[Path, Path]) -> None:
    assert files_named(f"{files[0]} {files[0]}") == (files[0],)


@pytest.mark.parametrize(
    "text",
    ["", "/", "hello", "see /etc/passwd", "file://elsewhere/etc/passwd", "~nobody-at-all/x", "/\0"],
)
def test_other_text_names_no_files(text: str) -> None:
    assert files_named(text) == ()


def test_mixed_text_names_no_files(files: tuple[Path, Path]) -> None:
    for more in ("and this", "/no/such/file", str(files[0].parent)):
        assert files_named(f"{files[0]} {more}") == ()
    assert files_named(f"{files[0]} 'open") == ()


def test_only_path_like_text_is_checked() -> None:
    assert may_name_files(" '/tmp/x'")
    for text in ("plain.txt", "so /tmp/x", "", "/", "/" + "x" * LONGEST_PASTE):
        assert not may_name_files(text)
