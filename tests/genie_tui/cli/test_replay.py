import argparse
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.genie_core.sessions.replay.recorded import a_day, save
from tests.genie_tui.widgets.room_log import RoomLog
from tests.limits import scaled

from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import find_locations
from genie_tui.cli.main import main
from genie_tui.cli.replay import paced, write_raw

VENDORS = (
    "genie_core.session",
    "genie_core.agent",
    "pydantic_ai",
    "group_sense",
    "openai",
    "agents",
)


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    return find_locations({"GENIE_HOME": str(tmp_path)}).sessions


@pytest.fixture
def saved(sessions: Path) -> SavedSession:
    return save(sessions, a_day().events)


def run(home: Path, code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=scaled(60),
        check=False,
        env={"PATH": "/usr/bin:/bin", "GENIE_HOME": str(home), "TERM": "xterm"},
    )


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["replay", *arguments]) == 0
    return capsys.readouterr().out


def test_a_room_is_written_as_text(saved: SavedSession, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, saved.id[:12], "--print")
    told = ["where are the seeds?", "in the shed", "a greeting", "delete_file", "the model is away"]
    places = [text.index(each) for each in told]
    assert places == sorted(places)


def test_without_a_name_it_is_the_latest(
    saved: SavedSession, sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    later = RoomLog()
    later.say("ann", "much later", after=0)
    newer = save(sessions, later.events, "Newer")
    newer.update(last_activity=saved.metadata.last_activity + 4_000_000_000)
    assert "much later" in printed(capsys, "--print")


def test_a_part_of_it(saved: SavedSession, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, saved.id, "--print", "--from", "7", "--to", "9")
    assert "in the shed" in text
    assert "a greeting" in text
    assert "where are the seeds?" not in text.splitlines()[0]
    assert "tidy" not in text


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--from", "99", "--print"), "has no event 99; its last one is"),
        (("--from", "9", "--to", "7", "--json"), "nothing is from event 9 to 7"),
        (
            ("--from", "9", "--to", "7", "--reasoner", "mention_only"),
            "nothing is from event 9 to 7",
        ),
        (("--from", "7"), "--at begins at an event"),
        (("--at", "7", "--print"), "--from and --to tell a part"),
        (("--at", "7", "--reasoner", "mention_only"), "--from and --to tell a part"),
        (("--to", "7"), "go with --print or --json"),
        ((), "--print writes it as text"),
    ],
)
def test_nothing_to_show_is_refused(
    saved: SavedSession, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], why: str
) -> None:
    assert main(["replay", saved.id, *options]) == 1
    assert why in capsys.readouterr().err


def test_the_events_come_as_they_are_in_the_log(
    saved: SavedSession, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["replay", saved.id, "--json"]) == 0
    assert capfdbinary.readouterr().out == saved.log_path.read_bytes()
    assert main(["replay", saved.id, "--json", "--from", "3", "--to", "5"]) == 0
    part = capfdbinary.readouterr().out
    assert part.splitlines() == saved.log_path.read_bytes().splitlines()[2:5]


def test_raw_keeps_unknown_skips_damage(saved: SavedSession) -> None:
    whole = saved.log_path.read_bytes().splitlines(keepends=True)
    strange = b'{"seq":18,"at":1.0,"by":"","body":{"type":"danced"},"crc":"00000000"}\n'
    saved.log_path.write_bytes(
        b"".join([*whole[:4], b"\x00\xffjunk\n", *whole[4:], strange, b'{"se'])
    )
    out, problems = io.BytesIO(), io.StringIO()
    assert write_raw(saved.folder, 1, None, out, problems) == 0
    assert out.getvalue() == b"".join([*whole, strange])
    assert [json.loads(line)["seq"] for line in out.getvalue().splitlines()] == list(range(1, 19))
    assert [line.split()[2] for line in problems.getvalue().splitlines()] == ["5", "20"]


