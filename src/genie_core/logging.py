"""Write log records without waiting for a slow terminal or pipe."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from logging.handlers import QueueHandler, QueueListener
from queue import SimpleQueue
from typing import Any, Final

from genie_core.privacy.redaction import hide_secrets

FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"

ROOM_LOGGED: Final[ContextVar[str]] = ContextVar("ROOM_LOGGED", default="")
"""The id of the room that the running task works for; each record has it as `room`."""

BACKLOG: Final = 10_000
"""How many records may wait to be written."""


@contextmanager
def configure_logging(
    format: str = FORMAT,  # noqa: A002 - its name in group-genie, whose examples call this
    levels: Mapping[str, int] | None = None,
    *,
    formatter: logging.Formatter | None = None,
    filters: Iterable[logging.Filter] = (),
) -> Iterator[None]:
    """Write log records to standard error while the context is open.

    `levels` maps loggers to the lowest level that is shown; the engine's default is INFO. Records
    that pass the `filters` are written as `format` says, or as `formatter` does. A thread writes, so that an event loop never waits for a terminal or a pipe. While it stalls and
    `BACKLOG` records wait, further ones are dropped and counted at the end. Text that looks like a
    key is hidden.

    Leaving waits until everything is written and restores the loggers.
    """
    wanted = {"genie_core": logging.INFO, **(levels or {})}
    outlet = logging.StreamHandler()
    outlet.setFormatter(formatter or DiscreetFormatter(format))
    inlet = _Inlet(SimpleQueue())
    for each in filters:
        inlet.addFilter(each)
    writer = QueueListener(inlet.queue, outlet)
    before = {name: logging.getLogger(name).level for name in wanted}
    writer.start()
    try:
        for name in sorted(wanted):  # "a" comes before "a.b"
            logger = logging.getLogger(name)
            logger.setLevel(wanted[name])
            if not _reaches(logger, inlet):
                logger.addHandler(inlet)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).removeHandler(inlet)
            logging.getLogger(name).setLevel(level)
        writer.stop()
        inlet.tell_what_was_left_out(outlet)


class DiscreetFormatter(logging.Formatter):
    """Formats records and tracebacks without text that looks like a secret."""

    def format(self, record: logging.LogRecord) -> str:
        return hide_secrets(super().format(record))


class _Inlet(QueueHandler):
    """Queues records up to the limit."""

    def __init__(self, queue: "SimpleQueue[Any]") -> None:
        super().__init__(queue)
        self._waiting = queue
        self._left_out = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Return a copy with everything in it that only the task that logs knows."""
        record = copy(record)
        record.msg, record.args = record.getMessage(), None
        record.room = getattr(record, "room", "") or ROOM_LOGGED.get()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        record.exc_info = None
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        # The queue itself has no bound, or there might be no place for the record that ends the
        # writer.
        if self._waiting.qsize() < BACKLOG:
            super().enqueue(record)
        else:
            self._left_out += 1

    def tell_what_was_left_out(self, outlet: logging.Handler) -> None:
        if self._left_out:
            notice = {"name": __name__, "levelno": logging.WARNING, "levelname": "WARNING"}
            text = f"{self._left_out} records were left out: they came faster than they were read"
            outlet.handle(logging.makeLogRecord({**notice, "msg": text}))


def _reaches(logger: logging.Logger | None, handler: logging.Handler) -> bool:
    """Whether a logger's records reach a handler already, its own or a parent's."""
    while logger is not None:
        if handler in logger.handlers:
            return True
        logger = logger.parent if logger.propagate else None
    return False
