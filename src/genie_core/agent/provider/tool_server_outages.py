"""Limits on waiting for tool servers, and messages about those that fail."""

import logging
from collections.abc import Mapping
from typing import Final, Protocol

from genie_core.agent.provider.failures import without_secrets
from genie_core.errors import GenieError, StageFailed, public_summary, summary
from genie_core.runtime.progress import bare, doing, note

log = logging.getLogger(__name__)

START_TIMEOUT: Final = 30.0
"""Seconds for a tool server to start, or to list its tools."""

CLOSE_TIMEOUT: Final = 5.0
"""Seconds for a tool server to end."""


CONNECTION_CLOSED: Final = -32000
"""MCP's error code for a closed connection."""


_ENDED: Final = "it has ended, or closed the connection"

_DEEPEST: Final = 10  # causes of a cause; who raises an error again may make it its own


class Paused(GenieError):
    """A server is paused before the next attempt."""

    reason: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.reason}; {self.public}"

    @property
    def public(self) -> str:
        return f"it is tried again in {max(self.seconds, 1.0):.0f} seconds"


class Watch(Protocol):
    """Receives the state of one connection to a tool server, and decides about retries.

    Called on the event loop; must not block. A run goes on without a monitored server even if no
    other one works, since its monitor can tell people. With `patience`, a run waits so many seconds
    for its start, and then goes on; the tools come when it is ready.
    """

    @property
    def patience(self) -> float | None:
        """Seconds that a run waits for the start; None for `START_TIMEOUT`, which is an outage."""

    def paused(self) -> Paused | None:
        """Return why the server is paused; None if it may be started."""

    def starting(self) -> None:
        """Record that it is being started, or checked before a run."""

    def ready(self, tools: Mapping[str, str] | None = None, left_out: int = 0) -> None:
        """Record that it works, with the descriptions of its tools once they are known.

        `left_out` further tools are not offered, since a model takes no more.
        """

    def down(self, reason: str) -> None:
        """Record that it did not start, or stopped."""

    def closed(self) -> None:
        """Record that it is no longer used or waited for."""


class Unwatched:
    """The default without a monitor: a server may be tried again immediately."""

    patience: None = None

    def paused(self) -> None:
        """Never."""

    def starting(self) -> None:
        """Do nothing."""

    def ready(self, tools: Mapping[str, str] | None = None, left_out: int = 0) -> None:
        """Do nothing."""

    def down(self, reason: str) -> None:
        """Do nothing."""

    def closed(self) -> None:
        """Do nothing."""


def shown(server: str) -> str:
    """Quote a server's name; an SDK may build it from a URL or command with a key in it."""
    return repr(without_secrets(server))


def start_of(server: str) -> str:
    """Describe the wait of a run while a tool server starts."""
    return f"tool server {shown(server)} to start"


def reason(error: BaseException) -> str:
    """Describe the exception of a server or its client; may quote an address or a header."""
    if has_ended(error):
        return _ENDED
    return without_secrets(summary(error))


def public_reason(error: Exception) -> str:
    """Return the part of an error that all members may see; may be empty."""
    if has_ended(error):
        return _ENDED
    return public_summary(error) if isinstance(error, Late | Paused) else ""


def has_ended(error: BaseException | None) -> bool:
    """Whether an error, or its cause, is MCP's for a closed connection."""
    for _ in range(_DEEPEST):
        if getattr(getattr(error, "error", None), "code", None) == CONNECTION_CLOSED:
            return True
        error = error.__cause__ if error is not None else None
    return False


def outage_instruction(server: str, error: Exception) -> str:
    """Return the text for the model instead of tools or a result; it may repeat it to the room."""
    why = public_reason(error) or "its owner sees why"
    return (
        f"The tools of the server {shown(server)} cannot be used at the moment ({why}). "
        "Do without them, and say so if the answer suffers."
    )


def waiting_instruction(server: str) -> str:
    """Return the text for the model instead of the tools of a server that is still starting."""
    return (
        f"The tools of the server {shown(server)} are not there yet: it is still starting, and they "
        "appear when it is ready. Do without them, and say so if the answer suffers."
    )


def note_waiting(server: str) -> None:
    """Report that a run goes on while a server still starts."""
    doing("note", f"tool server {shown(server)} is still starting; its tools come when it is ready")


def note_ready(server: str) -> None:
    """Report that a server that the run does not wait for has started."""
    doing("note", f"tool server {shown(server)} is ready")


def note_outage(server: str, error: Exception) -> None:
    """Report that a server is unavailable; only the owner sees the exception."""
    log.warning("tool server %s cannot be used: %s", shown(server), reason(error))
    said, why, whole = (
        f"tool server {shown(server)} cannot be used",
        public_reason(error),
        reason(error),
    )
    names_it = whole.startswith(f"the tool server {shown(server)} ")
    note(f"{said}: {why}" if why else said, whole if names_it else f"{said}: {whole}")


class Unusable(GenieError):
    """Why a tool server is unusable: in full, and for all members of a room."""

    def __init__(self, error: Exception) -> None:
        self.reason = reason(error)
        self.public_reason = public_reason(error) or "it cannot be used"
        super().__init__(self.reason, self.public_reason)
        self.__cause__ = bare(error)

    def __str__(self) -> str:
        return self.reason

    @property
    def public(self) -> str:
        return self.public_reason


def failure(server: str, error: Exception) -> StageFailed:
    """Return the error for a run that can't do anything without the server."""
    return StageFailed("tools", f"tool server {shown(server)}", Unusable(error))


class Late(GenieError, TimeoutError):
    """A server took too long to start."""


def late(seconds: float) -> Late:
    """Return the error for a server that took too long to start."""
    return Late(f"it did not start within {seconds:.0f} seconds")
