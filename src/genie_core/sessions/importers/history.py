"""A conversation of another program, as readers yield it."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from genie_core.sessions.importers.names import Names

ME: Final = ""
"""The key of the person who imports, where a source knows it."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of messages: a `key` that is unique in the source, and the name shown there."""

    key: str
    name: str = ""
    is_agent: bool = False


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message, or with `is_answer` an assistant's answer to the message before.

    `at` is in seconds since the epoch; None if that is not known. `files` are the names of attached
    files, whose contents don't come along. `reply_to` is the `id` of another message.
    `is_answered` says that the answer comes later than directly after it.
    """

    author: Author
    text: str
    at: float | None = None
    files: tuple[str, ...] = ()
    id: str = ""
    reply_to: str = ""
    is_answer: bool = False
    is_emote: bool = False
    is_answered: bool = False


Finish: TypeAlias = Callable[[Path, Sequence[int], "Names"], None]
"""Writes what engines remember into the folder for it, which does not exist yet. It gets the numbers
of the events of all messages, in order, and the names of their authors.
"""


@dataclass(slots=True)
class History:
    """A conversation. `id` is unique in its `source`.

    `left` counts what is left out, by what it is; complete when all messages were yielded.
    """

    source: str
    id: str
    title: str
    messages: Iterable[HistoryMessage]
    left: Counter[str] = field(default_factory=Counter)
    finish: Finish | None = None
