"""A room as a terminal recording (asciicast, version 2), which players and web pages can show.

The recording is what a replay shows, drawn by the program's own screens without a terminal. That
happens in a process of its own, since Textual takes over the output of the process that it runs in.
The format is described at https://docs.asciinema.org/manual/asciicast/v2/.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Final

from genie_core.sessions.errors import NotExported
from genie_core.sessions.export.choices import EVERYTHING, Choices
from genie_core.sessions.session import SavedSession
from genie_core.text.safe import visible_line

WIDTH: Final = 100
HEIGHT: Final = 30

LAST: Final = 2.0
"""Seconds for which the end is shown."""

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from genie_tui.drawn_replay import main; main(*sys.argv[2:])"
)


def cast(saved: SavedSession, choices: Choices = EVERYTHING) -> Iterator[str]:
    """Yield the recording line by line, at the pace of a replay, with pauses cut short. Blocks.

    Of the choices, the first and the last entry apply. Private messages are not shown.

    Raises:
        DamagedSession: the log is no file.
        DiskFailure: it can't be read.
        NotExported: the screens could not be drawn.
    """
    with saved.reader() as log:
        first = last = 0
        began = saved.metadata.created
        for event in log.events():
            if choices.covers(event):
                began = began if first else event.at
                first, last = first or event.seq, event.seq
    yield asciicast_line(_header(visible_line(saved.metadata.shown_title), began))
    if first:
        yield from _drawn(saved, first, last)
    else:
        yield asciicast_line([LAST, "o", ""])


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


def _drawn(saved: SavedSession, first: int, last: int) -> Iterator[str]:
    """Yield what a process draws; the process ends with the generator."""
    path = json.dumps([entry for entry in sys.path if entry])
    run = [sys.executable, "-c", _START, path, str(saved.folder), str(first), str(last)]
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
