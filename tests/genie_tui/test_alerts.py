from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual import events
from textual.pilot import Pilot

from genie_core.room.protocol.events import MessagePosted
from genie_core.settings.model import Desktop
from genie_tui.alerts import (
    LONGEST,
    RESTORE_TITLE,
    SAVE_TITLE,
    Alerts,
    AlertSettings,
    desktop_sequence,
    title_of,
)
from genie_tui.app import GenieApp


@pytest.fixture(autouse=True)
def outside_tmux(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run in it."""
    monkeypatch.delenv("TMUX", raising=False)


def alerts(settings: AlertSettings) -> tuple[Alerts, list[str]]:
    written: list[str] = []
    return Alerts(written.append, settings), written


@pytest.mark.parametrize(
    ("settings", "attended", "expected"),
    [
        (AlertSettings(), False, ["\x07"]),
        (AlertSettings(bell=False), False, []),
        (AlertSettings(bell=False, desktop="osc9"), False, ["\x1b]9;genie: hi\x1b\\"]),
        (AlertSettings(bell=False, desktop="osc777"), False, ["\x1b]777;notify;genie;hi\x1b\\"]),
        (AlertSettings(desktop="osc9"), True, ["\x07"]),
    ],
)
def test_each_alert_is_a_setting(
    settings: AlertSettings, attended: bool, expected: list[str]
) -> None:
    ring, written = alerts(settings)
    ring.ring("hi", attended=attended)
    assert written == expected


def test_tmux_passes_notification_through() -> None:
    written: list[str] = []
    settings = AlertSettings(desktop="osc9")
    Alerts(written.append, settings, in_tmux=True).ring("hi", attended=False)
    assert written == ["\x07", "\x1bPtmux;\x1b\x1b]9;genie: hi\x1b\x1b\\\x1b\\"]


@pytest.mark.parametrize("way", ["osc9", "osc777"])
@pytest.mark.parametrize(
    "text", ["\x1b]0;x\x07", "a\x1b\\b", "\x9cx", "a;b;c", "4;3;100", "x\n" * 200]
)
def test_no_text_leaves_its_sequence(way: Desktop, text: str) -> None:
    made = desktop_sequence(way, text)
    assert made.startswith("\x1b]")
    assert made.endswith("\x1b\\")
    inner = made[2:-2]
    assert not any(char < " " or "\x7f" <= char < "\xa0" for char in inner)
    assert len(inner) < LONGEST + 30
    assert inner.count(";") == (1 if way == "osc9" else 3)
    assert way == "osc777" or inner.startswith("9;genie: ")


def test_title_is_saved_set_and_restored() -> None:
    made, written = alerts(AlertSettings())
    made.show_title("Garden · genie")
    made.show_title("Garden · genie")
    made.show_title("(1) Garden\x07 · genie")
    made.end()
    made.end()
    assert written == [
        "\x1b[22;2t",
        "\x1b]2;Garden · genie\x1b\\",
        "\x1b]2;(1) Garden␇ · genie\x1b\\",
        "\x1b[23;2t",
    ]
    silent, nothing = alerts(AlertSettings(title=False))
    silent.show_title("Garden")
    silent.end()
    assert nothing == []


def test_title_counts_waiting_and_missed() -> None:
    assert title_of("Garden", 0, 0) == "Garden · genie"
    assert title_of("Garden", 2, 0) == "(▲2) Garden · genie"
    assert title_of("Garden", 1, 3) == "(▲1 3) Garden · genie"


@asynccontextmanager
async def room(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[list[str], Pilot[None]]]:
    """A room and what the app writes to its terminal beside the screen."""
    written: list[str] = []
    monkeypatch.setattr(GenieApp, "_write", lambda _, sequence: written.append(sequence))
    async with in_room(joined) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        app._alerts.settings = AlertSettings(desktop="osc9")
        yield written, pilot


async def test_unfocused_terminal_gets_all_alerts(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with room(joined, monkeypatch) as (written, pilot):
        pilot.app.post_message(events.AppFocus())
        pilot.app.post_message(events.AppBlur())
        await pilot.pause()
        joined.feed(MessagePosted("1", "@ann come back"), by="bob")
        notice = "\x1b]9;genie: Garden: bob: @ann come back\x1b\\"
        await until(pilot, lambda: notice in written and "\x07" in written)
        await until(pilot, lambda: "\x1b]2;(1) Garden · genie\x1b\\" in written)
        pilot.app.post_message(events.AppFocus())
        await until(pilot, lambda: written[-1] == "\x1b]2;Garden · genie\x1b\\")
        joined.ask("rm")
        await until(pilot, lambda: written[-1] == "\x1b]2;(▲1) Garden · genie\x1b\\")


async def test_focused_terminal_gets_bell_only(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with room(joined, monkeypatch) as (written, pilot):
        pilot.app.post_message(events.AppBlur())
        pilot.app.post_message(events.AppFocus())
        await pilot.pause()
        joined.feed(MessagePosted("1", "@ann look"), by="bob")
        await until(pilot, lambda: "\x07" in written)
        assert not any(each.startswith("\x1b]9;") for each in written)


async def test_suspension_hands_title_to_shell(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with room(joined, monkeypatch) as (written, pilot):
        shown = "\x1b]2;Garden · genie\x1b\\"
        await until(pilot, lambda: shown in written)
        pilot.app.app_suspend_signal.publish(pilot.app)
        assert written[-1] == RESTORE_TITLE
        pilot.app.app_resume_signal.publish(pilot.app)
        assert written[-2:] == [SAVE_TITLE, shown]
