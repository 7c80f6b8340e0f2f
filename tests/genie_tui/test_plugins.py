"""Commands and forms of export that come with plugins."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.genie_core.sessions.sample import ID, saved_room

from genie_core.extensions import BrokenExtension
from genie_tui.cli.main import main
from genie_tui.plugins import command_extension


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Install a distribution of a third party: its entry points and its only module."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def installed(entry_points: str, code: str) -> None:
        info = tmp_path / "thirdparty-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thirdparty\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        (tmp_path / "thirdparty.py").write_text(code)
        monkeypatch.delitem(sys.modules, "thirdparty", raising=False)

    return installed


def test_importer_of_third_party(
    install: Callable[[str, str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(
        "[genie.importers]\nzulip = thirdparty\n",
        "from contextlib import contextmanager\n"
        "from genie_import.history import Author, History, HistoryMessage\n"
        "def knows(path): return path.suffix == '.zulip'\n"
        "@contextmanager\n"
        "def opened(path, name):\n"
        "    said = HistoryMessage(Author('1', 'zoe'), path.read_text(), 1_700_000_000.0)\n"
        "    yield iter([History('zulip', '1', 'Stream', [said])])\n",
    )
    monkeypatch.setenv("GENIE_HOME", str(tmp_path / "home"))
    (tmp_path / "export.zulip").write_text("hello from Zulip")
    assert main(["sessions", "import", str(tmp_path / "export.zulip")]) == 0
    assert "'Stream' is here now" in capsys.readouterr().out
    assert main(["sessions", "search", "hello"]) == 0
    assert "zoe: »hello« from Zulip" in capsys.readouterr().out


def test_module_that_is_missing(install: Callable[[str, str], None]) -> None:
    install("[genie.commands]\nodd = thirdparty:nothing\n", "")
    with pytest.raises(BrokenExtension, match="'odd' of the plugin thirdparty can't be loaded"):
        command_extension("odd")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["sessions", "import", "diary.txt"], "'sessions import' comes with genie-import"),
        (["sessions", "export", "R", "-o", "a.cast"], "'cast' comes with genie-record"),
    ],
)
def test_plugin_to_install_is_named(
    arguments: list[str],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("genie_core.extensions.extensions", lambda _group: {})
    monkeypatch.setenv("GENIE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "diary.txt").write_text("Dear diary")
    saved_room(tmp_path / "home/data/sessions")
    assert main([each if each != "R" else ID for each in arguments]) == 1
    assert line in capsys.readouterr().err
