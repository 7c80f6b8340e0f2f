"""`genie-tui verify`, as it is typed."""

import io
import json
import shutil
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.genie_core.room.founded import founded
from tests.genie_core.sessions.test_verify import saved

from genie_core.errors import GenieError
from genie_core.room.protocol.events import MessagePosted
from genie_core.room.security.identity import words
from genie_core.sessions.export.writer import write_export
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import Locations
from genie_tui.cli.commands import parser
from genie_tui.cli.verify import run_verify


class Shell:
    def __init__(self, folder: Path) -> None:
        self.locations = Locations(folder / "config", folder / "data", folder / "log")
        self.out = ""

    def verify(self, *arguments: str) -> int:
        options = parser().parse_args(["verify", *arguments])
        out = io.StringIO()
        code = run_verify(options, self.locations, out)
        self.out = out.getvalue()
        return code


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path / "home")


@pytest.fixture
def good(shell: Shell) -> SavedSession:
    log = founded("bob", listed=False)
    log.says("bob")
    return saved(shell.locations.sessions, log.events)


@pytest.fixture
def bad(shell: Shell) -> SavedSession:
    """A session in which the host changed what bob wrote."""
    log = founded("bob", listed=False)
    said = log.next("bob", MessagePosted("m", "I owe 100", "bob"))
    log.take(replace(said, body=MessagePosted("m", "I owe 900\x1b[2J", "bob")))
    return saved(shell.locations.sessions, log.events)


@pytest.mark.parametrize("ending", ["jsonl", "zip", ""])
def test_a_session_and_its_exports_are_proven(
    shell: Shell, good: SavedSession, ending: str, tmp_path: Path
) -> None:
    if ending:
        write_export(good, Path(f"room.{ending}"))
        shutil.rmtree(good.folder)
    assert shell.verify(f"room.{ending}" if ending else good.id) == 0
    *keys, summary = shell.out.splitlines()
    assert summary == "'Team': 5 entries, 5 signed by ann, bob; all proven"
    with good.reader() as log:
        known = log.state().keys
    for line, name in zip(keys, known, strict=False):
        assert line.endswith(f"signed by {name}, {words(known[name])}")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_is_not_proven_is_told_line_by_line(shell: Shell, bad: SavedSession) -> None:
    assert shell.verify(bad.id) == 1
    first, *_, summary = shell.out.splitlines()
    assert first.startswith("entry 5 (said) by bob, 1970-01-01")
    assert first.endswith("not proven: it is not signed by its author")
    assert summary == "'Team': 5 entries, 4 signed by ann, bob; 1 not proven"


def test_programs_get_json(shell: Shell, bad: SavedSession) -> None:
    assert shell.verify(bad.id, "--json") == 1
    told = json.loads(shell.out)
    assert (told["entries"], told["signed"], told["proven"]) == (5, 4, False)
    assert {each["name"] for each in told["signers"]} == {"ann", "bob"}
    assert told["unproven"][0]["seq"] == 5
    assert "\x1b" not in shell.out


@pytest.mark.parametrize("what", ["none.zip", "./none", "unknown-session"])
def test_what_is_not_there_is_a_clear_error(shell: Shell, what: str) -> None:
    with pytest.raises(GenieError):
        shell.verify(what)


def test_an_export_that_was_changed_is_refused(shell: Shell, good: SavedSession) -> None:
    write_export(good, Path("room.jsonl"))
    changed = Path("room.jsonl").read_bytes().replace(b"hello", b"HELLO")
    Path("room.jsonl").write_bytes(changed)
    with pytest.raises(GenieError, match="it was changed after it was exported"):
        shell.verify("room.jsonl")


def test_a_page_is_no_export_to_verify(shell: Shell, good: SavedSession) -> None:
    write_export(good, Path("room.html"))
    with pytest.raises(GenieError, match="no session that was exported"):
        shell.verify("room.html")
