"""A room as a terminal recording: the screens of its replay."""

import json
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import founded
from tests.genie_core.sessions.sample import BORN, saved_room
from tests.genie_tui.emulator import Emulator, clusters
from tests.genie_tui.scripted_room import HandClock

from genie_core.room.open.requests import ReplayRoom
from genie_core.room.open.service import RoomService
from genie_core.room.protocol.events import Event, MessagePosted, RoomCreated
from genie_core.room.security.sealing import seal
from genie_core.sessions.errors import NotExported
from genie_core.sessions.export.choices import EVERYTHING, Choices, read_place
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_record import asciicast
from genie_record.asciicast import HEIGHT, LAST, WIDTH, cast, svg
from genie_tui.app import GenieApp
from genie_tui.screens.replay import ReplayScreen

ALLOWED = re.compile(r"\x1b(\[[0-9;]*[mHGr]|\[\?(25|7)l|[DM]|\]8;[^\x1b\x07]*\x1b\\)")
"""What moves the cursor, scrolls, and colours; and links."""


def recorded(
    saved: SavedSession, choices: Choices = EVERYTHING
) -> tuple[dict[str, Any], list[tuple[float, str]]]:
    header, *events = [json.loads(line) for line in "".join(cast(saved, choices)).splitlines()]
    assert all(kind == "o" for _at, kind, _text in events)
    return header, [(at, text) for at, _kind, text in events]


def shown(events: Iterable[tuple[float, str]]) -> list[str]:
    """What a terminal shows in the end."""
    terminal = Emulator(WIDTH, HEIGHT, clusters)
    for _at, text in events:
        terminal.feed(text)
    return list(terminal.display)


def said(base: Path, *texts: tuple[float, str]) -> SavedSession:
    saved = saved_room(base / "sessions")
    events = [Event(1, BORN, "", RoomCreated("r1", "Standup"))]
    events += [
        Event(n, BORN + at, "ann", MessagePosted(f"m{n}", text))
        for n, (at, text) in enumerate(texts, 2)
    ]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    return saved


async def lines_of_replay(base: Path, saved: SavedSession, at: int) -> list[str]:
    """What the screen of a replay shows at an event."""
    places = Locations(base / "config", base, base / "log")
    opening = ReplayRoom(saved.id, at)
    app = GenieApp(RoomService("ann", Settings(), places), opening, "ann", clock=HandClock())
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        await screen.show(at)
        await app.workers.wait_for_complete()
        await pilot.pause()
        return [strip.text for strip in screen._compositor.render_strips()]


async def test_it_shows_the_screens_of_a_replay(tmp_path: Path) -> None:
    saved = saved_room(tmp_path / "sessions")
    header, events = recorded(saved)
    assert (header["version"], header["width"], header["height"]) == (2, WIDTH, HEIGHT)
    assert (header["title"], header["timestamp"]) == ("Standup", BORN + 1)
    last = shown(events)
    real = await lines_of_replay(tmp_path, saved, 11)
    assert [line.rstrip() for line in last] == [line.rstrip() for line in real]
    screen = "\n".join(last)
    assert "playing" in screen
    assert "what is 17*23? see the file" in screen
    assert "391" in screen
    assert recorded(saved) == (header, events)
    assert "file:" not in "".join(text for _at, text in events)


def test_it_grows_event_by_event(tmp_path: Path) -> None:
    _header, events = recorded(said(tmp_path, (1.0, "first"), (2.0, "second")))
    assert "first" not in "\n".join(shown(events[:1]))
    assert "second" not in "\n".join(shown(events[:2]))
    assert "second" in "\n".join(shown(events))


def test_time_goes_as_it_went_without_the_pauses(tmp_path: Path) -> None:
    saved = said(tmp_path, (0.5, "a"), (1.0, "b"), (9_000.0, "a night later"), (100.0, "earlier?"))
    _header, events = recorded(saved)
    assert [at for at, _text in events] == [0, 0.5, 1.0, 3.0, 5.0]
    assert all(one <= other for (one, _), (other, _) in pairwise(events))


def test_recording_escapes_hostile_text(tmp_path: Path) -> None:
    evil = "\x1b]0;title\x07 \x1b[2J \r over \u202e [bold]markup[/] " + "long " * 60 + "\u6f22" * 80
    _header, events = recorded(said(tmp_path, (1.0, evil)))
    text = ALLOWED.sub("", "".join(text for _at, text in events))
    assert text.isprintable()
    assert "\u202e" not in text
    assert "[bold]markup[/]" in "\n".join(shown(events))


def test_an_empty_room_makes_a_recording_too(tmp_path: Path) -> None:
    saved = saved_room(tmp_path)
    saved.log_path.unlink()
    header, events = recorded(saved)
    assert header["timestamp"] == BORN
    assert events == [(LAST, "")]


def test_part_has_chosen_bounds(tmp_path: Path) -> None:
    saved = said(tmp_path, (1.0, "first"), (2.0, "second"), (3.0, "third"), (4.0, "fourth"))
    header, events = recorded(saved, Choices(read_place("3"), read_place("4")))
    assert header["timestamp"] == BORN + 2
    assert [at for at, _text in events] == [0, 1, 1 + LAST]
    assert "third" not in "\n".join(shown(events[:1]))
    assert "second" in "\n".join(shown(events[:1]))
    assert "fourth" not in "\n".join(shown(events))


def test_private_messages_are_not_shown(tmp_path: Path) -> None:
    log = founded("bob")
    bob, ann = identity("bob").key, identity("ann").key
    log.says("bob", "for all")
    log.add("bob", seal(MessagePosted("p", "swordfish", to="ann"), bob, [bob, ann]))
    saved = saved_room(tmp_path / "sessions")
    saved.log_path.write_bytes(b"".join(map(encode_line, log.events)))
    _header, events = recorded(saved)
    assert "for all" in "\n".join(shown(events))
    assert "swordfish" not in "".join(text for _at, text in events)


def test_picture_has_bounded_screens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = said(tmp_path, (1.0, "first"), (2.0, "<b>second</b>"))
    picture = "".join(svg(saved))
    assert picture.count("translateX") == 3 + 1
    assert "&lt;b&gt;second&lt;/b&gt;" in picture
    monkeypatch.setattr(asciicast, "MOST_SCREENS", 2)
    with pytest.raises(NotExported, match=r"3 screens can't be one picture.*--from"):
        list(svg(saved))
    part = Choices(first=read_place("3"))
    assert "".join(svg(saved, part)).count("translateX") == 1 + 1
    with pytest.raises(NotExported, match="0 screens"):
        list(svg(saved, Choices(first=read_place("9"))))


def test_undrawable_screens_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = asciicast._START.replace("drawn_replay", "no_such_module")
    monkeypatch.setattr(asciicast, "_START", broken)
    with pytest.raises(
        NotExported, match=r"its screens can't be drawn: ModuleNotFoundError"
    ) as error:
        recorded(said(tmp_path, (1.0, "first")))
    assert "\n" not in str(error.value)
