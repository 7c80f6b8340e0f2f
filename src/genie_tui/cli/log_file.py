"""The program's log file."""

import logging
import logging.handlers
from pathlib import Path
from typing import Final

from genie_core.errors import GenieError
from genie_core.logging import DiscreetFormatter

LOG_BYTES: Final = 2 * 1024 * 1024
OLD_LOGS: Final = 2


class CannotStart(GenieError):
    """Something outside the program keeps it from starting."""


def log_to(file: Path) -> None:
    """Write all log lines to a file, without secrets, and none anywhere else."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        handler = logging.handlers.RotatingFileHandler(
            file, maxBytes=LOG_BYTES, backupCount=OLD_LOGS, encoding="utf-8"
        )
    except OSError as error:
        raise CannotStart(f"can't write the log file {file}: {error.strerror}") from error
    handler.setFormatter(
        DiscreetFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S")
    )
    # Records that the log's own disk does not take have no other place to go, least of all the
    # screen.
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
