"""`genie-tui sessions export` and `import`, as they are typed."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.genie_core.sessions.sample import ID, log_bytes, saved_room
from tests.limits import scaled

from genie_core.errors import GenieError
from genie_core.sessions.errors import AlreadySaved, UnknownSession
from genie_core.sessions.export.formats import InTheWay, NoForm, UnknownFormat
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_tui.cli.commands import parse
from genie_tui.cli.export import NotAFolder, export_sessions, import_session


class Shell:
    """Runs the commands in this process, on files of its own."""

    def __init__(self, folder: Path) -> None:
        self.locations = Locations(folder / "config", folder / "data", folder / "log")
        self.locations.sessions.mkdir(parents=True)
        self.out = ""

    def run(self, *arguments: str) -> int:
        options = parse(["sessions", *arguments])
        out = io.StringIO()
        if options.part == "export":
            code = export_sessions(options, self.locations, out)
        else:
            code = import_session(options, Settings(name="ann"), self.locations, out)
        self.out = out.getvalue()
        return code


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    shell = Shell(tmp_path / "home")
    saved_room(shell.locations.sessions)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return shell


@pytest.mark.parametrize(
    ("arguments", "name", "start"),
    [
        ((), f"{ID}.md", "# Standup"),
        (("--format", "html"), f"{ID}.html", "<!doctype html>"),
        (("--format", "jsonl"), f"{ID}.jsonl", '{"genie-session":1'),
        (("--format", "jsonl", "--attachments"), f"{ID}.zip", "PK"),
        (("--output", "room.cast"), "room.cast", '{"version": 2'),
        (("-o", "room.zip"), "room.zip", "PK"),
        (("-o", "room.txt"), "room.txt", "# Standup"),
        (("-o", "room.txt", "--format", "html"), "room.txt", "<!doctype html>"),
        (("-o", "."), f"{ID}.md", "# Standup"),
    ],
)
def test_form_and_name_follow_from_each_other(
    shell: Shell, arguments: tuple[str, ...], name: str, start: str
) -> None:
    assert shell.run("export", ID[:12], *arguments) == 0
    assert Path(name).read_bytes().startswith(start.encode())
    assert shell.out == f"{ID} is written to {Path(name).absolute()}\n"


def test_a_name_that_says_no_form_is_refused(shell: Shell) -> None:
    with pytest.raises(NoForm, match=r"room\.pdf.*\.html"):
        shell.run("export", ID, "-o", "room.pdf")
    assert list(Path().iterdir()) == []
    assert shell.run("export", ID, "-o", "room.pdf", "--format", "html") == 0


def test_unknown_format_names_known_ones(shell: Shell) -> None:
    with pytest.raises(UnknownFormat, match=r"no export format 'pdf'.*markdown, html, jsonl, cast"):
        shell.run("export", ID, "--format", "pdf")
    assert list(Path().iterdir()) == []


def test_a_session_can_be_printed_and_read_again(shell: Shell, tmp_path: Path) -> None:
    shell.run("export", ID, "--format", "jsonl", "-o", "-")
    assert json.loads(shell.out.split("\n", 1)[0])["record"]["id"] == ID
    Path("room.jsonl").write_text(shell.out)
    elsewhere = Shell(tmp_path / "elsewhere")
    assert elsewhere.run("import", "room.jsonl") == 0
    assert elsewhere.out == f"'Standup' is here now: {ID}\n"
    log = elsewhere.locations.sessions / ID / "events.jsonl"
    assert log.read_bytes() == log_bytes()


def test_notes_go_to_stderr(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run("export", ID, "-o", "room.jsonl")
    Shell(tmp_path / "elsewhere").run("import", "room.jsonl")
    assert capsys.readouterr().err == "note: 1 attached file does not come along\n"


def test_nothing_is_replaced_or_doubled(shell: Shell) -> None:
    shell.run("export", ID, "-o", "room.jsonl")
    with pytest.raises(InTheWay):
        shell.run("export", ID, "-o", "room.jsonl")
    shell.run("export", ID, "-o", "room.jsonl", "--force")
    with pytest.raises(AlreadySaved):
        shell.run("import", "room.jsonl")
    shell.run("import", "room.jsonl", "--as-copy")
    assert len(list(shell.locations.sessions.iterdir())) == 2


def test_unknown_session_is_refused(shell: Shell) -> None:
    with pytest.raises(UnknownSession, match=ID):
        shell.run("export", "2026-11-21-standup-3fk8")


@pytest.mark.parametrize("name", ["a\0b", "~nobody-of-that-name/x.md", "x" * 300, "none/x.md"])
def test_unusable_file_name_is_refused(shell: Shell, name: str) -> None:
    for arguments in (("export", ID, "-o", name), ("import", name)):
        with pytest.raises(GenieError) as refusal:
            shell.run(*arguments)
        assert "\n" not in str(refusal.value)


def test_several_sessions_go_into_a_folder(shell: Shell) -> None:
    saved_room(shell.locations.sessions, kind="joined", name="bob")
    Path("out").mkdir()
    shell.run("export", ID, f"{ID}@bob", "-o", "out", "--format", "html")
    names = {path.name for path in Path("out").iterdir()}
    assert names == {f"{ID}.html", f"{ID}@bob.html"}
    for output in ("room.html", "-", "none"):
        with pytest.raises(NotAFolder, match="no folder that is there"):
            shell.run("export", ID, f"{ID}@bob", "-o", output)
    with pytest.raises(UnknownSession):
        shell.run("export", ID, "unknown", "-o", "out", "--force")


def test_range_and_redaction_are_applied(shell: Shell) -> None:
    Path("hide.txt").write_text("thanks\n")
    options = ("--from", "9", "--messages-only", "--pseudonyms", "--redact", "hide.txt")
    shell.run("export", ID, "-o", "room.md", *options)
    text = Path("room.md").read_text()
    assert text.endswith("> ▇▇▇!\n")
    assert "**Person 1**" in text
    assert "see the file" not in text
    assert "ann" not in text
    shell.run("export", ID, "-o", "calls.md", "--to", "7", "--no-arguments")
    assert "asks for calculate" in Path("calls.md").read_text()


def test_invalid_choice_is_refused(shell: Shell) -> None:
    for arguments in (
        ("--from", "soon"),
        ("--redact", "none.txt"),
        ("--format", "jsonl", "--to", "3"),
    ):
        with pytest.raises(GenieError) as refusal:
            shell.run("export", ID, *arguments)
        assert "\n" not in str(refusal.value)
    assert list(Path().iterdir()) == []


def test_exporting_and_importing_load_no_engine(shell: Shell) -> None:
    """What only reads and writes needs neither models nor the app."""
    shell.run("export", ID, "-o", "room.zip")
    code = (
        "import io, sys; from pathlib import Path; from tests.genie_tui.cli.test_export import Shell;"
        "shell = Shell(Path('other')); shell.run('import', 'room.zip');"
        f"[shell.run('export', '{ID}', '--format', f) for f in ('markdown', 'html', 'jsonl', 'cast')];"
        "print(*sys.modules)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=scaled(120),
        check=True,
        env={"PYTHONPATH": str(root), "PATH": ""},
    )
    loaded = set(done.stdout.split())
    assert "genie_record.asciicast" in loaded
    assert not loaded & {"pydantic_ai", "openai", "agents", "genie_core.session", "genie_tui.app"}


def test_documented_options_are_parsed() -> None:
    line = (
        f"sessions export {ID} --from 2 --to 9 --messages-only --no-arguments --pseudonyms "
        "--redact words.txt -o a.html"
    )
    options = parse(line.split())
    assert (options.first, options.last, options.redact) == ("2", "9", "words.txt")
    assert (options.messages_only, options.no_arguments, options.pseudonyms) == (True,) * 3
