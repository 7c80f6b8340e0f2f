"""Lines for a person, no faster than they can be read."""

import asyncio
from collections.abc import Callable
from typing import Final

from genie_core.room.seat import Severity
from genie_core.room.transport.rate import TokenBucket

BURST: Final = 4
PER_SECOND: Final = 1.0
NOTICE_CHARS: Final = 300


class Notices:
    """Passes lines on while there are few. Of more, only the latest is kept and comes later.

    Everything but making it needs a running event loop.
    """

    def __init__(self, show: Callable[[Severity, str], None]) -> None:
        self._show = show
        self._pace = TokenBucket(BURST, PER_SECOND)
        self._waiting: tuple[Severity, str] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, severity: Severity, text: str) -> None:
        """Pass a line on, at once or as soon as it is its turn."""
        loop = asyncio.get_running_loop()
        text = text if len(text) <= NOTICE_CHARS else f"{text[:NOTICE_CHARS]}…"
        if self._timer is None and self._pace.take(loop.time()):
            self._show(severity, text)
            return
        self._waiting = severity, text
        if self._timer is None:
            self._timer = loop.call_later(self._pace.wait(loop.time()), self._catch_up)

    def flush(self) -> None:
        """Pass on at once what still waits; nothing comes by itself afterwards."""
        if self._timer is not None:
            self._timer.cancel()
            self._catch_up()

    def _catch_up(self) -> None:
        self._timer = None
        self._pace.take(asyncio.get_running_loop().time())
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._show(*waiting)
