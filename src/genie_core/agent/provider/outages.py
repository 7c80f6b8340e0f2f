"""Doing without a tool server: how long one is waited for, and what is told when it does not work."""

from typing import Final

from genie_core.agent.provider.failures import without_secrets
from genie_core.errors import StageFailed, summary

START_TIMEOUT: Final = 30.0
"""Seconds a tool server may take to start, or to say which tools it has."""

CLOSE_TIMEOUT: Final = 5.0
"""Seconds a tool server may take to end."""


def shown(server: str) -> str:
    """Quote a server's name, which an SDK may make of an address or a command with a key in it."""
    return repr(without_secrets(server))


def reason(error: Exception) -> str:
    """Say what a server or its client raised, which may quote the address or a header."""
    return without_secrets(summary(error))


def notice(server: str, error: Exception) -> str:
    """Write what the model is told instead of being offered tools, or of a result."""
    return (
        f"The tools of the server {shown(server)} cannot be used at the moment ({reason(error)}). "
        "Do without them, and say so if the answer suffers."
    )


def failure(server: str, error: Exception) -> StageFailed:
    """Make the error for a run that can do nothing without the server."""
    failed = StageFailed("tools", f"tool server {shown(server)}", reason(error))
    failed.__cause__ = error
    return failed


def late(seconds: float) -> TimeoutError:
    """Make the error for a server that took too long to start."""
    return TimeoutError(f"it did not start within {seconds:.0f} seconds")
