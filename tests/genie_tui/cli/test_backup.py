"""`genie-tui backup` and `restore`."""

import io
from pathlib import Path

import pytest
from tests.genie_core.sessions.recorded import Recorded

from genie_core.backup.errors import NotRestorable, WeakPassphrase, WrongPassphrase
from genie_core.room.open.identities import identity_of_person
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_tui.cli.backup import READABLE, PassphrasesDiffer, run_backup, run_restore
from genie_tui.cli.commands import parse
from genie_tui.plugins import CommandCall

pytestmark = pytest.mark.usefixtures("_no_keyring")


@pytest.fixture
def _no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setattr("genie_core.backup.format._WORK", 2**4)


class Terminal(io.StringIO):
    """A standard input at which a person sits."""

    def isatty(self) -> bool:
        return True


class Shell:
    """Runs the commands in this process."""

    def __init__(self) -> None:
        self.out = self.problems = ""

    def run(self, locations: Locations, *arguments: str, given: io.StringIO | None = None) -> int:
        options = parse(list(arguments))
        run = run_backup if options.command == "backup" else run_restore
        out, problems = io.StringIO(), io.StringIO()
        given = given or io.StringIO("correct horse battery\n")
        try:
            source = SettingsSource(locations.settings_file, {"GENIE_NAME": "ann"})
            return run(CommandCall(options, source, locations, {}, given, out, problems))
        finally:
            self.out, self.problems = out.getvalue(), problems.getvalue()


def test_a_backup_is_restored_elsewhere(tmp_path: Path) -> None:
    shell, here = Shell(), Recorded(tmp_path)
    saved = here.said("Garden", "the roses need water")
    key = identity_of_person("ann", here.locations).key
    file = str(tmp_path / "b.zip")
    assert shell.run(here.locations, "backup", file) == 0
    assert "has 1 session, 1 key, 0 secrets, your settings" in shell.out
    assert READABLE in shell.out
    there = Locations(tmp_path / "t/config", tmp_path / "t/data", tmp_path / "t/log")
    assert shell.run(there, "restore", file) == 0
    assert f"restored: sessions/{saved.id}\n" in shell.out
    assert identity_of_person("ann", there).key == key
    assert shell.run(there, "restore", file) == 0
    assert f"kept: sessions/{saved.id} is here already and stays as it is" in shell.out
    assert "--replace" in shell.out
    assert shell.run(there, "restore", file, "--replace") == 0
    assert f"the one that was here is {saved.id}~1 now" in shell.out
    twice = io.StringIO("correct horse battery\ncorrect horse battery\n")
    assert shell.run(there, "restore", file, given=twice) == 0
    with pytest.raises(WrongPassphrase):
        shell.run(there, "restore", file, given=io.StringIO("not this one\n"))


def test_what_cant_be_is_said(tmp_path: Path) -> None:
    shell, here = Shell(), Recorded(tmp_path).locations
    with pytest.raises(WeakPassphrase):
        shell.run(here, "backup", str(tmp_path / "b.zip"), given=io.StringIO("\n"))
    with pytest.raises(NotRestorable, match="No such file"):
        shell.run(here, "restore", str(tmp_path / "none.zip"))
    (tmp_path / "x").write_text("no backup")
    with pytest.raises(NotRestorable, match="no backup"):
        shell.run(here, "restore", str(tmp_path / "x"))


def test_a_person_types_the_passphrase_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, here = Shell(), Recorded(tmp_path).locations
    answers = ["correct horse", "incorrect horse", "correct horse", "correct horse"]
    monkeypatch.setattr("getpass.getpass", lambda _: answers.pop(0))
    file = str(tmp_path / "b.zip")
    with pytest.raises(PassphrasesDiffer):
        shell.run(here, "backup", file, given=Terminal())
    assert not Path(file).exists()
    assert shell.run(here, "backup", file, given=Terminal()) == 0
