"""A room as a terminal recording."""

import json
import re
from itertools import pairwise
from pathlib import Path

from tests.genie_core.sessions.sample import BORN, saved_room

from genie_core.room.protocol.events import Event, MessagePosted, RoomCreated, RunFailed
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_tui.asciicast import WIDTH, cast

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def recorded(saved: SavedSession) -> tuple[dict[str, object], list[tuple[float, str]]]:
    header, *events = [json.loads(line) for line in "".join(cast(saved)).splitlines()]
    assert all(kind == "o" for _at, kind, _text in events)
    return header, [(at, text) for at, _kind, text in events]


def said(base: Path, *texts: tuple[float, str]) -> SavedSession:
    saved = saved_room(base)
    events = [Event(1, BORN, "", RoomCreated("r1", "Standup"))]
    events += [
        Event(n, BORN + at, "ann", MessagePosted(f"m{n}", text))
        for n, (at, text) in enumerate(texts, 2)
    ]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    return saved


def test_it_begins_with_what_players_ask_for(tmp_path: Path) -> None:
    header, events = recorded(saved_room(tmp_path))
    assert (header["version"], header["width"], header["title"]) == (2, WIDTH, "Standup")
    assert header["timestamp"] == BORN + 1
    shown = COLOURS.sub("", "".join(text for _at, text in events))
    assert "ann: what is 17*23? see the file\r\n" in shown
    assert "genie → ann: 391\r\n" in shown
    assert "stays silent: nothing is asked" in shown


def test_time_goes_as_it_went_without_the_pauses(tmp_path: Path) -> None:
    saved = said(tmp_path, (0.5, "a"), (1.0, "b"), (9_000.0, "a night later"), (100.0, "earlier?"))
    _header, events = recorded(saved)
    assert [at for at, _text in events] == [0, 0.5, 1.0, 3.0, 3.0, 5.0]


def test_nothing_in_it_commands_a_terminal_but_colours(tmp_path: Path) -> None:
    evil = (
        "\x1b]0;title\x07 \x1b[2J \r over \u202e [bold]markup[/] :smile: "
        + "long " * 60
        + "\u6f22" * 80
    )
    _header, events = recorded(said(tmp_path, (1.0, evil)))
    text = COLOURS.sub("", "".join(text for _at, text in events))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[bold]markup[/] :smile:" in text
    lines = text.split("\r\n")
    assert not any("\r" in line or "\n" in line for line in lines)
    assert max(map(cells, lines)) <= WIDTH
    assert sum(line.count("\u6f22") for line in lines) == 80


def cells(line: str) -> int:
    return sum(2 if char == "\u6f22" else 1 for char in line)


def test_an_empty_room_makes_a_recording_too(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    saved.log_path.unlink()
    header, events = recorded(saved)
    assert header["timestamp"] == BORN
    assert events == [(2.0, "")]


def test_times_never_go_back(tmp_path: Path) -> None:
    _header, events = recorded(saved_room(tmp_path))
    assert all(one <= other for (one, _), (other, _) in pairwise(events))


def test_what_is_no_talk_has_the_colour_of_its_mark(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    events = [
        Event(1, BORN, "", RoomCreated("r1", "Standup")),
        Event(2, BORN, "ann", MessagePosted("m2", "hm", handler="ann")),
        Event(3, BORN, "ann", RunFailed(2, "agent", "long " * 40)),
    ]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    _header, shown = recorded(saved)
    assert "\x1b[90m◇ the room" in shown[0][1]
    all_kinds = "".join(text for _at, text in recorded(saved_room(tmp_path / "all"))[1])
    assert "\x1b[32m✓ allowed" in all_kinds
    assert "\x1b[33m▲ genie asks" in all_kinds
    failure = shown[2][1].split("\r\n")
    assert "\x1b[31m✗ " in failure[0]
    assert "\x1b[31mlong" in failure[1]
