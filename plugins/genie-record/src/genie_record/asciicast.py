"""A room as a terminal recording (asciicast, version 2) or as an animated SVG.

Either shows a replay, drawn by the program's own screens without a terminal. That happens in a
process of its own, since Textual takes over the output of the process that it runs in. asciicast is
described at https://docs.asciinema.org/manual/asciicast/v2/.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

from genie_core.room.protocol.events import Event
from genie_core.sessions.errors import NotExported
from genie_core.sessions.export.choices import EVERYTHING, Choices
from genie_core.sessions.replay.pace import gap
from genie_core.sessions.session import SavedSession
from genie_core.text.format import counted
from genie_core.text.safe import visible_line

RecordingForm: TypeAlias = Literal["cast", "svg"]

WIDTH: Final = 100
HEIGHT: Final = 30

LAST: Final = 2.0
"""Seconds for which the end is shown."""

FRAME: Final = 0.04
"""Seconds between two screens at least; events from meanwhile are shown together."""

MOST_SCREENS: Final = 400
"""Screens of a picture; browsers draw all of them."""

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from genie_record.drawn_replay import main; main(*sys.argv[2:])"
)


def cast(saved: SavedSession, choices: Choices = EVERYTHING) -> Iterator[str]:
    """Yield a terminal recording in pieces, at the pace of a replay, with pauses cut short. Blocks.

    Of the choices, the first and the last entry apply. Private messages are not shown.

    Raises:
        DamagedSession: the log is no file.
        DiskFailure: it can't be read.
        NotExported: the screens could not be drawn.
    """
    return _recording(saved, choices, "cast")


def svg(saved: SavedSession, choices: Choices = EVERYTHING) -> Iterator[str]:
    """Yield an animated picture of the same screens; errors as `cast`.

    Raises:
        NotExported: the screens could not be drawn, or are too many for a picture.
    """
    return _recording(saved, choices, "svg")


def _recording(saved: SavedSession, choices: Choices, form: RecordingForm) -> Iterator[str]:
    with saved.reader() as log:
        first = last = 0
        for event in log.events():
            if choices.covers(event):
                first, last = first or event.seq, event.seq
        began = log.read(first - 1, 1)[0].at if first else saved.metadata.created
        count = sum(1 for _ in moments(log.events(first - 1, last))) if first else 0
    if form == "svg" and not 0 < count <= MOST_SCREENS:
        why = (
            f"can't be one picture, which has 1 to {MOST_SCREENS}: choose a part by --from and --to"
        )
        raise NotExported(saved.id, f"{counted(count, 'screen')} {why}")
    if form == "cast":
        yield asciicast_line(_header(visible_line(saved.metadata.shown_title), began))
    if first:
        yield from _drawn(saved, first, last, form)
    else:
        yield asciicast_line([LAST, "o", ""])


def moments(events: Iterable[Event]) -> Iterator[tuple[float, int]]:
    """Yield the times to draw, from 0 on, and the last event by then."""
    now, before = 0.0, None
    drawn, seq = 0.0, 0
    for event in events:
        now += 0.0 if before is None else gap(before, event.at)
        if seq and now - drawn >= FRAME:
            yield drawn, seq
            drawn = now
        before, seq = event.at, event.seq
    yield drawn, seq


def _header(title: str, began: float) -> dict[str, object]:
    return {
        "version": 2,
        "width": WIDTH,
        "height": HEIGHT,
        "timestamp": int(began),
        "title": title,
        "env": {"TERM": "xterm-256color"},
    }


def asciicast_line(value: object) -> str:
    """Return a line of a recording."""
    return json.dumps(value) + "\n"


def _drawn(saved: SavedSession, first: int, last: int, form: RecordingForm) -> Iterator[str]:
    """Yield the drawings of a process; the process ends with the generator."""
    path = json.dumps([entry for entry in sys.path if entry])
    part = [str(saved.folder), str(first), str(last), form]
    run = [sys.executable, "-c", _START, path, *part]
    with tempfile.TemporaryFile("w+", errors="replace") as problems:
        with subprocess.Popen(
            run, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=problems, text=True
        ) as process:
            try:
                yield from process.stdout or ()
            except BaseException:
                process.kill()
                raise
        problems.seek(0)
        told = problems.read().splitlines()
    if process.returncode:
        why = told[-1] if told else f"their process ended with {process.returncode}"
        raise NotExported(saved.id, f"its screens can't be drawn: {visible_line(why)}")
