"""The line below the status bar that explains problems."""

import math
from collections.abc import Sequence
from typing import Final

from textual.widgets import Static

from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope

CALM: Final = 3.0
"""Seconds without a connection that only the status bar shows: a host that restarts is back by then."""


class Banner(Static):
    """Counts down to the next attempt, or says why there is none. Hidden without a problem."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._status = ConnectionStatus(ConnectionState.CONNECTING)
        self._left = 0.0
        self._calm = 0.0
        self._remedy = ""
        self._warning = ""

    def warn(self, text: str) -> None:
        """Show a lasting problem while connected; an empty text removes it."""
        self._warning = text
        self._say()

    def offer(self, remedy: str) -> None:
        """Show the person's options while disconnected."""
        if remedy != self._remedy:
            self._remedy = remedy
            self._say()

    def show(self, status: ConnectionStatus) -> None:
        if status.state is ConnectionState.ONLINE:
            self._calm = CALM if status.closing_in is None else 0.0
        self._status = status
        if status.state is not ConnectionState.RETRYING:
            self._remedy = ""
        self._left = status.retry_in or status.closing_in or 0.0
        self._say()

    def count_down(self, seconds: float) -> None:
        status = self._status
        is_away = status.state is ConnectionState.RETRYING  # also while an attempt takes long
        if is_away:
            self._calm -= seconds
        if is_away or status.retry_in is not None or status.closing_in is not None:
            self._left = max(self._left - seconds, 0.0)
            self._say()

    def _say(self) -> None:
        status, warning = self._status, visible_line(self._warning)
        is_online = status.state is ConnectionState.ONLINE
        troubled = is_online and bool(status.detail or warning)
        is_calm = self._calm > 0 and status.state is ConnectionState.RETRYING
        self.set_class(troubled or status.state is ConnectionState.CLOSED, "-closed")
        parts = ["" if is_calm else self._text(), warning if is_online else ""]
        text = "\n".join(part for part in parts if part)
        self.display = bool(text)
        self.update(text)

    def _text(self) -> str:
        detail = visible_line(self._status.detail)
        match self._status.state:
            case ConnectionState.ONLINE if self._status.closing_in is not None:
                when = f"in {math.ceil(self._left)} s at most" if self._left else "now"
                said = f"The host suspends the room {when}; what you send waits until it is back."
                return f"{detail}. {said}" if detail else said
            case ConnectionState.ONLINE:
                return detail
            case ConnectionState.CONNECTING:
                return detail or "opening…"
            case ConnectionState.CLOSED:
                why = detail or "the room is closed"
                key = keymap_of(self).text(Scope.APP, "quit")
                return f"{why}. Your draft is kept: select and copy it; {key} leaves."
            case ConnectionState.RETRYING:
                when = (
                    f"reconnecting in {math.ceil(self._left)} s…" if self._left else "reconnecting…"
                )
                said = f"{detail}: {when}" if detail else when.capitalize()
                return f"{said} {self._remedy}".rstrip()


def rivals_line(others: Sequence[str], *, hosts: bool) -> str:
    """Describe the other hosts of the room; `hosts` if this person is one."""
    if not others:
        return ""
    names = " and ".join(others)
    verb = "hosts" if len(others) == 1 else "host"
    if hosts:
        return (
            f"{names} {verb} this room, too: people see only what is said at their own host. The "
            "programs find out which of you is right by the log, and the other one gives way by "
            "itself; nothing is lost."
        )
    return (
        f"{names} {verb} this room, too: what is said there is not seen here until one of the "
        "hosts gives way to the other."
    )