class Terminal(io.BytesIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


def test_raw_events_command_no_terminal(saved: SavedSession) -> None:
    strange = '{"seq":18,"at":1.0,"by":"a\x9b\u202eb","body":{"type":"danced"},"crc":"00000000"}\n'
    with saved.log_path.open("ab") as log:
        log.write(strange.encode())
    shown, piped = Terminal(), io.BytesIO()
    for out in (shown, piped):
        assert write_raw(saved.folder, 18, None, out, io.StringIO()) == 0
    assert piped.getvalue() == strange.encode()
    assert shown.getvalue().rstrip().decode().isprintable()
    assert json.loads(shown.getvalue()) == json.loads(strange)


def test_an_empty_room_has_nothing_to_write(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = save(sessions, [])
    assert printed(capsys, saved.id, "--print") == ""
    saved.log_path.unlink()
    assert printed(capsys, saved.id, "--json") == ""


def test_pacing_shortens_long_pauses() -> None:
    told = [(0.0, "a"), (1.0, "b"), (90_000.0, "c"), (5.0, "d"), (6.0, "e")]
    waits: list[float] = []
    assert list(paced(told, 2.0, waits.append)) == ["a", "b", "c", "d", "e"]
    assert waits == [0.5, 1.0, 0.5]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nothing-like-it", "--print"], "nothing-like-it"),
        (["--speed", "0", "--print"], "speed"),
        (["--speed", "nan", "--print"], "speed"),
        (["--from", "0", "--print"], "counted from 1"),
        (["--at", "x"], "counted from 1"),
        (["--print", "--json"], "not allowed"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    saved: SavedSession, capsys: pytest.CaptureFixture[str], arguments: Sequence[str], part: str
) -> None:
    try:
        code = main(["replay", *arguments])
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code in (1, 2)
    error = capsys.readouterr().err
    assert part in error
    assert error.startswith("genie-tui: ")
    assert len(error.splitlines()) == 1


def test_without_any_room_it_says_so(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay"]) == 1
    assert "no saved room" in capsys.readouterr().err


def test_a_reader_that_has_enough_is_no_error(saved: SavedSession, tmp_path: Path) -> None:
    code = "import sys\nfrom genie_tui.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "replay", saved.id, "--print", "--speed", "1000"]
    environment = {"PATH": "/usr/bin:/bin", "GENIE_HOME": str(tmp_path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        assert started.stderr.read() == b""
        assert started.wait(60) == 141


@pytest.mark.parametrize("way", ["--print", "--json"])
def test_writing_loads_no_engine(saved: SavedSession, tmp_path: Path, way: str) -> None:
    code = (
        "import sys\n"
        "from genie_tui.cli.main import main\n"
        "assert main(['replay', *sys.argv[1:]]) == 0\n"
        f"loaded = set({VENDORS}) & set(sys.modules)\n"
        "sys.exit(' '.join(sorted(loaded)) or 0)\n"
    )
    done = run(tmp_path, code, saved.id, way)
    assert done.returncode == 0, done.stderr
    assert "seeds" in done.stdout


def test_watching_loads_no_engine(saved: SavedSession, tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from genie_tui.app import GenieApp\n"
        "from genie_core.room.open.service import RoomService\n"
        "from genie_core.settings.locations import find_locations\n"
        "from genie_core.room.open.requests import ReplayRoom\n"
        "from genie_core.settings.model import Settings\n"
        "from genie_tui.widgets.activity.activity_list import ActivityList\n"
        f"places = find_locations({{'GENIE_HOME': {str(tmp_path)!r}}})\n"
        "app = GenieApp(RoomService('ann', Settings(), places), ReplayRoom(sys.argv[1], 14), 'ann')\n"
        "async def watch():\n"
        "    async with app.run_test(size=(120, 40)) as pilot:\n"
        "        while not app.screen.query_one(ActivityList).row_count: await pilot.pause()\n"
        "        await pilot.press('right', 'd', 'home', 'end', 'w', 'space')\n"
        "asyncio.run(watch())\n"
        f"loaded = set({VENDORS}) & set(sys.modules)\n"
        "sys.exit(' '.join(sorted(loaded)) or 0)\n"
    )
    done = run(tmp_path, code, saved.id)
    assert done.returncode == 0, done.stderr


def test_reasoner_option_runs_what_if(saved: SavedSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def what_if(options: argparse.Namespace, *_: object) -> int:
        asked.append((options.id, options.reasoner))
        return 3

    monkeypatch.setattr("genie_eval.cli.what_if.what_if", what_if)
    assert main(["replay", saved.id, "--reasoner", "narrow"]) == 3
    assert main(["replay", saved.id, "--model", "ollama:qwen3"]) == 3
    assert asked == [(saved.id, "narrow"), (saved.id, "general_assist")]
