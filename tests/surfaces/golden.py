"""The golden files of the surfaces: what each of them shows of the sample.

`PYTHONPATH=src:. python -m tests.surfaces.golden` writes `tests/data/surfaces` again. Each change
there is one that people see.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.surfaces.surfaces import SURFACES

FOLDER: Final = Path(__file__).parents[1] / "data/surfaces"


def shown_on(surface: str) -> str:
    """Return the text of one surface."""
    with in_utc(), tempfile.TemporaryDirectory() as folder:
        return "\n".join(SURFACES[surface](Path(folder))) + "\n"


@contextmanager
def in_utc() -> Iterator[None]:
    """Set the time zone of the process."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def golden(surface: str) -> Path:
    return FOLDER / f"{surface}.txt"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SURFACES:
        golden(name).write_bytes(shown_on(name).encode("utf-8", "backslashreplace"))
