"""When another model takes over from one that is not available."""

from typing import Final

from genie_core.errors import ModelFailed
from genie_core.runtime.progress import note

_UNAVAILABLE: Final = frozenset(
    {"connection", "cut", "key", "limit", "model", "quota", "server", "timeout"}
)


def is_unavailable(failure: ModelFailed) -> bool:
    """Whether another model may answer instead of this one now."""
    return failure.kind in _UNAVAILABLE


def report_fallback(failure: ModelFailed, name: str) -> None:
    """Tell the room that another model answers, and the owner why."""
    note(f"{name} answers: {failure.public}", f"{name} answers: {failure}")
