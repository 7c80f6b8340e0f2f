"""A log as lines of text."""

import os
import time
from collections.abc import Iterator

import pytest
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    DecisionMade,
    Event,
    FileRef,
    MessagePosted,
    Quote,
    QuotedLine,
    RoomCreated,
)
from genie_tui.cli.plain.log import lines

MORNING = 1_795_251_600.0  # 2026-11-21 09:00 UTC


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(os.environ, "TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def room() -> list[Event]:
    file = FileRef("ab" * 32, "notes.txt", 12, "text/plain")
    quote = Quote("r2", "Lunch", (QuotedLine("cleo", "pizza"),))
    bodies: list[tuple[str, AnyBody]] = [
        ("", RoomCreated("r1", "Standup")),
        (
            "ann",
            MessagePosted("m1", "two\nlines\x1b[2J", handler="ann", files=(file,), quotes=(quote,)),
        ),
        ("ann", DecisionMade(2, "delegate", query="two lines")),
        ("ann", AnswerPosted(2, "an\nanswer", elapsed=1.5)),
        ("bob", MessagePosted("m2", "waves", emote=True)),
    ]
    return [Event(n, MORNING + n, by, body) for n, (by, body) in enumerate(bodies, 1)]


def test_lines_have_number_and_safe_text() -> None:
    assert "\n".join(text for _at, text in lines(room())) == (
        "── Saturday, 21 November 2026 ──\n"
        "    1  09:00:01  ◇ the room Standup was opened\n"
        "    2  09:00:02  ann (with 1 file; quotes 1 message): two\n"
        "                 lines␛[2J\n"
        "                 file 1: notes.txt, text/plain · 12 bytes\n"
        "                 ── from Lunch ──\n"
        "                 cleo, 1 January 1970, 00:00: pizza\n"
        "    3  09:00:03  ● about [2]: genie answers ann: two lines\n"
        "    4  09:00:04  genie to ann, about [2]: an\n"
        "                 answer (1.5 s)\n"
        "    5  09:00:05  * bob waves"
    )


def test_times_are_those_of_the_events() -> None:
    assert [at - MORNING for at, _text in lines(room())] == [1, 1, 2, 3, 4, 5]


def test_excerpt_uses_earlier_context() -> None:
    texts = [text for _at, text in lines(room(), first=4)]
    assert texts[1].startswith("    4  09:00:04  genie to ann, about [2]: an")
    assert len(texts) == 3


def test_each_day_change_is_announced() -> None:
    log = RoomLog()
    for at in (MORNING, MORNING + 86_400, MORNING):
        log.events.append(Event(len(log.events) + 1, at, "ann", MessagePosted(str(at), "x")))
    days = [text for _at, text in lines(log.events) if text.startswith("──")]
    assert [day.split()[2] for day in days] == ["21", "22", "21"]


def test_blank_lines_are_blank() -> None:
    said = MessagePosted("m1", "one\n\n  two", handler="ann")
    events = [Event(1, MORNING, "", RoomCreated("r1", "Standup")), Event(2, MORNING, "ann", said)]
    *_, (_at, text) = lines(events)
    indent = " " * 17
    assert text == f"    2  09:00:00  ann: one\n\n{indent}  two"
