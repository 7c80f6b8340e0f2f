"""`genie-tui sessions import` with conversations of other programs, as it is typed."""

import json
import re
from pathlib import Path

import pytest
from tests.genie_tui.cli.test_export import Shell

from genie_core.sessions.errors import NotImportable


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home")


IMPORTS = Path(__file__).parents[1] / "data"


def test_import_reports_rooms_and_leftovers(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run("import", str(IMPORTS / "slack")) == 0
    assert "'#garden' is here now: " in shell.out
    assert "(6 messages)" in shell.out
    told = capsys.readouterr().err
    assert "note: left out of '#garden': " in told
    assert "1 × notice, such as who joined" in told
    (left,) = re.findall(r"their words are in (\S+)", told)
    assert "has joined the channel" in Path(left).read_text()
    assert shell.run("import", str(IMPORTS / "slack")) == 0
    assert "'#garden' was imported before" in capsys.readouterr().err
    assert shell.run("import", str(IMPORTS / "chatgpt"), "--as-copy") == 0
    assert "(2 messages, 2 answers)" in shell.out


def test_grown_conversation_and_entries_beside(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes: dict[str, object] = {}
    for number, text in enumerate(("one", "two", "three")):
        said = {"author": {"role": "user"}, "content": {"parts": [text]}, "id": str(number)}
        nodes[str(number)] = {"message": said, "parent": str(number - 1)}
        export = [{"id": "c", "title": "Soup", "mapping": nodes}, {"odd": "\x1b[2Jwords"}]
        (tmp_path / "conversations.json").write_text(json.dumps(export))
        assert shell.run("import", str(tmp_path / "conversations.json")) == 0
        what = "was here and has more" if number else "is here"
        assert f"'Soup' {what} now: " in shell.out
    told = capsys.readouterr().err
    assert told.count("note: left out: 1 × entry that can't be understood: ") == 3
    assert "words" in told
    assert "\x1b" not in told


def test_non_conversation_is_refused(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("Dear diary")
    with pytest.raises(NotImportable, match="neither an exported session nor an export of"):
        shell.run("import", str(tmp_path / "diary.txt"))
    (tmp_path / "empty.json").write_text("[]")
    with pytest.raises(NotImportable, match="no conversation with a message"):
        shell.run("import", str(tmp_path / "empty.json"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotImportable, match="neither"):
        shell.run("import", str(tmp_path / "folder"))
