"""The log of a service on standard error: one line for each record, as JSON or as text."""

import json
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from genie_core.logging import configure_logging
from genie_core.privacy.redaction import hide_secrets
from genie_core.room.transport.rate import TokenBucket
from genie_core.text.safe import visible_line

LEVELS: Final = {
    "": logging.WARNING,
    "genie_core": logging.INFO,
    "genie_serve": logging.INFO,
    "genie_tui": logging.INFO,
}
"""Libraries are logged from a warning on."""

FIELDS: Final = ("room", "rooms", "members", "connections", "left_out")
"""The fields that a record may have beside its text, by `extra`."""

EVENT_CHARS: Final = 2_000
EXCEPTION_CHARS: Final = 16_000
"""Most that is logged of an event's text and of the end of a traceback."""

LINES_AT_ONCE: Final = 20
LINES_PER_SECOND: Final = 1 / 60
"""Limits for each line of the program, since strangers may cause some as often as they like."""

TRACES_AT_ONCE: Final = 3
TRACES_PER_SECOND: Final = 1 / 600
"""Limits for the tracebacks of each line; beyond them, a record has the last line of its own."""


@contextmanager
def log_service(form: Literal["json", "text"]) -> Iterator[None]:
    """Write log records to standard error while the context is open, without secrets."""
    formatter = JsonFormatter() if form == "json" else TextFormatter()
    raised, logging.raiseExceptions = logging.raiseExceptions, False  # a full disk says no more
    logging.captureWarnings(capture=True)
    try:
        with configure_logging(levels=LEVELS, formatter=formatter, filters=[FloodFilter()]):
            yield
    finally:
        logging.captureWarnings(capture=False)
        logging.raiseExceptions = raised


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of ASCII, so that nothing in it can command a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": _event(record),
            **_fields(record),
        }
        if trace := _trace(record):
            line["exception"] = trace
        return json.dumps(line)


class TextFormatter(logging.Formatter):
    """Formats a record as one line for people to read."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {_event(record)}{fields}"
        trace = _trace(record)
        return visible_line(f"{line}\n{trace}" if trace else line)


class FloodFilter(logging.Filter):
    """Passes so many records from one line of the program, and counts those that are left out.

    The next record from there that passes says how many: `left_out`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._places: dict[tuple[str, int], _Place] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        place = self._places.setdefault((record.pathname, record.lineno), _Place())
        if not place.bucket.take(self._clock()):
            place.left_out += 1
            return False
        if place.left_out:
            record.left_out, place.left_out = place.left_out, 0
        failure = record.exc_info[1] if record.exc_info else None
        if failure is not None and not place.traces.take(self._clock()):
            record.exc_info, record.exc_text = None, _last_line(failure)
        return True


@dataclass(slots=True)
class _Place:
    bucket: TokenBucket = field(
        default_factory=lambda: TokenBucket(LINES_AT_ONCE, LINES_PER_SECOND)
    )
    traces: TokenBucket = field(
        default_factory=lambda: TokenBucket(TRACES_AT_ONCE, TRACES_PER_SECOND)
    )
    left_out: int = 0


def _last_line(error: BaseException) -> str:
    return traceback.format_exception_only(error)[-1].strip()


def _time(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return at.replace("+00:00", "Z")


def _event(record: logging.LogRecord) -> str:
    return hide_secrets(record.getMessage())[:EVENT_CHARS]


def _trace(record: logging.LogRecord) -> str:
    return hide_secrets(record.exc_text or "")[-EXCEPTION_CHARS:]


def _fields(record: logging.LogRecord) -> dict[str, object]:
    found = {name: getattr(record, name, None) for name in FIELDS}
    return {name: value for name, value in found.items() if value not in (None, "")}
