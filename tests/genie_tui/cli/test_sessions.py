import io
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.errors import NotTrashed
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import find_locations
from genie_tui.cli.main import main

NOW = 1_795_219_200.0
BODIES: list[tuple[str, AnyBody]] = [
    ("", RoomCreated("r1", "Standup")),
    ("", HostStarted("ann")),
    ("ann", MemberJoined("host")),
    ("bob", MemberJoined("member")),
    ("bob", MessagePosted("1", "where is the invoice?", handler="ann")),
    ("ann", DecisionMade(5, "delegate", query="find it")),
    ("ann", AnswerPosted(5, "In the\nblue folder.")),
    ("bob", MessagePosted("2", "list the files \x1b[2J", handler="ann")),
    ("ann", DecisionMade(8, "delegate", query="list")),
    ("ann", ApprovalRequested(8, "a1", "files", "list_files", {})),
    ("ann", ApprovalResolved(8, "a1", "parked")),
]
EVENTS = [Event(seq, NOW + seq, by, body) for seq, (by, body) in enumerate(BODIES, 1)]


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sessions are."""
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return tmp_path / "data" / "sessions"


@pytest.fixture
def saved(base: Path) -> SavedSession:
    return room(base, "Standup")


def room(base: Path, title: str) -> SavedSession:
    saved = Catalog(base).create(title, NOW, name="ann", host="ann")
    saved.log_path.write_bytes(b"".join(map(encode_line, EVENTS)))
    saved.summarise(saved.reader().state(), NOW + len(EVENTS))
    saved.update(title=title)
    return saved


@pytest.fixture
def trashed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in the place of the system's trash."""
    place = tmp_path / "trash"
    place.mkdir()

    def send(path: Path) -> None:
        path.rename(place / path.name)

    monkeypatch.setattr("send2trash.send2trash", send)
    return place


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What the command prints; of one that fails, the one line on standard error."""
    assert main(["sessions", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out if not code or not captured.err else captured.err


def test_there_may_be_no_sessions(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys) == "there are no sessions yet: genie-tui host\n"
    assert json.loads(told(capsys, "list", "--json")) == []
    assert told(capsys, "check") == "there are no sessions yet\n"
    assert not base.exists()


def test_list_is_default_part(saved: SavedSession, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["list"]):
        line = told(capsys, *arguments).splitlines()[1]
        assert saved.id in line
        assert "1 parked" in line
        assert "bob: list the files [2J" in line
    assert told(capsys, "--tag", "work") == "no session has this tag\n"
    (one,) = json.loads(told(capsys, "--json"))
    assert (one["id"], one["messages"], one["people"]) == (saved.id, 2, 2)


def test_show_prints_last_messages(saved: SavedSession, capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "show", "standup", "--last", "2")
    assert shown.startswith("Standup\n")
    for part in (
        saved.id,
        "hosted here, as ann",
        "ann, bob",
        "2, in 11 events",
        "list_files by genie › files",
    ):
        assert part in shown
    *_, answer, last = shown.splitlines()
    assert answer.endswith("genie: In the blue folder.")
    assert last.endswith("bob: list the files ␛[2J")
    found = json.loads(told(capsys, "show", saved.id, "--json"))
    assert [each["name"] for each in found["members"]] == ["ann", "bob"]
    assert [each["seq"] for each in found["last"]] == [5, 7, 8]
    assert found["waiting"][0]["tool"] == "list_files"


def test_search_rename_and_tag_work(
    saved: SavedSession, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, "search", "invoice")
    assert f"{saved.id}: Standup\n" in found
    assert "bob: where is the »invoice«?" in found
    assert "replay" in found
    (hit,) = json.loads(told(capsys, "search", "blue folder", "--json"))
    assert (hit["session"], hit["seq"], hit["message"]) == (saved.id, 7, 5)
    assert "--at NUMBER" in found
    by_title = told(capsys, "search", "standup")
    assert by_title.splitlines()[-1] == f"to watch one: genie-tui replay {saved.id}"
    assert "nothing is found for 'qqq'" in told(capsys, "search", "qqq", code=1)
    assert "is called 'Weekly meeting' now" in told(capsys, "rename", saved.id, "Weekly", "meeting")
    assert told(capsys, "tag", "weekly meeting", "#work", "soon") == f"{saved.id}: #soon #work\n"
    assert told(capsys, "tag", saved.id, "soon", "--remove") == f"{saved.id}: #work\n"
    assert told(capsys, "tag", saved.id) == f"{saved.id}: #work\n"
    record = SavedSession.load(saved.folder).metadata
    assert (record.title, record.tags) == ("Weekly meeting", ("work",))


def test_tags_are_added_and_removed(
    saved: SavedSession, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "tag", saved.id, "a", "b", "c")
    assert told(capsys, "tag", saved.id, "--remove", "a") == f"{saved.id}: #b #c\n"
    assert told(capsys, "tag", saved.id, "d", "--remove", "b", "c") == f"{saved.id}: #d\n"
    assert told(capsys, "tag", saved.id, "d", "--remove") == f"{saved.id}: no tags\n"


def test_a_room_of_ones_own_keeps_a_title(
    saved: SavedSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "needs a title" in told(capsys, "rename", saved.id, " \x1b ", code=1)
    assert SavedSession.load(saved.folder).metadata.title == "Standup"
    saved.update(kind="joined", alias="Mine")
    assert "is called 'Standup' now" in told(capsys, "rename", saved.id, "")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("", "name a word"),
        ('"', "name a word"),
        ("qqq", "a part of a word"),
        ("form:ann", "form: is no field; there are from:, in:"),
        ("qqq zzz", "fewer words"),
    ],
)
def test_a_search_in_vain_says_what_finds_more(
    saved: SavedSession, capsys: pytest.CaptureFixture[str], text: str, advice: str
) -> None:
    assert advice in told(capsys, "search", text, code=1)


def test_error_points_to_command_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sessions", "fork", "x", "--at", "y"])
    assert "(see genie-tui sessions fork --help)" in capsys.readouterr().err


def test_open_session_refuses_title_only(
    saved: SavedSession, capsys: pytest.CaptureFixture[str]
) -> None:
    with saved.held("ann"):
        assert "is open in process" in told(capsys, "rename", saved.id, "Other", code=1)
        assert told(capsys, "tag", saved.id, "work") == f"{saved.id}: #work\n"
        assert "not checked, it is open" in told(capsys, "check")
        assert "open by ann" in told(capsys)
        assert f"open in   process {os.getpid()} of ann" in told(capsys, "show", saved.id)
        assert json.loads(told(capsys, "show", saved.id, "--json"))["holder"]["name"] == "ann"
    assert json.loads(told(capsys, "show", saved.id, "--json"))["holder"] is None


def test_a_session_is_forked(saved: SavedSession, capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "fork", saved.id, "--at", "7")
    fork = out.split()[0]
    assert f"{fork} begins like {saved.id}, up to event 7\n" in out
    assert "agents remember stays" in out
    assert "In the blue folder" in told(capsys, "show", fork)
    assert "has no event 12; its last one is 11" in told(
        capsys, "fork", saved.id, "--at", "12", code=1
    )


def test_damage_is_reported_and_repaired(
    saved: SavedSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "check") == f"{saved.id}: in order, 11 events\n"
    with saved.log_path.open("ab") as log:
        log.write(b"torn")
    out = told(capsys, "check", code=1)
    assert f"{saved.id}: 1 problem, 11 events\n" in out
    assert "unfinished" in out
    assert "1 of 1 session has problems; to repair what can be repaired" in out
    out = told(capsys, "check", saved.id, "--repair")
    assert "repaired: events.jsonl was repaired (events kept: 11, lost: 0); the original is" in out
    assert told(capsys, "check") == f"{saved.id}: in order, 11 events\n"


def test_what_cannot_be_repaired_is_reported(
    saved: SavedSession, capsys: pytest.CaptureFixture[str]
) -> None:
    (saved.folder / "room.json").write_text("{")
    assert "genie-tui sessions check" in told(capsys, "show", saved.id, code=1)
    assert "sessions check" not in told(capsys, "check", code=1).splitlines()[1]
    saved.log_path.write_bytes(b"")
    (saved.folder / "room.json").write_text("{")
    out = told(capsys, "check", "--repair", code=1)
    assert "still: " in out
    assert out.endswith("1 of 1 session has problems that can't be repaired\n")


def test_sessions_are_moved_to_the_trash(
    base: Path, trashed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = room(base, "One"), room(base, "Other")
    bad = room(base, "Bad")
    (bad.folder / "room.json").write_text("{")
    out = told(capsys, "delete", "one", one.id, bad.id, "--yes")
    assert out.splitlines() == [
        f"{one.id}: One",
        f"{bad.id}: {bad.id}",
        f"{one.id} is in the trash",
        f"{bad.id} is in the trash",
    ]
    assert {path.name for path in trashed.iterdir()} == {one.id, bad.id}
    assert [path.name for path in base.iterdir()] == [other.id]


@pytest.mark.parametrize("way", ["delete", "prune"])
def test_deletion_clears_search_index(
    saved: SavedSession,
    trashed: Path,
    capsys: pytest.CaptureFixture[str],
    way: str,
) -> None:
    assert "folder" in told(capsys, "search", "blue folder")
    files = find_locations(os.environ).search.parent
    assert b"folder" in b"".join(each.read_bytes() for each in files.iterdir())
    if way == "prune":
        old = [Event(each.seq, float(each.seq), each.by, each.body) for each in EVENTS]
        saved.log_path.write_bytes(b"".join(map(encode_line, old)))
        saved.update(last_activity=1.0)
        told(capsys, "prune", "--yes", "--set", "retention.max_age_days=1")
    else:
        told(capsys, "delete", saved.id, "--yes")
    assert len(list(trashed.iterdir())) == 1
    assert b"folder" not in b"".join(each.read_bytes() for each in files.iterdir())


def test_nothing_is_deleted_unasked(
    saved: SavedSession, trashed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", "delete", saved.id]) == 1
    captured = capsys.readouterr()
    assert "add --yes" in captured.err
    assert saved.id in captured.out
    with saved.held():
        assert "is open in" in told(capsys, "delete", saved.id, "--yes", code=1)
        assert "is open in" in told(capsys, "delete", saved.id, code=1)  # and nobody is asked
    assert list(trashed.iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "gone"), [("n", False), ("", False), ("yes", True), ("Y", True)]
)
def test_the_person_is_asked(saved: SavedSession, answer: str, gone: bool, tmp_path: Path) -> None:
    code = (
        "import sys, send2trash; from pathlib import Path\n"
        "send2trash.send2trash = lambda path: Path(path).rename(sys.argv[1])\n"
        "from genie_tui.cli.main import main\n"
        "sys.exit(main(['sessions', 'delete', sys.argv[2]]))\n"
    )
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "gone"), saved.id],
        capture_output=True,
        text=True,
        stdin=theirs,
        timeout=scaled(60),
        check=False,
        env={**os.environ, "GENIE_HOME": str(tmp_path)},
    )
    os.close(ours)
    os.close(theirs)
    assert "move this to the trash? [y/N]" in done.stdout
    assert (done.returncode == 0) is gone
    assert saved.folder.exists() is not gone
    assert ("nothing has changed" in done.stderr) is not gone


def test_without_a_trash_the_rest_is_told(
    saved: SavedSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("send2trash.send2trash", refuse)
    assert str(NotTrashed(saved.folder, "Permission denied")) in told(
        capsys, "delete", saved.id, "--yes", code=1
    )
    assert saved.folder.exists()


def test_what_is_past_a_limit_is_shown_first(
    base: Path, trashed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = room(base, "Old"), room(base, "New")
    then = time.time() - 1.5 * 86_400
    for path in (old.log_path, new.log_path):
        os.utime(path, (then, then))
    old.update(last_activity=then)
    new.update(last_activity=4e9)  # the clock was set back since
    assert "there is no limit" in told(capsys, "prune")
    limit = ["--set", "retention.max_age_days=1"]
    with_past = told(capsys, *limit).splitlines()
    assert "past limit" in with_past[2]
    assert with_past[-1] == "1 session is past your limit: genie-tui sessions prune"
    assert "add --yes" in told(capsys, "prune", *limit, code=1)
    out = told(capsys, "prune", "--yes", *limit)
    assert out.splitlines() == [
        f"{old.id}: Old, no activity for 1 day",
        f"{old.id} is in the trash",
    ]
    assert told(capsys, "prune", *limit) == "no session is past your limit\n"


def test_an_unknown_session_has_neighbours(
    saved: SavedSession, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in (
        ["show", "standap"],
        ["delete", "standap"],
        ["check", "standap"],
        ["fork", "stand"],
    ):
        assert f"did you mean {saved.id}?" in told(capsys, *part, code=1)


def test_a_session_is_exported_and_imported(
    saved: SavedSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.jsonl"
    told(capsys, "export", saved.id, "-o", str(file))
    log = saved.log_path.read_bytes()
    saved.folder.rename(tmp_path / "away")
    told(capsys, "import", str(file))
    (listing,) = Catalog(saved.folder.parent).all()
    assert Catalog(saved.folder.parent).find(listing.id).log_path.read_bytes() == log


@pytest.mark.parametrize("part", [["list"], ["show", "Standup"], ["check"], ["search", "invoice"]])
def test_looking_at_sessions_loads_no_engine(
    saved: SavedSession, part: list[str], tmp_path: Path
) -> None:
    code = (
        "import sys\n"
        "from genie_tui.cli.main import main\n"
        "code = main(['sessions', *sys.argv[1:]])\n"
        "heavy = {'pydantic_ai', 'openai', 'agents', 'group_sense', 'genie_core.session'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *part],
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
        env={**os.environ, "GENIE_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr


def test_salvage_merges_copies(
    saved: SavedSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = saved.log_path.read_bytes()
    lines = whole.splitlines(keepends=True)
    copy = tmp_path / "of bob"
    copy.write_bytes(b"".join(lines[3:5]))
    saved.log_path.write_bytes(b"".join([*lines[:3], b"{}\n", *lines[6:]]))
    assert main(["sessions", "salvage", str(copy), "--into", saved.id]) == 0
    out = capsys.readouterr().out
    assert f"{saved.id} has 10 events again\n" in out
    assert f"  2 events from {copy}\n" in out
    assert "  missing: 1 event: 6\n" in out
    assert "events.jsonl.damaged-1" in {each.name for each in saved.folder.iterdir()}


def test_a_session_is_a_source_for_a_new_one(
    saved: SavedSession, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved.folder.joinpath("room.json").unlink()
    assert main(["--name", "ann", "sessions", "salvage", saved.id]) == 0
    assert "r1 has 11 events again" in capsys.readouterr().out
    assert Catalog(base).find("r1").log_path.read_bytes() == saved.log_path.read_bytes()
    assert main(["sessions", "salvage", "nowhere"]) == 1
    assert "there is no saved room 'nowhere'" in capsys.readouterr().err
