"""Commands and forms of export that come with plugins."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.genie_core.sessions.sample import ID, saved_room

from genie_core.extensions import BrokenExtension
from genie_tui.cli.main import main
from genie_tui.plugins import command_extension


def test_importer_of_third_party(
    third_party: Callable[[str, str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    third_party(
        "[genie.importers]\nzulip = thirdparty\n",
        "from contextlib import contextmanager\n"
        "from genie_import.importer import Author, History, HistoryMessage\n"
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


def test_format_of_third_party(
    third_party: Callable[[str, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    third_party(
        "[genie.exporters]\ncsv = thirdparty:csv\n",
        "def csv(saved, choices): yield f'{saved.id},1\\n'\n",
    )
    monkeypatch.setenv("GENIE_HOME", str(tmp_path / "home"))
    saved_room(tmp_path / "home/data/sessions")
    for name, arguments in (("a.csv", []), ("b", ["--format", "csv"])):
        path = tmp_path / name
        assert main(["sessions", "export", ID, "-o", str(path), *arguments]) == 0
        assert path.read_text() == f"{ID},1\n"


def test_module_that_is_missing(third_party: Callable[[str, str], None]) -> None:
    third_party("[genie.commands]\nodd = thirdparty:nothing\n", "")
    with pytest.raises(BrokenExtension, match="'odd' of the plugin thirdparty can't be loaded"):
        command_extension("odd")


def test_command_of_third_party(
    third_party: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    third_party(
        "[genie.commands]\nmeasure = thirdparty:add\n",
        "def add(add):\n"
        "    measure = add('measure', 'count the words of a text')\n"
        "    measure.add_argument('text')\n"
        "    measure.set_defaults(command='measure', run=run)\n"
        "def run(call):\n"
        "    call.stdout.write(f'{len(call.options.text.split())} words\\n')\n"
        "    return 0\n",
    )
    assert main(["measure", "to be or not"]) == 0
    assert capsys.readouterr().out == "4 words\n"
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "count the words of a text" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--model", "x:y", "measure", "--texxt", "a"])
    assert "there is no option --texxt (see genie-tui measure --help)" in capsys.readouterr().err


def test_help_lists_commands_of_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = capsys.readouterr().out.partition("examples:")[0]
    for command in ("host", "acp", "admin", "eval", "mcp", "serve", "web"):
        assert f"\n    {command} " in listed


@pytest.mark.parametrize("arguments", [["--version"], ["host", "--help"], ["id"], ["sessions"]])
def test_own_commands_look_up_no_plugin(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(group: str) -> None:
        raise AssertionError(group)

    monkeypatch.setattr("genie_core.extensions.extensions", refuse)
    monkeypatch.setattr("genie_tui.plugins.extensions", refuse)
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    with suppress(SystemExit):
        assert main(arguments) == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["serve"], "'serve' comes with genie-serve: pip install genie-serve"),
        (["admin", "rooms"], "'admin' comes with genie-serve"),
        (["web", "genie1-x"], "'web' comes with genie-serve"),
        (["--name", "bot", "mcp", "genie1-x"], "'mcp' comes with genie-bridges"),
        (["acp", "genie1-x"], "'acp' comes with genie-bridges"),
        (["eval", "R"], "'eval' comes with genie-eval"),
        (["replay", "R", "--reasoner", "x"], "'replay --reasoner' comes with genie-eval"),
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
    for module in ("genie_core.extensions", "genie_tui.plugins"):
        monkeypatch.setattr(f"{module}.extensions", lambda _group: {})
    monkeypatch.setenv("GENIE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "diary.txt").write_text("Dear diary")
    saved_room(tmp_path / "home/data/sessions")
    assert main([each if each != "R" else ID for each in arguments]) == 1
    assert line in capsys.readouterr().err
